"""The contract of search: the nearest vectors, exactly, and the best matches by keywords."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.entries import Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_TERMS = 64
"""Words that one keyword search looks for, the first of those given; a query has rarely ten."""


class Match(NamedTuple):
    """An entry that a search found, with its score (higher is better) and its best passage.

    ``words`` counts the analysed words of the passage.
    """

    id: str
    score: float
    start: int
    end: int
    words: int


class Span(NamedTuple):
    """A passage of the entry ``id``: ``text[start:end]``, with ``words`` analysed words."""

    id: str
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """Passages and their vectors of length 1, row by row. The rows may be a view of the engine's memory: read only."""

    spans: Sequence[Span]
    units: NDArray[np.float32]


class Search(Protocol):
    """Finds entries by their passages."""

    @abstractmethod
    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage has the highest cosine with ``vector``, exactly, best first."""

    @abstractmethod
    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage scores highest in BM25 for any of ``terms``, best first.
        The first ``MAX_TERMS`` of them count."""

    @abstractmethod
    def vectors(self, scope: Scope, ids: Collection[str]) -> PassageVectors:
        """Return the vectors of all the passages of these entries. Passages without one are left out. Raises
        ``Corrupt`` for a vector that is not as it was written."""
