"""Entries in a PostgreSQL database, with their passages in the indexes of keywords and vectors, in few round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.columns.binary import as_stored
from tidal_plugins.storage.damage import SCOPES, passage_checksum, vector_checksum
from tidal_plugins.storage.postgres.connections import ALL, Connections, Statement
from tidal_plugins.storage.postgres.dialect import NUMBERS, TEXTS, token_number, tokens
from tidal_plugins.storage.postgres.schema import GONE_SUM, OF_SCOPES, PATH
from tidal_plugins.storage.postgres.search import generation_for, locked_state, sharing
from tidal_plugins.storage.postgres.store import PostgresBase, figures
from tidal_plugins.storage.rows import from_json, number_of, path_of
from tidal_plugins.storage.sql.dialect import condition
from tidal_plugins.storage.sql.entries import KEPT, MOST_GONE, EntryStore, Figures, Indexed, Known, Place, Prepared

_PASSAGES = """
    INSERT INTO tidal_passages (scope, key, entry, start, "end", words, checksum, tokens)
    SELECT %s, u.key, u.entry, u.start, u."end", u.words, u.checksum, u.tokens::bigint[]
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
        u (key, entry, start, "end", words, checksum, tokens)
"""
_VECTORS = """
    INSERT INTO tidal_vectors (scope, generation, passage, vector, checksum)
    SELECT %s, %s, * FROM unnest(%s::bigint[], %b::bytea[], %s::bigint[])
"""
_WORDS = """
    INSERT INTO tidal_words (scope, token, passage, times)
    SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::integer[])
"""
_UNINDEX = f"""
    WITH gone AS (
        DELETE FROM tidal_passages WHERE scope = %s AND entry = {NUMBERS} RETURNING key, words, tokens
    ), words AS (
        DELETE FROM tidal_words w USING (SELECT key, unnest(tokens) AS token FROM gone) g
        WHERE w.scope = %s AND w.token = g.token AND w.passage = g.key
    ), generations AS (SELECT DISTINCT t.generation + n AS generation FROM tidal_state t, generate_series(-1, 1) n),
    vectors AS (
        DELETE FROM tidal_vectors v USING gone g, generations n
        WHERE v.scope = %s AND v.generation = n.generation AND v.passage = g.key RETURNING v.generation
    ) SELECT (SELECT count(*) FILTER (WHERE words > 0) FROM gone), (SELECT coalesce(sum(words), 0)::bigint FROM gone),
        (SELECT count(*) FROM vectors v, tidal_state t WHERE v.generation = t.generation),
        (SELECT count(*) FROM vectors v, tidal_state t WHERE v.generation > t.generation)
"""
_GONE = f"""
    WITH risen AS (UPDATE tidal_scopes SET erasures = erasures + 1 WHERE scope = %s RETURNING erasures),
    noted AS (
        INSERT INTO tidal_gone (scope, erasure, entries, checksum)
        SELECT g.*, {GONE_SUM}
        FROM (SELECT %s::bigint, r.erasures, %s::bigint[] FROM risen r) g (scope, erasure, entries)
        WHERE cardinality(entries) <= {MOST_GONE}
        ON CONFLICT (scope, erasure) DO UPDATE SET entries = excluded.entries, checksum = excluded.checksum
    ), trimmed AS (DELETE FROM tidal_gone g USING risen r WHERE g.scope = %s AND g.erasure <= r.erasures - {KEPT}),
    dropped AS (
        DELETE FROM tidal_columns c
        WHERE c.scope = %s AND EXISTS (SELECT 1 FROM unnest(%s::bigint[]) k WHERE k BETWEEN c.first AND c.last)
    ) SELECT erasures FROM risen
"""


def indexing(
    db: Connections, scope: Scope, entries: Sequence[Indexed], keys: Iterator[int], generation: int
) -> list[Statement]:
    """Return statements that add the passages of entries, with their words and vectors, and count them."""
    number = number_of(scope)
    rows, units, words = list[list[object]](), dict[int, NDArray[np.float32]](), list[tuple[int, int, int]]()
    worded = total = 0
    for entry in entries:
        for passage, unit in zip(entry.passages, entry.units, strict=True):
            key, terms = next(keys), passage.terms.split()
            place = (passage.start, passage.end, len(terms))
            times = Counter(token_number(tokens(word)) for word in terms)
            sum_ = passage_checksum(number, key, entry.id, *place)
            rows.append([key, entry.key, *place, sum_, "{" + ",".join(map(str, times)) + "}"])
            words += [(token, key, count) for token, count in times.items()]
            if unit is not None:
                units[key] = unit
            worded, total = worded + bool(terms), total + len(terms)
    halves = zip(units, as_stored(list(units.values())), strict=True)
    vectors = [(key, vector, vector_checksum(key, number, vector)) for key, (vector, _) in halves]
    db.current.count(scope, worded, total, len(vectors), 0)
    statements = list[Statement]()
    if rows:
        statements.append((_PASSAGES, [number, *map(list, zip(*rows, strict=True))]))
    if vectors:
        statements.append((_VECTORS, [number, generation, *map(list, zip(*vectors, strict=True))]))
    if words:
        statements.append((_WORDS, [number, *map(list, zip(*sorted(words), strict=True))]))
    return statements


def unindex(db: Connections, scope: Scope, entries: Sequence[int]) -> None:
    """Remove the passages of entries from all indexes."""
    number = number_of(scope)
    db.lock(scope)
    locked_state(db)  # a renewal must not give a new vector to a passage that goes
    [counted] = db.rows(scope, _UNINDEX, number, list(entries), number, number)
    db.current.count(scope, *(-count for count in counted))
    note_gone(db, scope, entries)


def note_gone(db: Connections, scope: Scope, entries: Sequence[int]) -> None:
    """Let the erasures of a scope rise, note which entries went or were replaced, and drop what is saved of them."""
    number, keys = number_of(scope), list(entries)
    db.rows(scope, _GONE, number, number, keys, number, number, keys)


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
