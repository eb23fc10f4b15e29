"""The examination of an SQLite file: its pages, the checksum of every row, and whether the tables agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from itertools import count
from typing import Any

from tidal_plugins.errors import Corrupt, StorageError
from tidal_plugins.model.reports import Fault
from tidal_plugins.storage.capabilities import Examined
from tidal_plugins.storage.columns.binary import signs_of
from tidal_plugins.storage.damage import A_PAGE, UNKNOWN, noticed
from tidal_plugins.storage.sql.checks import BROKEN, CHECKED, TABLES, SQLChecks, Unindexed, row_faults
from tidal_plugins.storage.sqlite.log_mark import forgive, is_lost, log_bytes
from tidal_plugins.storage.sqlite.opening import UNREAD, is_damaged, translated, unchecked
from tidal_plugins.storage.sqlite.schema import STATEMENTS, altered
from tidal_plugins.storage.sqlite.search import SAVED, Saved, gone_checksum
from tidal_plugins.storage.sqlite.store import SQLiteBase, known_scopes, mend_rows, scope_faults

_FTS = "fts5"

MOST_PAGES = 20
"""Faults of pages that are reported: one damaged page leads to many."""

_OF_PASSAGES = """
    SELECT e.scope, p.key, e.id, p.start, p."end", p.words, p.checksum FROM passages p
    LEFT JOIN entries e ON e.key = p.entry
"""
_OF_OWNERS = """
    SELECT e.scope, e.id FROM entries e WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.entry = e.key)
    OR e.key IN (SELECT p.entry FROM passages p WHERE p.key IN (?1 - 1, ?1 + 1))
"""  # an entry may have no other passage, and the passages of one mostly follow each other
_OF_VECTORS = """
    SELECT e.scope, e.id, p.start, p."end", v.passage, v.scope, v.vector, v.checksum FROM passages p
    JOIN entries e ON e.key = p.entry LEFT JOIN vectors v ON v.passage = p.key
"""
_SIGNS = "SELECT v.scope, v.vector, s.scope, s.signs FROM vectors v LEFT JOIN signs s ON s.passage = v.passage"
_WITH_PAGES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
_OF_WORDLESS = """
    SELECT e.scope, e.id, p.start, p."end" FROM passages p JOIN entries e ON e.key = p.entry
    WHERE p.words > 0 AND p.key NOT IN (SELECT id FROM keywords_docsize)
"""
_OF_ORPHANS = {
    "passages": "SELECT count(*) FROM passages WHERE entry NOT IN (SELECT key FROM entries)",
    "vectors": "SELECT count(*) FROM vectors WHERE passage NOT IN (SELECT key FROM passages)",
    "signs": "SELECT count(*) FROM signs WHERE passage NOT IN (SELECT passage FROM vectors)",
    "keywords": "SELECT count(*) FROM keywords_docsize WHERE id NOT IN (SELECT key FROM passages)",
}
_CORPUS = "SELECT count(*) FILTER (WHERE words > 0), coalesce(sum(words), 0) FROM passages"
_CHANGES = """
    SELECT count(*) FROM entries e
    WHERE ifnull(e.changed, 0) NOT BETWEEN 1 AND (SELECT ifnull(changes, 0) FROM scopes s WHERE s.key = e.scope)
"""
_NULL_COUNTERS = {f"NULL value in {name}" for name in ("scopes.changes", "scopes.erasures", "entries.changed")}
"""What SQLite says of counters that can be counted anew."""
_VOLUMES = """
    SELECT scope, kind, channel, count(*), sum(length(text)) FROM entries
    WHERE scope IN (SELECT key FROM scopes) GROUP BY scope, kind, channel
"""
_FORMAT = "DELETE FROM keywords_config; INSERT INTO keywords_config VALUES ('version', 4)"
"""The format of the keyword index that the schema creates, without which it can be neither read nor written."""
_NO_KEYWORDS = "INSERT INTO keywords (keywords) VALUES ('delete-all')"
_NUMBERED = {"entries": "key", "passages": "key", "log": "seq"}
"""The tables in which no number is used twice, with the column that holds it."""
_SEQUENCE = "SELECT coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = '{0}'), 0) < max({1}) FROM {0}"
_NEW_SEQUENCE = """
    INSERT INTO sqlite_sequence
    SELECT '{0}', max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = '{0}'), 0), coalesce(max({1}), 0))
    FROM {0};
    DELETE FROM sqlite_sequence WHERE name = '{0}' AND rowid < (SELECT max(rowid) FROM sqlite_sequence);
