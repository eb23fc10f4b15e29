"""A topic as the words that a text about it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

from tidal_plugins.scoring.text import stems


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of a topic, each as the stems that it may have: those of its parts and of the whole."""

    words: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, topic: str) -> Self:
        return cls(tuple(found for word in topic.split() if (found := frozenset(stems(word)))))

    @property
    def stems(self) -> frozenset[str]:
        return frozenset[str]().union(*self.words)

    def share(self, said: Collection[str], weights: Mapping[str, float]) -> float:
        """Return the share of the words that a text with these stems has, in [0, 1], each by its weight.

        ``weights`` tell how rare each stem is. A word that no text has counts for nothing.
        """
        worth = [max(weights.get(stem, 0.0) for stem in word) for word in self.words]
        there = (weight for word, weight in zip(self.words, worth, strict=True) if word <= frozenset(said))
        return sum(there) / sum(worth) if sum(worth) else 0.0
