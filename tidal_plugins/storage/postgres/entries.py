"""Entries in a PostgreSQL database: what only it has to do for them, in few round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.damage import SCOPES
from tidal_plugins.storage.postgres.base import PostgresBase, figures
from tidal_plugins.storage.postgres.dialect import NUMBERS, TEXTS
from tidal_plugins.storage.postgres.numbers import number_of, path_of
from tidal_plugins.storage.postgres.passages import indexing, note_gone, unindex
from tidal_plugins.storage.postgres.renewal import generation_for, sharing
from tidal_plugins.storage.postgres.schema import OF_SCOPES, PATH
from tidal_plugins.storage.postgres.work import ALL
from tidal_plugins.storage.sql.conditions import condition
from tidal_plugins.storage.sql.entries import EntryStore, Figures, Indexed, Known, Place, Prepared
from tidal_plugins.storage.values import from_json

_BEGINS, _BEGIN = f"left(s.path, {PATH})", f"left(%s, {PATH})"
_SCOPES = f"""
    SELECT s.path FROM tidal_scopes s WHERE ({_BEGINS} = {_BEGIN} AND s.path = %s
    OR {_BEGINS} BETWEEN {_BEGIN} AND {_BEGIN} AND s.path BETWEEN %s AND %s)
    AND EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = s.scope AND {{}})
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


class PostgresEntries(PostgresBase, EntryStore):
    """Entries in a database. What is written of them is sent together with the next statement that is waited for."""

    of_scopes = OF_SCOPES

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        path, filter_ = path_of(prefix), condition(self.dialect, None, where)
        # In a longer path a comma follows and the quote of the next segment; in any path after the empty one, a quote.
        longer = path.removesuffix("]") + ("," if prefix else "")
        between = (f'{longer}"', f"{longer}#")
        with self.question():
            sql = _SCOPES.format(filter_.sql)
            rows = self._query(SCOPES, ALL, sql, path, path, *between, *between, *filter_.parameters)
        return sorted(tuple(from_json(found)) for (found,) in rows)

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        with self.transaction():
            count = super().erase(scope, ids)
            if ids is None:
                self._db.current.versions.clear()
            return count

    def _place(self, scope: Scope, prepared: Sequence[Prepared], *, new: bool) -> Place:
        """Return what must be known, in one round trip after the lock of the scope: always in this order, so that no
        two writers wait for each other."""
        sizes = dict.fromkeys(len(unit) for item in prepared for unit in item.units if unit is not None)
        if len(sizes) > 1:
            raise InvalidInput(f"all vectors have one size, got {', '.join(map(str, sizes))}")
        size, number = next(iter(sizes), None), number_of(scope)
        keys = len(prepared) + sum(len(item.units) for item in prepared)
        statements = ((_EXISTING, [number, [item.id for item in prepared]]), (_NEXT, [number, keys]))
        existing, [(change, drawn)], *state = self._db.each(scope, *statements, *sharing(self._db, size))
        known = {id_: Known(key, sum_, tuple(volume)) for id_, key, sum_, *volume in existing}
        return Place(known, change, sorted(drawn), generation_for(self._db, size, state))

    def _add_passages(self, scope: Scope, entries: Sequence[Indexed], place: Place) -> None:
        self._db.later(scope, *indexing(self._db, scope, entries, iter(place.keys), place.generation))

    def _drop_passages(self, scope: Scope, entries: Sequence[int]) -> None:
        unindex(self._db, scope, entries)

    def _note_gone(self, scope: Scope, entries: Sequence[int]) -> None:
        note_gone(self._db, scope, entries)

    def _delete(self, scope: Scope, entries: Sequence[int]) -> None:
        self._add_volumes(scope, self._db.rows(scope, _DELETE, number_of(scope), list(entries)), -1)

    def _add_volumes(self, scope: Scope, volumes: Iterable[tuple[str, str, int] | None], sign: int) -> None:
        entries, characters = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for volume in volumes:
            if volume is not None:
                entries[volume[:2]] += 1
                characters[volume[:2]] += volume[2]
        if entries:
            kinds, channels = zip(*entries, strict=True)
            counts = [[sign * counted[sort] for sort in entries] for counted in (entries, characters)]
            self._db.later(scope, (_VOLUMES, [number_of(scope), list(kinds), list(channels), *counts]))

    def _figures_of(self, scope: Scope) -> Figures:
        passages, words, generation, erasures, changes = figures(self._db, scope)
        return Figures(passages, words, (generation, erasures, changes), generation + erasures)
