"""Search an SQLite file: exactly by vectors, with BM25 by keywords."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, PassageVectors, Search, Where
from tidal_plugins.storage.search import MAX_TERMS
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.conditions import condition
from tidal_plugins.storage.sqlite.entries import mark
from tidal_plugins.storage.sqlite.neighbours import Neighbours
from tidal_plugins.storage.unit import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SearchStore(SQLiteBase, Search):
    """Searches the indexes of an SQLite file."""

    _neighbours: Neighbours
    _deadline: float

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            return self._neighbours.nearest(self._key(scope), unit, k, where)

    def vectors(self, scope: Scope, ids: Collection[str]) -> PassageVectors:
        with self.snapshot():
            return self._neighbours.vectors(self._key(scope), ids)

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot(), self._db.deadline(self._deadline):
            key = self._key(scope)
            filter_ = condition(key, where)
            sql = f"""
                SELECT e.id, -w.rank, p.start, p."end", p.words FROM keywords w
                CROSS JOIN passages p ON p.key = w.rowid CROSS JOIN entries e ON e.key = p.entry
                WHERE keywords MATCH ? AND {filter_.sql} ORDER BY w.rank
            """
            return _best(self._db.stream(sql, _expression(key, terms), *filter_.parameters), k)


def _expression(scope: int, words: Sequence[str]) -> str:
    """Return an FTS5 query for any of the words, each quoted and marked as this scope's."""
    chosen = [mark(scope) + word for word in list(dict.fromkeys(words))[:MAX_TERMS]]
    return " OR ".join('"' + word.replace('"', '""').replace("\0", " ") + '"' for word in chosen) or '""'


def _best(rows: Iterable[Any], k: int) -> list[Match]:
    """Return the first match of each entry, until there are ``k``."""
    found: dict[str, Match] = {}
    for row in rows if k > 0 else ():
        found.setdefault(row[0], Match(*row))
        if len(found) == k:
            break
    return list(found.values())
