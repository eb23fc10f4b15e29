"""Search in memory: exactly by vectors, with BM25 by keywords."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import InvalidVector
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, Outdated, PassageVectors, Renewal, Search, Where
from tidal_plugins.storage.memory.entries import NEW_VECTORS, check_size, entries_of
from tidal_plugins.storage.memory.figures import Kept, KeptPassage, content_changed
from tidal_plugins.storage.memory.filters import entry_filter
from tidal_plugins.storage.memory.index import Index, Unit
from tidal_plugins.storage.memory.keywords import frequency, rarity
from tidal_plugins.storage.memory.state import Draft, MemoryBase, State
from tidal_plugins.storage.search import MAX_TERMS
from tidal_plugins.storage.values import unit_vector


class SearchStore(MemoryBase, Search):
    """Searches the indexes of the scopes."""

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit, state = unit_vector(vector), self._state()
        check_size(state, [unit])
        keys, units = _index(state, scope).vectors()
        if units.shape[1] != len(unit):  # what was erased had another size
            return []
        scores = np.vecdot(units, unit)
        order = np.argsort(-scores, kind="stable")
        return _best(state, scope, zip(keys[order].tolist(), scores[order].tolist(), strict=True), k, where)

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        state = self._state()
        corpus, passages, index = state.table("corpus"), state.table(scope, "passages"), _index(state, scope)
        scores: dict[int, float] = {}
        for word in list(dict.fromkeys(terms))[:MAX_TERMS]:
            found = [(key, times) for key, times in index.having(word) if key in passages]
            weight = rarity(corpus.get("passages", 0), len(found))
            for key, times in found:
                mean = corpus["tokens"] / corpus["passages"]
                scores[key] = scores.get(key, 0.0) + weight * frequency(times, passages[key].tokens, mean)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        return _best(state, scope, ranked, k, where)

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

    def vectors(self, scope: Scope, ids: Collection[str]) -> PassageVectors:
        state = self._state()
        table, (all_keys, units) = state.table(scope, "passages"), _index(state, scope).vectors()
        keys = [key for _, kept in entries_of(state, scope, ids) for key in kept.passages if table[key].has_vector]
        spans = [table[key].span for key in keys]
        return PassageVectors(spans, units[np.searchsorted(all_keys, keys)])


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


def _index(state: State, scope: Scope) -> Index:
    index: Index | None = state.table("indexes").get(scope)
    return Index() if index is None else index


def _best(state: State, scope: Scope, ranked: Iterable[tuple[int, float]], k: int, where: Where) -> list[Match]:
    """Return the first passage of each entry that passes a filter, until there are ``k``."""
    passes, found, refused = entry_filter(where), dict[str, Match](), set[str]()
    passages, entries = state.table(scope, "passages"), state.table(scope, "entries")
    for key, score in ranked if k > 0 else ():
        passage: KeptPassage | None = passages.get(key)
        if passage is None or (id_ := passage.span.id) in found or id_ in refused:
            continue
        kept: Kept = entries[id_]
        if passes(kept.entry):
            found[id_] = Match(id_, score, *passage.span[1:])
        else:
            refused.add(id_)
        if len(found) == k:
            break
    return list(found.values())
