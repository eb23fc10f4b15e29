"""The index of a scope's passages: their words and their vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.storage.keywords import tokens

Unit = NDArray[np.float32]


class Index:
    """Finds passages, by their keys, from words and vectors.

    It is only ever appended to, by one transaction at a time, and states share it: a passage counts for a state that
    has its key. The others, erased ones and those of a transaction that was rolled back, stay until it is compacted.
    """

    def __init__(self) -> None:
        self.size = 0
        """How many passages were added."""
        self._words: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self._rows = 0
        self._keys = np.empty(0, np.int64)
        self._units = np.empty((0, 0), np.float32)

    @property
    def dimensions(self) -> int:
        """Return the length of its vectors, 0 while there are none."""
        return int(self._units.shape[1])

    def add(self, key: int, words: Sequence[str], unit: Unit | None) -> None:
        """Add a passage, whose key must be above all earlier ones."""
        counts = Counter(tokens(word) for word in words)
        for word, times in counts.items():
            self._words.setdefault(word, []).append((key, times))
        if unit is not None:
            self._append(key, unit)
        self.size += 1

    def having(self, word: str) -> Sequence[tuple[int, int]]:
        """Return the passages that have a word, by key, and how many times each."""
        return self._words.get(tokens(word), ())

    def vectors(self) -> tuple[NDArray[np.int64], Unit]:
        """Return keys, ascending, and vectors, row by row."""
        rows = self._rows  # first: what is appended meanwhile lies beyond
        return self._keys[:rows], self._units[:rows]

    def compacted(self, keys: Container[int]) -> Index:
        """Return an index of these passages only."""
        index = Index()
        for word, found in self._words.items():
            if kept := [one for one in found if one[0] in keys]:
                index._words[word] = kept
        all_keys, units = self.vectors()
        rows = [row for row, key in enumerate(all_keys.tolist()) if key in keys]
        if rows:
            index._keys, index._units, index._rows = all_keys[rows], units[rows], len(rows)
        return index

    def renewed(self, units: Mapping[int, Unit]) -> Index:
        """Return an index of the same words and of other vectors, those of ``units`` by key."""
        index = Index()
        index._words = {word: list(found) for word, found in self._words.items()}
        index.size = self.size
        for key in sorted(units):
            index._append(key, units[key])
        return index

    def _append(self, key: int, unit: Unit) -> None:
        if self._rows == len(self._keys):
            held_keys, held_units = self.vectors()
            room = self._rows + self._rows // 4 + 64
            keys, units = np.empty(room, np.int64), np.empty((room, len(unit)), np.float32)
            keys[: self._rows], units[: self._rows] = held_keys, held_units.reshape(self._rows, len(unit))
            self._keys, self._units = keys, units  # only now: other threads read them
        self._keys[self._rows], self._units[self._rows] = key, unit
        self._rows += 1
