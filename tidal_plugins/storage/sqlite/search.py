"""Search an SQLite file: with BM25 by keywords, and exactly by vectors, in memory or by a scan with sqlite-vec."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidVector
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, PassageVectors, Renewal, Search, Span, Where
from tidal_plugins.storage.checksums import is_intact, vector_checksum
from tidal_plugins.storage.damage import PASSAGES, VECTORS, note
from tidal_plugins.storage.rows import Row
from tidal_plugins.storage.search import MAX_TERMS
from tidal_plugins.storage.sqlite.base import SQLiteBase, all_readable, mark, readable
from tidal_plugins.storage.sqlite.conditions import EACH_ID, condition
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.renewal import renew
from tidal_plugins.storage.sqlite.vectors import Matrix, VectorCache, note_vectors, top
from tidal_plugins.storage.values import to_json, unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PASSAGE = 'p.key, e.id, p.start, p."end", p.words, p.checksum'


class SearchStore(SQLiteBase, Search):
    """Searches the indexes of an SQLite file."""

    _neighbours: Neighbours
    _deadline: float

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot(), self._db.deadline(self._deadline):
            return self._neighbours.nearest(self._key(scope), unit, k, where)

    def vectors(self, scope: Scope, ids: Collection[str]) -> PassageVectors:
        with self.snapshot():
            return self._neighbours.vectors(self._key(scope), ids)

    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        with self.transaction():
            return renew(self._db, vectors, most, anew)

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot(), self._db.deadline(self._deadline):
            key = self._key(scope)
            filter_ = condition(key, where)
            sql = f"""
                SELECT {_PASSAGE}, -w.rank FROM keywords w
                CROSS JOIN passages p ON p.key = w.rowid CROSS JOIN entries e ON e.key = p.entry
                WHERE keywords MATCH ? AND {filter_.sql} ORDER BY w.rank
            """
            found = readable(self._db, PASSAGES, sql, _expression(key, terms), *filter_.parameters)
            with closing(found) as rows:  # the first k do
                return _best((_match(row, row[6]) for row in _verified(key, rows)), k)


class Neighbours:
    """Finds the nearest vectors by cosine, exactly. Call it inside a snapshot or transaction, with the key of a
    scope and vectors of length 1."""

    def __init__(self, connections: Connections, cache_bytes: int) -> None:
        self._connections = connections
        self._cache = VectorCache(cache_bytes)

    def nearest(self, scope: int, unit: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        self.check_size([unit])
        cache = self._cache  # another thread may drop it meanwhile, and the kinds of a matrix are numbered by its own
        matrix = self._matrix(scope, cache)
        if matrix is None:
            return self._scan(scope, unit, k, where)
        if not len(matrix.keys):
            return []
        keys, scores = matrix.keys, matrix.cosines(unit)
        if where.kinds is not None:
            chosen = cache.chosen(where.kinds)[matrix.kinds]
            keys, scores = keys[chosen], scores[chosen]
        return self._walk(scope, keys, scores, k, where)

    def vectors(self, scope: int, ids: Collection[str]) -> PassageVectors:
        """Return the vectors of all passages of entries. Those held in memory are not read from the file."""
        import numpy as np

        sql = f"SELECT {_PASSAGE} FROM {EACH_ID} CROSS JOIN passages p ON p.entry = e.key"
        # Not verified: these serve for cosines, and the vectors were verified when they were loaded.
        passages = all_readable(self._connections, PASSAGES, sql, to_json(list(dict.fromkeys(ids))), scope)
        matrix = self._matrix(scope, self._cache)
        if matrix is None:
            return self._stored(scope, passages)
        rows, known = matrix.rows(np.array([row[0] for row in passages], np.int64))
        spans = [Span(*row[1:5]) for row, there in zip(passages, known.tolist(), strict=True) if there]
        return PassageVectors(spans, matrix.vectors[rows[known]])

    def _stored(self, scope: int, passages: Sequence[Row]) -> PassageVectors:
        """Return the vectors of passages, read from the file."""
        import numpy as np

        sql = "SELECT v.passage, v.vector, v.checksum FROM json_each(?) j CROSS JOIN vectors v ON v.passage = j.value"
        stored = self._connections.rows(sql, to_json([row[0] for row in passages]))
        found = {key: vector for key, vector, sum_ in stored if sum_ == vector_checksum(key, scope, vector)}
        note_vectors(len(stored) - len(found), scope)
        dimensions = _dimensions(self._connections)
        rows = [row for row in passages if row[0] in found]
        joined = b"".join(found[row[0]] for row in rows)
        units = np.frombuffer(joined, np.float32).reshape(len(rows), dimensions)
        return PassageVectors([Span(*row[1:5]) for row in rows], units)

    def check_size(self, units: Iterable[NDArray[np.float32] | None]) -> None:
        """Raise ``InvalidVector`` for a vector of another size than the first. All vectors of a store have one size."""
        expected = _dimensions(self._connections)
        for unit in units:
            if unit is not None and len(unit) != (expected := expected or len(unit)):
                raise InvalidVector(f"a vector has {len(unit)} dimensions, not {expected} as the store's")

    def forget(self) -> None:
        """Drop the vectors in memory. Later searches read them again."""
        self._cache = VectorCache(self._cache.budget)

    def _matrix(self, scope: int, cache: VectorCache) -> Matrix | None:
        # Inside a write, what is not committed yet must not enter a cache that others read.
        matrix = None if self._connections.writing else cache.matrix(scope, _Vectors(self._connections, scope))
        note_vectors(matrix.damaged if matrix else 0, scope)
        return matrix

    def _walk(
        self, scope: int, keys: NDArray[np.int64], scores: NDArray[np.float32], k: int, where: Where
    ) -> list[Match]:
        """Go down the ranking in growing steps until ``k`` entries have passed the filter, which SQL decides. If hardly
        any of the nearest pass, rank all those that do."""
        import numpy as np

        found: dict[str, Match] = {}
        start, size, narrow = 0, (first := k + k // 8 + 4), False
        while start < len(keys) and len(found) < k:
            if not narrow and start > 2 * first:
                chosen = np.isin(keys, self._passing(scope, where))
                keys, scores, found = keys[chosen], scores[chosen], {}
                start, size, narrow = 0, first, True
                continue
            order = top(scores, min(start + size, len(keys)))[start:]
            passed = self._passages(scope, keys[order], where)
            for position in order:
                row = passed.get(int(keys[position]))
                if row and row[0] not in found:
                    found[row[0]] = Match(row[0], float(scores[position]), *row[1:])
            start, size = start + size, size * 8
        return list(found.values())[:k]

    def _passing(self, scope: int, where: Where) -> NDArray[np.int64]:
        import numpy as np

        filter_ = condition(scope, where)
        sql = f"SELECT p.key FROM entries e CROSS JOIN passages p ON p.entry = e.key WHERE {filter_.sql}"
        return np.fromiter((row[0] for row in self._connections.rows(sql, *filter_.parameters)), np.int64)

    def _passages(self, scope: int, keys: NDArray[np.int64], where: Where) -> dict[int, tuple[str, int, int, int]]:
        filter_ = condition(scope, where)
        sql = f"""
            SELECT {_PASSAGE} FROM json_each(?) j
            CROSS JOIN passages p ON p.key = j.value CROSS JOIN entries e ON e.key = p.entry WHERE {filter_.sql}
        """
        rows = all_readable(self._connections, PASSAGES, sql, to_json(keys.tolist()), *filter_.parameters)
        return {row[0]: (row[1], row[2], row[3], row[4]) for row in _verified(scope, rows)}

    def _scan(self, scope: int, unit: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        filter_ = condition(scope, where)
        sql = f"""
            SELECT {_PASSAGE}, v.vector, v.checksum, max(1 - vec_distance_cosine(v.vector, ?)) AS cosine
            FROM passages p JOIN entries e ON e.key = p.entry JOIN vectors v ON v.passage = p.key
            WHERE length(v.vector) = ? AND {filter_.sql} GROUP BY e.key ORDER BY cosine DESC, p.key LIMIT ?
        """
        vector = unit.tobytes()
        bindings = (vector, len(vector), *filter_.parameters, max(k, 0))
        rows = list(_verified(scope, all_readable(self._connections, PASSAGES, sql, *bindings)))
        found = [row for row in rows if row[7] == vector_checksum(row[0], scope, row[6])]
        note_vectors(len(rows) - len(found), scope)
        return [_match(row, row[8]) for row in found]


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vectors of one scope, read through an open snapshot."""

    connections: Connections
    scope: int

    def watermark(self) -> tuple[int, int]:
        last = "SELECT max(passage) FROM vectors WHERE scope = ?1"
        erasures = "SELECT erasures FROM scopes WHERE key = ?1"  # none, if the key in its row is damaged
        [(key, erased)] = self.connections.rows(f"SELECT coalesce(({last}), 0), coalesce(({erasures}), 0)", self.scope)
        return key, erased

    def size_after(self, key: int) -> tuple[int, int]:
        sql = "SELECT count(*) FROM vectors WHERE scope = ? AND passage > ?"
        return self.connections.one(sql, self.scope, key), _dimensions(self.connections)

    def vectors_after(self, key: int) -> Iterable[tuple[int, str, bytes | None]]:
        sql = """
            SELECT v.passage, e.kind, v.vector, v.checksum FROM vectors v
            CROSS JOIN passages p ON p.key = v.passage CROSS JOIN entries e ON e.key = p.entry
            WHERE v.scope = ? AND v.passage > ? ORDER BY v.passage
        """
        for passage, kind, vector, stored in readable(self.connections, VECTORS, sql, self.scope, key):
            yield passage, kind, vector if stored == vector_checksum(passage, self.scope, vector) else None


