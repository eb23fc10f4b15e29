"""Documents, links and logs in an SQL store, as rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from tidal_plugins.errors import Conflict
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.storage.base import (
    ALL_LINKS,
    META,
    STORE,
    Claim,
    Document,
    Documents,
    Line,
    Links,
    Log,
    Step,
    WhereLinks,
    check_one_given,
    latest_claim,
)
from tidal_plugins.storage.damage import A_PAGE, DOCUMENTS, LINKS, LOG, Damaged, checksum, corrupt, intact, noticed
from tidal_plugins.storage.rows import (
    LINK_COLUMNS,
    Row,
    check_link_row,
    from_json,
    from_link_row,
    read_time,
    time_or_none,
    to_json,
    to_link_row,
)
from tidal_plugins.storage.sql.dialect import MOST, Insert, SQLStore, link_condition
from tidal_plugins.storage.sql.schema import BYTES, NUMBER, TEXT, types_of

COPIES = "copies of meta"
"""The collection of copies of the values about the whole store, which every reading of it depends on."""

CURRENT, EARLIER = "documents", "earlier_documents"

THESE = "scope = ? AND collection = ? AND key IN ?texts"
_DOCUMENT = (
    "SELECT collection, key, value, version, checksum FROM @{} WHERE {} ORDER BY key, version DESC LIMIT ? OFFSET ?"
)
OF_KEYS = {table: _DOCUMENT.format(table, THESE) for table in (CURRENT, EARLIER)}
_OF_ALL = {table: _DOCUMENT.format(table, "scope = ? AND collection = ?") for table in (CURRENT, EARLIER)}
_KEEP = f"""
    INSERT INTO @earlier_documents (scope, collection, key, version, value, checksum)
    SELECT scope, collection, key, version, value, checksum FROM @documents WHERE {THESE}
"""
_DROP = """
    DELETE FROM @earlier_documents AS e WHERE e.scope = ? AND e.collection = ? AND e.key IN ?texts AND e.version <= (
        SELECT d.version - ? FROM @documents AS d
        WHERE d.scope = e.scope AND d.collection = e.collection AND d.key = e.key
    )