"""
_REBUILD = f"""
    {"".join(_NEW_SEQUENCE.format(*numbered) for numbered in _NUMBERED.items())}
    DELETE FROM passages WHERE entry NOT IN (SELECT key FROM entries);
    DELETE FROM vectors WHERE passage NOT IN (SELECT key FROM passages)
    OR (typeof(vector), typeof(scope), typeof(checksum)) <> ('blob', 'integer', 'integer');
    DELETE FROM signs;
    DELETE FROM keywords WHERE rowid IN (SELECT id FROM keywords_docsize WHERE id NOT IN (SELECT key FROM passages));
    DELETE FROM volumes;
    INSERT INTO volumes {_VOLUMES};
    DELETE FROM corpus;
    INSERT INTO corpus {_CORPUS};
    DELETE FROM gone;
    DELETE FROM saved_pieces;
    DELETE FROM saved_columns;
    UPDATE scopes SET erasures = ifnull(erasures, 0) + 1, changes = max(ifnull(changes, 0), 0) + 1;
    UPDATE entries SET changed = (SELECT changes FROM scopes s WHERE s.key = entries.scope)
    WHERE ifnull(changed, 0) NOT BETWEEN 1 AND (SELECT changes FROM scopes s WHERE s.key = entries.scope);
"""


_RENEWED = {
    "gone": "erasure", "saved_columns": "first", "saved_pieces": "checksum", "volumes": "entries", "corpus": "words",
    "passages": "start", "vectors": "scope",
}  # fmt: skip
"""The tables that a rebuilding removes rows from, each with a column of numbers."""
_STRANGE = "SELECT count(*) FROM {} NOT INDEXED WHERE typeof({}) <> 'integer'"
STRANGE_ROWS = 2
"""Rows of such a table without a number there from which on they are of another table: a page took the place of
another one, and to remove them would remove what is intact."""


class CheckStore(SQLiteBase, SQLChecks):
    """Examines an SQLite file."""

    of_passages, of_owners, of_vectors = _OF_PASSAGES, _OF_OWNERS, _OF_VECTORS
    of_wordless, of_orphans = _OF_WORDLESS, _OF_ORPHANS

    path: str

    def examine(self) -> Examined:
        unindexed: Unindexed = {}
        with self.snapshot():
            self._db.examine()
            damaged, faults = self._structure()
            with unchecked(self._db.get()) if damaged else nullcontext():
                parts: list[Callable[[], Iterator[Fault]]] = [lambda: scope_faults(self._db)]
                parts += [partial(self._rows, table) for table in CHECKED]
                for part in (*parts, self._counts, self._derived, self._signs, self._statements):
                    self._collect(faults, part())
                self._collect(faults, self._unindexed(unindexed))
                rows, lost = self.counted(), False
                with suppress(StorageError), translated(self._db.path):
                    lost = is_lost(self._db.get(), self._db.path)
        return Examined(rows, faults, unindexed, log_bytes(self._db.path), lost)

    def counted(self) -> dict[str, int]:
        """Return how many rows each table has."""
        return {table: self._count(f"SELECT count(*) FROM {table}") for table in TABLES}

    def rebuild(self) -> None:
        damaged, _ = self._structure()
        if any(self._count(_STRANGE.format(*place)) >= STRANGE_ROWS for place in _RENEWED.items()):
            raise Corrupt(f"pages of {self.path} have taken the places of others; restore it from a backup")
        with unchecked(self._db.get()) if damaged else nullcontext():
            with self.transaction():
                self._db.run(_FORMAT)
                if damaged:
                    self._db.run(_NO_KEYWORDS)
                self._db.run("REINDEX")
                _, faults = self._structure()
                if any(fault.table == "keywords" for fault in faults):
                    self._db.run(_NO_KEYWORDS)
                mend_rows(self._db)
                self._db.run(_REBUILD)
                for passage, scope, vector in self._db.readable(
                    "vectors", "SELECT passage, scope, vector FROM vectors"
                ):
                    self._db.run("INSERT OR IGNORE INTO signs VALUES (?, ?, ?)", passage, scope, signs_of(vector))
                forgive(self._db.get())
            if damaged:
                with self._db.turn():
                    self._db.run("VACUUM")  # each page anew, from the rows that can be read
        self._db.examine()

    def _unindexed(self, unindexed: Unindexed) -> Iterator[Fault]:
        yield from self._index_faults(known_scopes(self._db), unindexed)

    def _structure(self) -> tuple[bool, list[Fault]]:
        """Return whether pages fail their checksums, and what SQLite finds wrong, in the content of these, too.

        Indexes can be rebuilt.
        """
        damaged, found = self._verified(f"PRAGMA integrity_check ({MOST_PAGES})")
        if not damaged and found != ["ok"]:  # the keyword index may have ended it
            with suppress(StorageError):
                names = [name for (name,) in self._db.rows(_WITH_PAGES)]
                damaged = any(self._verified(f"PRAGMA quick_check ({name})")[0] for name in names)
        if damaged:
            with unchecked(self._db.get()):
                _, found = self._verified(f"PRAGMA integrity_check ({MOST_PAGES})")
        faults = [_page_fault(text) for text in found if text != "ok"]
        return damaged, [Fault("pages", "", "pages fail their checksums", True), *faults] if damaged else faults

    def _verified(self, sql: str) -> tuple[bool, list[str]]:
        """Return whether SQLite met pages whose checksums fail while it looked for faults, and what it found."""
        try:
            with noticed() as noted:
                found = [text for (text,) in self._readable("schema", sql)]
        except StorageError as error:
            return is_damaged(error.__cause__), [str(error)]
        return (A_PAGE in noted and not self._db.unsound) or any(UNREAD in text for text in found), found

    def _collect(self, faults: list[Fault], found: Iterator[Fault]) -> None:
        """Add faults. One that ends the reading of a table is a fault of the table."""
        try:
            faults.extend(found)
        except StorageError as error:
            faults.append(_page_fault(str(error)))

    def _count(self, sql: str) -> int:
        with suppress(StorageError):
            return int(self._db.one(sql) or 0)
        return 0

    def _rows(self, table: str) -> Iterator[Fault]:
        read = count()
        rows = self._db.readable(table, f"SELECT scope, {CHECKED[table].columns} FROM {table}")
        yield from row_faults(table, (row for row, _ in zip(rows, read, strict=False)), known_scopes(self._db))
        for _ in range(self._count(f"SELECT count(*) FROM {table}") - next(read)):
            yield Fault(table, UNKNOWN, "it holds text that is not UTF-8")

    def _each(self, table: str, sql: str) -> Iterator[Any]:
        return self._db.readable(table, sql)

    def _owners(self, scope: int, key: int) -> Iterable[tuple[int, str]]:
        return self._db.rows(self.of_owners, key)

    def _derived(self) -> Iterator[Fault]:
        for scope, erasure, keys, sum_ in self._db.readable("gone", "SELECT * FROM gone"):
            if gone_checksum(scope, erasure, keys) != sum_:
                yield Fault("gone", str(erasure), BROKEN, True)
        for row in self._db.readable("saved_columns", SAVED):
            if Saved(*row).piece(self._db) is None:
                yield Fault("saved_columns", str(row[0]), BROKEN, True)

    def _signs(self) -> Iterator[Fault]:
        wrong = sum(
            (of, signs) != (scope, signs_of(vector)) for scope, vector, of, signs in self._db.readable("signs", _SIGNS)
        )
        if wrong:
            yield Fault("signs", "", f"{wrong} are not those of the vectors", True)

    def _statements(self) -> Iterator[Fault]:
        for name in altered(dict(self._readable("schema", STATEMENTS))):
            yield Fault("schema", name, "its statement is not the one that made it")

    def _counts(self) -> Iterator[Fault]:
        if self._readable("counts", "SELECT * FROM corpus") != self._readable("counts", _CORPUS):
            yield Fault("counts", "corpus", "the number of passages or words is wrong", True)
        kept = "SELECT * FROM volumes WHERE entries > 0 ORDER BY scope, kind, channel"
        counted = f"{_VOLUMES} ORDER BY scope, kind, channel"
        if self._readable("counts", kept) != self._readable("counts", counted):
            yield Fault("counts", "volumes", "the number of entries or characters is wrong", True)
        if number := self._count(_CHANGES):
            yield Fault("counts", "changes", f"{number} entries have the number of a change that never was", True)
        for table, column in _NUMBERED.items():
            if self._count(_SEQUENCE.format(table, column)):
                yield Fault("counts", table, "a number that is in use would be given again", True)


def _page_fault(text: str) -> Fault:
    if _FTS in text.lower():
        return Fault("keywords", "", text, True)
    return Fault("pages", "", text, "index" in text or text in _NULL_COUNTERS)