def _dimensions(connections: Connections) -> int:
    """Return the size of the store's vectors, as the first intact one has it, or 0 if there is none."""
    for limit in (1, -1):
        with closing(readable(connections, VECTORS, "SELECT * FROM vectors LIMIT ?", limit)) as rows:
            for passage, scope, vector, stored in rows:
                if stored == vector_checksum(passage, scope, vector):
                    return len(vector) // 4
    return 0


def _verified(scope: int, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows that begin with ``_PASSAGE`` and are intact; the others are noted."""
    for row in rows:
        if is_intact((), (scope, *row[:6])):
            yield row
        else:
            note(PASSAGES, row[1])


def _match(row: Row, score: float) -> Match:
    return Match(row[1], score, *row[2:5])


def _expression(scope: int, words: Sequence[str]) -> str:
    """Return an FTS5 query for any of the words, each quoted and marked as this scope's."""
    chosen = [mark(scope) + word for word in list(dict.fromkeys(words))[:MAX_TERMS]]
    return " OR ".join('"' + word.replace('"', '""').replace("\0", " ") + '"' for word in chosen) or '""'


def _best(matches: Iterable[Match], k: int) -> list[Match]:
    """Return the first match of each entry, until there are ``k``."""
    found: dict[str, Match] = {}
    for match in matches if k > 0 else ():
        found.setdefault(match.id, match)
        if len(found) == k:
            break
    return list(found.values())
