"""Entries in an SQL store: rows of one table, with their passages in the indexes of keywords and vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace as replaced
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import (
    Corpus,
    Entries,
    EntrySummary,
    Passage,
    Record,
    Statistics,
    Volume,
    Where,
    WhereLinks,
)
from tidal_plugins.storage.damage import ENTRIES, VOLUMES, intact, noticed, whole
from tidal_plugins.storage.rows import COLUMNS, FIXED, SUMMARY, TIER, Row, from_row, to_row, to_summary, unit_vectors
from tidal_plugins.storage.sql.dialect import MOST, Insert, SQLStore, Update, condition, link_condition
from tidal_plugins.storage.sql.schema import NUMBER, types_of
from tidal_plugins.storage.sql.search import BackgroundSaving

Unit = NDArray[np.float32] | None
MAX_SCOPES = 4096
"""Scopes whose figures are kept in memory."""

KEPT = 256
"""Erasures of a scope that are noted. A reader that last looked before them loads the scope anew."""

MOST_GONE = 4096
"""Entries of one erasure that are noted. For more, every reader loads the scope anew, which takes no longer."""

_TYPES = types_of("entries")
_OF_TIER = {column: _TYPES[column] for column in (*TIER, "summary_checksum")}
_FILED = ("tagged", "facets")
_INSERT = Insert("entries", ("scope", "changed"), {"key": NUMBER, **_TYPES}, filed=_FILED)
_SET = Update("entries", ("changed",), {**_TYPES, "key": NUMBER}, filed=_FILED)
_SET_TIER = Update("entries", ("changed",), {**_OF_TIER, "key": NUMBER})
_APPRAISAL = ("importance", "valence", "arousal", "emotions", "checksum")
_APPRAISE = Update("entries", ("changed",), {**{name: _TYPES[name] for name in _APPRAISAL}, **_OF_TIER, "key": NUMBER})
_PLACES = [COLUMNS.index(name) for name in (*_APPRAISAL, *_OF_TIER)]

_SELECT = f"SELECT {', '.join('e.' + column for column in COLUMNS)}"
_BY_ID = f"{_SELECT} FROM $by_id"
_SUMMARIES = f"SELECT {', '.join('e.' + column for column in SUMMARY)}, $indexed FROM $by_id AND {{}}"
_SPEAKERS = """
    WITH RECURSIVE names (name) AS (
        SELECT min(speaker) FROM @entries WHERE scope = ? AND speaker IS NOT NULL
        UNION ALL
        SELECT (SELECT min(speaker) FROM @entries WHERE scope = ? AND speaker > names.name)
        FROM names WHERE names.name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL LIMIT 1000
"""
_VOLUMES = """
    SELECT kind, channel, CAST(entries AS bigint), CAST(coalesce(characters, 0) AS bigint) FROM @volumes
    WHERE scope = ? AND entries > 0
"""
_KEYS = "SELECT e.id, e.key FROM $by_id"
_ALL = "SELECT id, key FROM @entries WHERE scope = ?"


class Prepared(NamedTuple):
    """A record that was checked, with its row and the unit vectors of its passages."""

    id: str
    record: Record
    row: Row
    units: Sequence[Unit]

    @property
    def volume(self) -> tuple[str, str, int]:
        entry = self.record.entry
        return entry.kind, entry.channel, len(entry.text)


class Known(NamedTuple):
    """An entry that is stored: its key, and the checksum of what never changes in place. An engine that counts the
    volumes by itself knows that of the entry."""

    key: int
    checksum: bytes
    volume: tuple[str, str, int] | None = None


class Place(NamedTuple):
    """Where records go: the entries of their ids, the number of the change, and keys for new entries, which passages
    may share. ``generation`` is that of the vectors."""

    known: Mapping[str, Known]
    change: int
    keys: Sequence[int]
    generation: int = 0


class Indexed(NamedTuple):
    """An entry by its id and its key, with the passages to index and their unit vectors."""

    id: str
    key: int
    passages: Sequence[Passage]
    units: Sequence[Unit]


class Figures(NamedTuple):
    """The passages of the whole store and their words, the numbers that change whenever a scope does, and how often
    entries of it were erased or replaced."""

    passages: int
    words: int
    state: tuple[int | None, ...]
    erasures: int


class EntryStore(SQLStore, Entries):
    """Stores entries as rows."""

    of_scopes: Sequence[str]
    """The tables, beside that of the entries, whose rows belong to a scope. What belongs to an entry goes with it."""
    _saving: BackgroundSaving
    _figures: dict[Scope, tuple[tuple[int | None, ...], Statistics]]
    """The figures of scopes as they were read last, with the numbers at that time."""

    def put(self, scope: Scope, records: Iterable[Record], *, replace: bool = False) -> list[str]:
        prepared = self._prepared(scope, list(records))
        with self.transaction():
            place = self._place(scope, prepared, new=not replace)
            if not replace:
                return self._added(scope, prepared, place)
            if missing := [item.id for item in prepared if item.id not in place.known]:
                raise NotFound(f"no entry {shown(missing[0])} in scope {shown_scope(scope)}")
            return self._replaced(scope, prepared, place)

    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        with self.question():
            rows = self._by_id(scope, _BY_ID, ids) if ids else []
        found = {entry.id: entry for entry in intact(rows, lambda row: from_row(row, scope))}
        return {id_: found[id_] for id_ in ids if id_ in found}

    def summaries(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, EntrySummary]:
        filter_ = condition(self.dialect, None, where or Where())
        with self.question():
            rows = self._by_id(scope, _SUMMARIES.format(filter_.sql), ids, *filter_.parameters)
        return {summary.id: summary for summary in intact(rows, to_summary)}

    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        order = "DESC" if newest_first else "ASC"
        bounds = (MOST if limit is None or limit < 0 else limit, max(after, 0))
        with self.question():
            filter_ = condition(self.dialect, self._key(scope), where)
            sequence = f"ORDER BY e.occurred_at {order}, e.key {order} LIMIT ? OFFSET ?"
            sql = f"{_SELECT} FROM @entries e WHERE {filter_.sql} {sequence}"
            rows = self._query(ENTRIES, scope, sql, *filter_.parameters, *bounds)
        return list(intact(rows, lambda row: from_row(row, scope)))

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        with self.transaction():
            key, array = self._key(scope), self.dialect.array
            if ids is None:
                with whole():  # nothing may be left that is not seen
                    found = dict(self._query(ENTRIES, scope, _ALL, key))
            else:
                found = dict(self._query(ENTRIES, scope, _KEYS, array(list(ids)), key))
            if found:
                self._drop_passages(scope, list(found.values()))
                self._delete(scope, list(found.values()))
                ends = link_condition(self.dialect, key, WhereLinks(ends=found))
                self._later(scope, f"DELETE FROM @links AS l WHERE {ends.sql}", *ends.parameters)
                self._later(scope, "DELETE FROM @log WHERE scope = ? AND key IN ?texts", key, array(list(found)))
            for table in self.of_scopes if ids is None else ():
                self._later(scope, f"DELETE FROM @{table} WHERE scope = ?", key)
            return len(found)

    def statistics(self, scope: Scope) -> Statistics:
        with self.question():
            now = self._figures_of(scope)
        corpus = Corpus(now.passages, now.words / now.passages if now.passages else 0.0)
        known = self._figures.get(scope)
        if known is not None and known[0] == now.state and not self._db.writing:
            return replaced(known[1], corpus=corpus)
        with self.snapshot():
            if self._figures_of(scope) != now:  # another process wrote meanwhile
                return self.statistics(scope)
            key = self._key(scope)
            with noticed() as damaged:
                found_speakers = self._query(ENTRIES, scope, _SPEAKERS, key, key)
                speakers = [name for (name,) in found_speakers if isinstance(name, str)]  # else it is damaged
                volumes = self._query(VOLUMES, scope, _VOLUMES, key)
        by_sort = {(kind, channel): Volume(*volume) for kind, channel, *volume in volumes}
        found = Statistics(corpus, speakers, by_sort, now.erasures)
        if not damaged and not self._db.writing:
            if len(self._figures) >= MAX_SCOPES:
                self._figures.clear()
            self._figures[scope] = now.state, found
        return found

    def _prepared(self, scope: Scope, records: Sequence[Record]) -> list[Prepared]:
        for entry in (record.entry for record in records):
            if entry.scope != scope:
                raise InvalidInput(f"entry {shown(entry.id)} is of scope {shown(entry.scope)}, not {shown(scope)}")
        rows, passages = [to_row(record.entry) for record in records], [record.passages or () for record in records]
        for row, own in zip(rows, passages, strict=True):
            self.dialect.check(row)
            self.dialect.check(passage.terms for passage in own)
        units = iter(unit_vectors([passage.vector for own in passages for passage in own]))
        return [
            Prepared(record.entry.id, record, row, [next(units) for _ in own])
            for record, row, own in zip(records, rows, passages, strict=True)
        ]

    def _added(self, scope: Scope, prepared: Sequence[Prepared], place: Place) -> list[str]:
        added = {item.id: item for item in reversed(prepared) if item.id not in place.known}
        items = [item for item in prepared if added.get(item.id) is item]
        if not items:
            return []
        shared = (self._key(scope), place.change)
        self._insert(scope, _INSERT, shared, [(key, *item.row) for key, item in zip(place.keys, items, strict=False)])
        self._add_volumes(scope, (item.volume for item in items), 1)
        new = [_indexed(item, key) for key, item in zip(place.keys, items, strict=False)]
        self._add_passages(scope, new, place._replace(keys=place.keys[len(items) :]))
        self._saving.stored(scope, len(items))
        return [item.id for item in items]

    def _replaced(self, scope: Scope, prepared: Sequence[Prepared], place: Place) -> list[str]:
        known, items = place.known, list({item.id: item for item in prepared}.values())
        anew = [item for item in items if item.record.passages is not None]
        if anew:
            self._drop_passages(scope, [known[item.id].key for item in anew])
        # Usually only the tier is new, which an equal checksum shows.
        tiers = [i for i in items if i.record.passages is None and i.row[len(FIXED)] == known[i.id].checksum]
        appraised = [item for item in items if item.record.appraised]
        same = {item.id for item in (*tiers, *appraised)}
        changed = [item for item in items if item.id not in same]
        if left := [known[item.id].key for item in changed if item.record.passages is None]:
            self._note_gone(scope, left)
        if tiers:
            rows = [(*item.row[len(FIXED) + 1 :], known[item.id].key) for item in tiers]
            self._update(scope, _SET_TIER, (place.change,), rows)
        if appraised:
            rows = [(*(item.row[at] for at in _PLACES), known[item.id].key) for item in appraised]
            self._update(scope, _APPRAISE, (place.change,), rows)
        if changed:
            self._update(scope, _SET, (place.change,), [(*item.row, known[item.id].key) for item in changed])
            self._add_volumes(scope, (known[item.id].volume for item in changed), -1)
            self._add_volumes(scope, (item.volume for item in changed), 1)
        self._add_passages(scope, [_indexed(item, known[item.id].key) for item in anew], place)
        return [item.id for item in prepared]

    def _by_id(self, scope: Scope, sql: str, ids: Collection[str], *values: Any) -> list[Row]:
        """Return rows of entries by id, whose first column is the id."""
        return self._query(ENTRIES, scope, sql, self.dialect.array(list(ids)), self._key(scope), *values)

    @abstractmethod
    def _place(self, scope: Scope, prepared: Sequence[Prepared], *, new: bool) -> Place:
        """Return what must be known before records are written. Raises ``InvalidInput`` for vectors of two sizes."""

    @abstractmethod
    def _add_passages(self, scope: Scope, entries: Sequence[Indexed], place: Place) -> None:
        """Add the passages of entries to the indexes of keywords and vectors."""

    @abstractmethod
    def _drop_passages(self, scope: Scope, entries: Sequence[int]) -> None:
        """Remove the passages of entries from all indexes, and note that they are gone."""

    @abstractmethod
    def _note_gone(self, scope: Scope, entries: Sequence[int]) -> None:
        """Note which entries went or were replaced, so that the erasures of the scope rise, and drop saved columns."""

    @abstractmethod
    def _delete(self, scope: Scope, entries: Sequence[int]) -> None:
        """Delete the rows of entries."""

    def _add_volumes(self, scope: Scope, volumes: Iterable[tuple[str, str, int] | None], sign: int) -> None:
        """Add the kind, the channel and the length of entries to the volumes, or take them off."""

    @abstractmethod
    def _figures_of(self, scope: Scope) -> Figures:
        """Return the figures of the store and of a scope."""


def _indexed(item: Prepared, key: int) -> Indexed:
    return Indexed(item.id, key, item.record.passages or (), item.units)