"""
_WRITE = Insert(
    CURRENT,
    ("scope", "collection"),
    {"key": TEXT, "value": TEXT, "version": NUMBER, "checksum": BYTES},
    key=("scope", "collection", "key"),
)
_ERASE = {table: f"DELETE FROM @{table} WHERE {THESE}" for table in (CURRENT, EARLIER)}


class DocumentStore(SQLStore, Documents):
    """Stores documents as rows."""

    def documents(
        self,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None = None,
        *,
        versions: bool = False,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        with self.snapshot() if versions else self.question():
            if (scope, collection) == (STORE, META):
                return self._about_store(keys)[after : None if limit is None else after + limit]
            found = self._read(CURRENT, scope, collection, keys, limit, after)
            if not versions:
                return found
            earlier: dict[str, list[Document]] = {document.key: [] for document in found}
            these = keys if limit is None and not after else list(earlier)
            for document in self._read(EARLIER, scope, collection, these):
                if document.key in earlier:  # else what stands now is damaged, and no earlier one may stand for it
                    earlier[document.key].append(document)
            return [version for document in found for version in (document, *earlier[document.key])]

    def write_documents(
        self, scope: Scope, collection: str, values: Mapping[str, Any], *, expected: int | None = None, keep: int = 0
    ) -> dict[str, int]:
        texts = {key: to_json(value) for key, value in values.items()}
        self.dialect.check((collection, *texts, *texts.values()))
        with self.transaction():
            if not texts:
                return {}
            known, earlier = self._versions(scope, collection, list(texts))
            for key in texts if expected is not None else ():
                version = known.get(key, 0)
                if expected != version and (expected or self._read(CURRENT, scope, collection, [key])):
                    reason = f"is at version {version}, not {expected}; read it again and retry"
                    raise Conflict(f"{collection}/{key} {reason}")
            number, place, keys = self._writable_scope(scope), self._written_at(scope), self.dialect.array(list(texts))
            if keep > 0:
                self._later(place, _KEEP, number, collection, keys)
            if earlier or (known and keep > 0):
                self._later(place, _DROP, number, collection, keys, max(keep, 0))
            versions = {key: known.get(key, 0) + 1 for key in texts}
            for copy in (collection, COPIES) if (scope, collection) == (STORE, META) else (collection,):
                rows = [
                    (key, text, versions[key], checksum(scope, copy, key, text, versions[key]))
                    for key, text in texts.items()
                ]
                self._insert(place, _WRITE, (number, copy), rows)
            self._now_at(scope, collection, versions)
            return versions

    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        with self.transaction():
            self._hold(scope, collection, keys)
            self._now_at(scope, collection, dict.fromkeys(keys, 0))
            number, place, these = self._key(scope), self._written_at(scope), self.dialect.array(list(keys))
            if (scope, collection) == (STORE, META):
                self._later(place, _ERASE[CURRENT], number, COPIES, these)
            self._later(place, _ERASE[EARLIER], number, collection, these)
            return self._run(place, _ERASE[CURRENT], number, collection, these)

    def _about_store(self, keys: Collection[str] | None) -> list[Document]:
        """Return values about the whole store. The copy of one stands in for it where it is damaged.

        Without them nothing of the store can be read as it was meant: ``Corrupt`` is raised where the copy is too.
        """
        with noticed() as damaged:
            found = {document.key: document for document in self._read(CURRENT, STORE, META, keys)}
        if damaged.keys() <= {A_PAGE} and keys is not None and found.keys() >= set(keys):
            return [found[key] for key in sorted(found)]
        with noticed() as copies_damaged:
            copies = {document.key: document for document in self._read(CURRENT, STORE, COPIES, keys)}
        both = copies | found
        lost = [row for row in damaged if row.name.partition("/")[2] not in both]
        if lost and copies_damaged:
            raise corrupt(lost[0])
        return [both[key] for key in sorted(both)]

    def _read(
        self,
        table: str,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        bounds, number, array = (MOST if limit is None else limit, after), self._key(scope), self.dialect.array
        if keys is None:
            rows = self._query(DOCUMENTS, scope, _OF_ALL[table], number, collection, *bounds)
        else:
            page = limit is not None or bool(after)
            rows = self._of_keys(table, scope, collection, keys, page, (number, collection, array(list(keys)), *bounds))
        return list(intact(rows, lambda row: _document(row, scope)))

    def _of_keys(
        self, table: str, scope: Scope, collection: str, keys: Collection[str], page: bool, values: Row
    ) -> list[Row]:
        """Return the rows of documents by key, all of them or a page. Nobody else writes them in the transaction."""
        return self._kept(DOCUMENTS, scope, OF_KEYS[table], *values)

    @abstractmethod
    def _versions(self, scope: Scope, collection: str, keys: Sequence[str]) -> tuple[dict[str, int], bool]:
        """Return the versions of the documents that are there, and whether any may have earlier ones that are kept.

        Nobody else changes them before the transaction ends.
        """

    def _hold(self, scope: Scope, collection: str, keys: Collection[str]) -> None:
        """Let nobody else read documents that are to be written, or write them, before the transaction ends."""

    def _now_at(self, scope: Scope, collection: str, versions: Mapping[str, int]) -> None:
        """Take note of the versions that the transaction has written."""

    def _written_at(self, scope: Scope) -> Scope | str:
        """Return where statements run that write documents of a scope."""
        return scope


def _document(row: Row, scope: Scope) -> Document:
    """Return the document of a row. Raises ``Corrupt``."""
    collection, key, value, version, stored = row
    if checksum(scope, *row[:-1]) != stored:
        raise corrupt(Damaged(DOCUMENTS, f"{collection}/{key}"))
    return Document(key, from_json(value), version)


_PUT = Insert("links", ("scope",), types_of("links"), key=("scope", "id"), filed=("facets",))
OF_LINK = ", ".join("l." + column for column in LINK_COLUMNS)
STRONGEST = "l.expires_at DESC, l.weight DESC"
_LINKS = f"SELECT {OF_LINK} FROM @links l"


class LinkStore(SQLStore, Links):
    """Stores links as rows."""

    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        rows = {link.id: to_link_row(link, scope) for link in links}
        for row in rows.values():
            self.dialect.check(row)
        with self.transaction():
            if rows:
                self._insert(scope, _PUT, (self._writable_scope(scope),), rows.values())

    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        # Forces the index on expiry and a sort: a scan in the order of keys would read every row.
        first_stored = "l.key" if where.expired_at is None else "^l.key"
        order = f"{STRONGEST}, l.key" if strongest_first else first_stored
        with self.question():
            both = where.kinds is not None and where.targets is not None and not self._db.writing
            if both and not self._has_kinds(scope, where.kinds or ()):  # each recall asks what replaces its hits
                return []
            filter_ = link_condition(self.dialect, self._key(scope), where)
            sql = f"{_LINKS} WHERE {filter_.sql} ORDER BY {order} LIMIT ?"
            most = MOST if limit is None else max(limit, 0)
            rows = self._query(LINKS, scope, sql, *filter_.parameters, most)
        asked = {0: where.ids, 1: where.kinds, 2: where.sources, 3: where.targets}  # by their places in a row
        among = [(place, frozenset(values)) for place, values in asked.items() if values is not None]

        def read(row: Row) -> Link:
            link = from_link_row(row, scope)
            if any(row[place] not in values for place, values in among):  # the index that led here is damaged
                raise corrupt(Damaged(LINKS, link.id))
            return link

        return list(intact(rows, read))

    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        array = self.dialect.array
        with self.question():
            if not nodes or not self._has_kinds(scope, kinds):
                return []
            filter_ = link_condition(self.dialect, self._key(scope), where)
            cut = (*filter_.parameters, max(each, 0))
            places = (array(list(dict.fromkeys(nodes))), array(list(dict.fromkeys(kinds))))
            sql = self._frontier(filter_.sql)
            rows = self._query(LINKS, scope, sql, *places, *cut, *cut, max(each, 0))
        return list(intact(rows, lambda row: _step(row, scope)))

    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        with self.transaction():
            filter_ = link_condition(self.dialect, self._key(scope), where)
            return self._run(scope, f"DELETE FROM @links AS l WHERE {filter_.sql}", *filter_.parameters)

    def _has_kinds(self, scope: Scope, kinds: Collection[str]) -> bool:
        """Return whether a scope may have links of any kind given."""
        return bool(kinds)

    @abstractmethod
    def _frontier(self, condition: str) -> str:
        """Return SQL for the strongest links of either end, for each node and kind.

        Both ends are cut in the order of their index, then together, so that links beyond the cut are never read. The
        values are the nodes, the kinds, twice those of the condition with the number of links, and that number.
        """


def _step(row: Row, scope: Scope) -> Step:
    node, *link = row
    check_link_row(link, scope)
    id_, kind, source, target, weight, anchored_at = link[:6]
    if node not in (source, target):  # the index that led here is damaged
        raise corrupt(Damaged(LINKS, id_))
    forward = source == node
    return Step(node, target if forward else source, forward, id_, kind, weight, time_or_none(anchored_at))


_APPEND = Insert(
    "log", ("scope",), {"name": TEXT, "seq": NUMBER, "key": TEXT, "at": NUMBER, "value": TEXT, "checksum": BYTES}
)
_DELETE = "DELETE FROM @log AS line WHERE scope = ? AND name = ? AND"
_BEYOND = f"{_DELETE} seq <= (SELECT seq FROM @log WHERE scope = ? AND name = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)"
_BEFORE = f"""{_DELETE} at < ? AND EXISTS (
    SELECT 1 FROM @log AS later
    WHERE later.scope = ? AND later.key = line.key AND later.name = ? AND later.seq > line.seq
)"""
_UNDER = f"{_DELETE} key IN ?texts"

# The index by key is read in its order, and no line.
_COUNT_KEYS = "SELECT count(DISTINCT key) FROM @log INDEXED BY log_by_key WHERE scope = ? AND name IN ?texts"

# The lines are chosen once, and those that another transaction changes are passed over.
_CLAIM = """
    WITH free (number) AS MATERIALIZED (
        SELECT seq FROM @log WHERE scope = ? AND name = ? AND seq IN ?numbers AND (
            held_by IS NULL OR held_by IN ?texts OR held_until <= ? OR held_until > ?
        ) ORDER BY seq LIMIT ? FOR UPDATE SKIP LOCKED
    )
    UPDATE @log AS line SET held_by = ?, held_until = ? FROM free
    WHERE line.scope = ? AND line.name = ? AND line.seq = free.number RETURNING seq
