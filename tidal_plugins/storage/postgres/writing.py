"""Writing entries in a PostgreSQL database, with their passages, in few round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.errors import InvalidScope, InvalidVector, NotFound
from tidal_plugins.model.entry import Scope
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Entries, Record, WhereLinks
from tidal_plugins.storage.postgres.conditions import NUMBERS, TEXTS, facets_of, link_condition
from tidal_plugins.storage.postgres.entries import EntryReads
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.passages import Indexed, indexing, note_gone, unindex
from tidal_plugins.storage.postgres.schema import OF_SCOPES
from tidal_plugins.storage.postgres.state import generation_for, sharing
from tidal_plugins.storage.postgres.texts import array_of
from tidal_plugins.storage.postgres.work import Statement
from tidal_plugins.storage.rows import COLUMNS, FIXED, TIER, Row, check_storable, to_row
from tidal_plugins.storage.values import from_json, unit_vector

if TYPE_CHECKING:
    from tidal_plugins.storage.postgres.passages import Unit

_REALS = {"trust", "importance", "valence", "arousal", "weight", "half_life"}
_TIMES = {"position", "occurred_at", "recorded_at", "valid_from", "valid_until", "anchored_at", "cold_at"}
_NUMBERS = _TIMES | {"archived_at", "expires_at"}


def _array(column: str) -> str:
    if column in _REALS:
        return "%s::float8[]"
    if column in _NUMBERS:
        return "%s::bigint[]"
    return "%b::bytea[]" if column.endswith("checksum") else "%s::text[]"


_DERIVED = ("tagged", "facets")
_ROWS = f"""
    unnest(%s::bigint[], {", ".join(map(_array, (*COLUMNS, *_DERIVED)))})
        u (key, {", ".join((*COLUMNS, *_DERIVED))})
"""
_INSERT = f"""
    INSERT INTO tidal_entries (scope, changed, key, {", ".join(COLUMNS)}, tagged, facets)
    SELECT %s, %s, u.key, {", ".join("u." + column for column in COLUMNS)}, u.tagged::text[], u.facets::text[]
    FROM {_ROWS}
"""
_SET = f"""
    UPDATE tidal_entries e SET changed = %s, {", ".join(f"{column} = u.{column}" for column in COLUMNS)},
        tagged = u.tagged::text[], facets = u.facets::text[]
    FROM {_ROWS} WHERE e.scope = %s AND e.key = u.key
"""
_OF_TIER = (*TIER, "summary_checksum")
_SET_TIER = f"""
    UPDATE tidal_entries e SET changed = %s, {", ".join(f"{column} = u.{column}" for column in _OF_TIER)}
    FROM unnest(%s::bigint[], {", ".join(map(_array, _OF_TIER))}) u (key, {", ".join(_OF_TIER)})
    WHERE e.scope = %s AND e.key = u.key
"""
_NEXT = """
    UPDATE tidal_scopes SET changes = changes + 1 WHERE scope = %s
    RETURNING changes, ARRAY (SELECT nextval('tidal_keys') FROM generate_series(1, %s))
"""
# Characters that are written as two are counted as one.
_CHARACTERS = "char_length(replace(replace(text, E'\\x01\\x01', ' '), E'\\x01\\x02', ' '))"
_EXISTING = f"""
    SELECT id, key, checksum, kind, channel, {_CHARACTERS} FROM tidal_entries WHERE scope = %s AND id = {TEXTS}
"""
_VOLUMES = """
    INSERT INTO tidal_volumes AS v SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[])
    ON CONFLICT (scope, kind, channel)
    DO UPDATE SET entries = v.entries + excluded.entries, characters = v.characters + excluded.characters
"""
_DELETE = f"""
    DELETE FROM tidal_entries WHERE scope = %s AND key = {NUMBERS} RETURNING kind, channel, {_CHARACTERS}
