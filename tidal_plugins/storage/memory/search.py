"""Search in memory: exactly by vectors, with BM25 by keywords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidVector
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, Outdated, Renewal, Search, Where
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.memory.columns import StateColumns, StateSource
from tidal_plugins.storage.memory.entries import NEW_VECTORS, check_size
from tidal_plugins.storage.memory.figures import content_changed
from tidal_plugins.storage.memory.index import Unit
from tidal_plugins.storage.memory.state import Draft, MemoryBase, State
from tidal_plugins.storage.values import unit_vector


class SearchStore(MemoryBase, Search):
    """Searches the indexes of the scopes."""

    def columns(self, scope: Scope) -> Columns:
        state = self._state()
        source, held = StateSource(state, scope), self._opened().columns
        # What is not committed yet must not enter a cache that others read.
        arrays, newer = (held.anew(source), False) if isinstance(state, Draft) else held.arrays(scope, source)
        return StateColumns(arrays, state, scope, source.last() if newer else None)

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        check_size(self._state(), [unit])
        columns = self.columns(scope)
        return columns.matches(columns.nearest(unit, k, where))

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        columns = self.columns(scope)
        return columns.matches(columns.matching(terms, k, where))

    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        units = {key: unit_vector(vector) for key, vector in vectors.items()}
        with self._draft() as draft:
            new: dict[int, Unit] = draft.change(NEW_VECTORS)
            if anew:
                new.clear()
            if len(sizes := {len(unit) for unit in [*units.values(), *islice(new.values(), 1)]}) > 1:
                raise InvalidVector(f"new vectors have one size, got {', '.join(map(str, sorted(sizes)))}")
            all_ = _with_vectors(draft)
            new.update({item.key: units[item.key] for item in all_ if item.key in units})
            if len(new) == len(all_):
                _switch(draft, {item.key: item.scope for item in all_})
                return Renewal((), len(all_), len(all_))
            missing = islice((item for item in all_ if item.key not in new), most)
            return Renewal(list(missing), len(new), len(all_))


def _with_vectors(state: State) -> list[Outdated]:
    """Return the passages of all scopes that have a vector, in the order in which they were stored."""
    found = [
        Outdated(key, scope, kept.span.id, kept.span.start, kept.span.end)
        for scope, *name in state.names()
        if name == ["passages"]
        for key, kept in state.table(scope, "passages").items()
        if kept.has_vector
    ]
    return sorted(found)


def _switch(draft: Draft, scopes: Mapping[int, Scope]) -> None:
    """Put the new vectors in place of those in use. ``scopes`` are by key of the passage."""
    new: dict[int, Unit] = draft.change(NEW_VECTORS)
    by_scope: dict[Scope, dict[int, Unit]] = {}
    for key, scope in scopes.items():
        by_scope.setdefault(scope, {})[key] = new[key]
    indexes = draft.change("indexes")
    for scope, units in by_scope.items():
        indexes[scope] = indexes[scope].renewed(units)
        content_changed(draft, scope)
        draft.change("corpus")["dimensions"] = indexes[scope].dimensions
    new.clear()