"""


class LogStore(SQLStore, Log):
    """Stores lines as rows."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        return self._append(scope, [(log, line.key, to_micros(line.at), to_json(line.value)) for line in lines])

    def append_logs(self, scope: Scope, lines: Mapping[str, Collection[Line]]) -> None:
        self._append(
            scope,
            [
                (log, line.key, to_micros(line.at), to_json(line.value) if line.value else "{}")
                for log, some in lines.items()
                for line in some
            ],
        )

    def _append(self, scope: Scope, rows: Sequence[Row]) -> list[int]:
        for row in rows:
            self.dialect.check(row)
        with self.transaction():
            if not rows:
                return []
            key = self._writable_scope(scope)
            seqs = self._new_lines(scope, len(rows))
            numbered = [
                (row[0], seq, *row[1:], checksum(scope, seq, *row)) for seq, row in zip(seqs, rows, strict=True)
            ]
            self._insert(scope, _APPEND, (key,), numbered)
            return list(seqs)

    def read_log(
        self,
        scope: Scope,
        log: str,
        *,
        keys: Collection[str] | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Line]:
        parts: list[tuple[str, Any]] = [("name = ?", log), ("seq > ?", after)]
        if keys is not None:  # SQLite is to look the keys up, and not to walk the log for the sake of its order
            parts = [("^name = ?", log), ("^seq > ?", after), ("key IN ?texts", self.dialect.array(list(keys)))]
        if since is not None:
            parts.append(("at >= ?", to_micros(since)))
        sql = f"""
            SELECT seq, name, key, at, value, checksum, held_by, held_until FROM @log
            WHERE scope = ? AND {" AND ".join(part for part, _ in parts)}
            ORDER BY seq {"DESC" if newest_first else "ASC"} LIMIT ?
        """
        with self.question():
            values = [self._key(scope), *(value for _, value in parts), MOST if limit is None else max(limit, 0)]
            rows = self._query(LOG, scope, sql, *values)
            return list(intact(rows, lambda row: _line(row, scope)))

    def trim_log(
        self,
        scope: Scope,
        log: str,
        *,
        keep: int | None = None,
        before: datetime | None = None,
        keys: Collection[str] | None = None,
    ) -> int:
        check_one_given(keep=keep, before=before, keys=keys)
        with self.transaction():
            key = self._key(scope)
            if keep is not None:
                return self._run(scope, _BEYOND, key, log, key, log, max(keep, 0))
            if before is not None:
                return self._run(scope, _BEFORE, key, log, to_micros(before), key, log)
            return self._run(scope, _UNDER, key, log, self.dialect.array(list(keys or ())))

    def claim_log(
        self,
        scope: Scope,
        log: str,
        seqs: Collection[int],
        *,
        by: str,
        now: datetime,
        until: datetime,
        limit: int | None = None,
        ended: Collection[str] = (),
    ) -> list[int]:
        self.dialect.check([log, by])
        array, most = self.dialect.array, MOST if limit is None else max(limit, 0)
        lines, workers, ends = array(list(seqs)), array([by, *ended]), to_micros(until)
        with self._claiming(scope) as place:
            key = self._key(scope)
            times = (to_micros(now), to_micros(latest_claim(now, until)))
            held = self._query(LOG, place, _CLAIM, key, log, lines, workers, *times, most, by, ends, key, log)
        return sorted(seq for (seq,) in held)

    def count_keys(self, scope: Scope, logs: Collection[str]) -> int:
        with self.question():
            return int(self._query(LOG, scope, _COUNT_KEYS, self._key(scope), self.dialect.array(list(logs)))[0][0])

    @abstractmethod
    def _new_lines(self, scope: Scope, count: int) -> Sequence[int]:
        """Return numbers for lines, each above all that were given before."""

    @abstractmethod
    def _claiming(self, scope: Scope) -> AbstractContextManager[Scope | str]:
        """Run a claim in a transaction that waits for no disk, unless one is open. Yields where it is run."""


def _line(row: Row, scope: Scope) -> Line:
    """Return the line of a row. Raises ``Corrupt``."""
    seq, name, key, at, value, stored, held_by, held_until = row
    if checksum(scope, seq, name, key, at, value) != stored:
        raise corrupt(Damaged(LOG, f"{name} {seq}"))
    claim = None if held_by is None or held_until is None else Claim(held_by, read_time(held_until))
    return Line(key, read_time(at), from_json(value), seq, claim)