"""


class _Prepared(NamedTuple):
    """A record that was checked, with its row and the unit vectors of its passages."""

    record: Record
    row: Row
    units: Sequence[Unit]

    @property
    def id(self) -> str:
        return self.record.entry.id

    @property
    def volume(self) -> tuple[str, str, int]:
        entry = self.record.entry
        return entry.kind, entry.channel, len(entry.text)


class _Known(NamedTuple):
    """An entry that is stored: its key, the checksum of what never changes in place, and its volume."""

    key: int
    checksum: bytes
    kind: str
    channel: str
    characters: int

    @property
    def volume(self) -> tuple[str, str, int]:
        return self.kind, self.channel, self.characters


class _Place(NamedTuple):
    """Where records go: the entries of their ids, the number of the change, new keys, the generation of vectors."""

    known: Mapping[str, _Known]
    change: int
    keys: Sequence[int]
    generation: int


class EntryStore(EntryReads, Entries):
    """Stores entries as rows, and their passages in the indexes of keywords and vectors."""

    def put(self, scope: Scope, records: Iterable[Record], *, replace: bool = False) -> list[str]:
        prepared = [_prepared(scope, record) for record in records]
        with self.transaction():
            sizes = dict.fromkeys(len(unit) for item in prepared for unit in item.units if unit is not None)
            if len(sizes) > 1:
                raise InvalidVector(f"all vectors have one size, got {', '.join(map(str, sizes))}")
            place = self._place(scope, prepared, next(iter(sizes), None))
            if not replace:
                return self._added(scope, prepared, place)
            if missing := [item.id for item in prepared if item.id not in place.known]:
                raise NotFound(f"no entry {shown(missing[0])} in scope {shown_scope(scope)}")
            return self._replaced(scope, prepared, place)

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        number = number_of(scope)
        with self.transaction():
            if ids is None:
                found = dict(self._db.rows(scope, "SELECT id, key FROM tidal_entries WHERE scope = %s", number))
            else:
                found = {row[0]: row[1] for row in self._db.rows(scope, _EXISTING, number, list(ids))}
            if found:
                keys = list(found.values())
                unindex(self._db, scope, keys)
                gone = self._db.rows(scope, _DELETE, number, keys)
                ends = link_condition(scope, WhereLinks(ends=found))
                self._db.later(
                    scope,
                    *_volumes(number, gone, -1),
                    (f"DELETE FROM tidal_links l WHERE {ends.sql}", ends.parameters),
                    (f"DELETE FROM tidal_log WHERE scope = %s AND key = {TEXTS}", [number, list(found)]),
                )
            if ids is None:
                self._db.later(scope, *((f"DELETE FROM {table} WHERE scope = %s", [number]) for table in OF_SCOPES))
                self._db.current.versions.clear()
            return len(found)

    def _place(self, scope: Scope, prepared: Sequence[_Prepared], size: int | None) -> _Place:
        """Return what must be known before records are written, in one round trip after the lock of the scope: always
        in this order, so that no two writers wait for each other."""
        number, keys = number_of(scope), len(prepared) + sum(len(item.units) for item in prepared)
        statements = ((_EXISTING, [number, [item.id for item in prepared]]), (_NEXT, [number, keys]))
        existing, [(change, new)], *state = self._db.each(scope, *statements, *sharing(self._db, size))
        known = {row[0]: _Known(*row[1:]) for row in existing}
        return _Place(known, change, sorted(new), generation_for(self._db, size, state))

    def _added(self, scope: Scope, prepared: Sequence[_Prepared], place: _Place) -> list[str]:
        added = {item.id: item for item in reversed(prepared) if item.id not in place.known}
        items = [item for item in prepared if added.get(item.id) is item]
        if not items:
            return []
        number, keys = number_of(scope), place.keys[: len(items)]
        insert = (_INSERT, [number, place.change, *_columns(keys, items)])
        volumes = _volumes(number, [item.volume for item in items], 1)
        new = [_indexed(item, key) for key, item in zip(keys, items, strict=True)]
        passages = indexing(self._db, scope, new, iter(place.keys[len(items) :]), place.generation)
        self._db.later(scope, insert, *volumes, *passages)
        self._stored(scope, len(items))
        return [item.id for item in items]

    def _replaced(self, scope: Scope, prepared: Sequence[_Prepared], place: _Place) -> list[str]:
        number, known = number_of(scope), place.known
        items = list({item.id: item for item in prepared}.values())
        anew = [item for item in items if item.record.passages is not None]
        if anew:
            unindex(self._db, scope, [known[item.id].key for item in anew])
        tiers = [i for i in items if i.record.passages is None and i.row[len(FIXED)] == known[i.id].checksum]
        same = {item.id for item in tiers}
        whole = [item for item in items if item.id not in same]
        if left := [known[item.id].key for item in whole if item.record.passages is None]:
            note_gone(self._db, scope, left)
        statements = list[Statement]()
        if tiers:
            columns = zip(*((known[item.id].key, *item.row[len(FIXED) + 1 :]) for item in tiers), strict=True)
            statements.append((_SET_TIER, [place.change, *map(list, columns), number]))
        if whole:
            rows = _columns([known[item.id].key for item in whole], whole)
            statements.append((_SET, [place.change, *rows, number]))
            statements += _volumes(number, [known[item.id].volume for item in whole], -1)
            statements += _volumes(number, [item.volume for item in whole], 1)
        new = [_indexed(item, known[item.id].key) for item in anew]
        passages = indexing(self._db, scope, new, iter(place.keys), place.generation)
        self._db.later(scope, *statements, *passages)
        return [item.id for item in prepared]


def _prepared(scope: Scope, record: Record) -> _Prepared:
    entry = record.entry
    if entry.scope != scope:
        raise InvalidScope(f"entry {shown(entry.id)} is of scope {shown(entry.scope)}, not {shown(scope)}")
    row = to_row(entry)
    check_storable(row)
    check_storable(passage.terms for passage in record.passages or ())
    units = [None if passage.vector is None else unit_vector(passage.vector) for passage in record.passages or ()]
    return _Prepared(record, row, units)


def _indexed(item: _Prepared, key: int) -> Indexed:
    return Indexed(item.id, key, item.record.passages or (), item.units)


def _columns(keys: Sequence[int], items: Sequence[_Prepared]) -> list[list[Any]]:
    """Return the columns of rows, with those that filters read."""
    tags, metadata = FIXED.index("tags"), FIXED.index("metadata")
    rows = [
        (key, *item.row, array_of(from_json(item.row[tags])), array_of(facets_of(item.row[metadata])))
        for key, item in zip(keys, items, strict=True)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def _volumes(scope: int, found: Iterable[Sequence[Any]], sign: int) -> list[Statement]:
    """Return statements that add to the volumes of a scope, or take from them."""
    entries, characters = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for kind, channel, length in found:
        entries[kind, channel] += 1
        characters[kind, channel] += length
    if not entries:
        return []
    kinds, channels = zip(*entries, strict=True)
    counts = [[sign * counted[sort] for sort in entries] for counted in (entries, characters)]
    return [(_VOLUMES, [scope, list(kinds), list(channels), *counts])]
