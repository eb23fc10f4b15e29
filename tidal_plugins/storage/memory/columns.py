"""The columns of a state in memory. They hold every vector as it is: the state does so anyway, and is never large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.bm25 import frequency, rarity
from tidal_plugins.storage.columns.packing import Piece
from tidal_plugins.storage.columns.source import Mark, Range
from tidal_plugins.storage.columns.tables import EARLIEST, LATEST, EntryRow, PassageRow
from tidal_plugins.storage.columns.view import Arrays, Columns, Found
from tidal_plugins.storage.entries import HEAD, TAIL, Where
from tidal_plugins.storage.memory.figures import Kept, KeptPassage
from tidal_plugins.storage.memory.filters import entry_filter
from tidal_plugins.storage.memory.index import Index
from tidal_plugins.storage.memory.state import State
from tidal_plugins.storage.search import MAX_TERMS
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Rows


@dataclass(frozen=True, slots=True)
class StateSource:
    """One scope of a state, as the origin of columns."""

    state: State
    scope: Scope

    def mark(self) -> Mark:
        figures = self.state.table(self.scope, "figures")
        return Mark(figures.get("changes", 0), figures.get("erasures", 0))

    def gone_after(self, erasures: int) -> None:
        """Return that it is not known: to load what is in memory is quick."""

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        return ()

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        return map(_row, self._changed(changes))

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        passages: Mapping[int, KeptPassage] = self.state.table(self.scope, "passages")
        all_keys, units = index_of(self.state, self.scope).vectors()
        found = [(number, one.number) for one in self._changed(changes) for number in one.passages if number > key]
        for number, entry in sorted(found):
            kept = passages[number]
            unit = units[np.searchsorted(all_keys, number)].tobytes() if kept.has_vector else None
            yield PassageRow(number, entry, *kept.span[1:], unit)

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        all_keys, units = index_of(self.state, self.scope).vectors()
        return units[np.searchsorted(all_keys, keys)]

    def last(self) -> int:
        """Return the number of the last entry."""
        kept: Iterable[Kept] = self.state.table(self.scope, "entries").values()
        return max((one.number for one in kept), default=0)

    def _changed(self, changes: int) -> list[Kept]:
        kept: Iterable[Kept] = self.state.table(self.scope, "entries").values()
        return sorted((one for one in kept if one.changed > changes), key=lambda one: one.number)


class StateColumns(Columns):
    """The columns of a scope, with the state that they are of."""

    def __init__(self, arrays: Arrays, state: State, scope: Scope, last: int | None) -> None:
        super().__init__(arrays, last)
        self._state, self._scope = state, scope

    def matching(self, terms: Sequence[str], k: int, where: Where) -> Found:
        state, passages = self._state, self._state.table(self._scope, "passages")
        corpus, index = state.table("corpus"), index_of(state, self._scope)
        scores: dict[int, float] = {}
        for word in list(dict.fromkeys(terms))[:MAX_TERMS]:
            found = [(key, times) for key, times in index.having(word) if key in passages]
            weight = rarity(corpus.get("passages", 0), len(found))
            for key, times in found:
                mean = corpus["words"] / corpus["passages"]
                scores[key] = scores.get(key, 0.0) + weight * frequency(times, passages[key].span.words, mean)
        keys = sorted(scores)
        rows, _ = self.passages_of_keys(np.array(keys, np.int64))
        return self.best(rows, np.array([scores[key] for key in keys], np.float64), k, where)

    def rows(self, ids: Sequence[str]) -> Rows:
        entries: Mapping[str, Kept] = self._state.table(self._scope, "entries")
        keys = np.array([entries[id_].number if id_ in entries else -1 for id_ in ids], np.int64)
        return np.where(keys < 0, -1, np.searchsorted(self.arrays.key, keys))

    def heads(self, rows: Rows) -> list[tuple[str, str]]:
        return [(kept.entry.text[:HEAD], kept.entry.text[-TAIL:]) for kept in self._kept(rows)]

    def emotions(self, rows: Rows) -> list[Mapping[str, float] | None]:
        return [kept.entry.affect.emotions if kept.entry.affect else None for kept in self._kept(rows)]

    def select(self, where: Where) -> Rows:
        passes, entries = entry_filter(where), self._state.table(self._scope, "entries")
        return np.array([kept.number for kept in entries.values() if passes(kept.entry)], np.int64)

    def _kept(self, rows: Rows) -> list[Kept]:
        entries = self._state.table(self._scope, "entries")
        return [entries[id_] for id_ in self.ids(rows)]


def index_of(state: State, scope: Scope) -> Index:
    """Return the index of a scope, an empty one where there is none."""
    index: Index | None = state.table("indexes").get(scope)
    return Index() if index is None else index


def _row(kept: Kept) -> EntryRow:
    entry = kept.entry
    tier, affect = entry.tier, entry.affect
    times = (entry.occurred_at, entry.recorded_at)
    decay = (
        (-1.0, LATEST, 1.0, LATEST, LATEST, LATEST)
        if tier is None
        else (
            tier.weight,
            to_micros(tier.anchored_at),
            tier.half_life,
            *(_micros(time, LATEST) for time in (tier.cold_at, tier.archived_at, tier.expires_at)),
        )
    )
    return (
        entry.id,
        kept.number,
        entry.kind,
        entry.channel,
        entry.role,
        entry.speaker,
        entry.thread,
        entry.source,
        to_json(list(entry.tags)) if entry.tags else None,
        entry.importance,
        *map(to_micros, times),
        _micros(entry.valid_from, EARLIEST),
        _micros(entry.valid_until, LATEST),
        affect.valence if affect else 0.0,
        *decay,
    )


def _micros(time: datetime | None, missing: int) -> int:
    return missing if time is None else to_micros(time)
