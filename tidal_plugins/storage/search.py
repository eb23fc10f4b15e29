"""The contract of search: the nearest vectors, and the best matches by keywords."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.entries import Match, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Columns


class Outdated(NamedTuple):
    """A passage whose vector awaits its replacement: ``text[start:end]`` of the entry ``id``. ``key`` names the
    passage in the store, and no other one ever."""

    key: int
    scope: Scope
    id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Renewal:
    """How far the renewal of all vectors is: ``done`` passages of ``total`` have a new one. ``missing`` are the first
    of those that have none. ``replaced`` vectors were in use before the last renewal and are yet to be removed."""

    missing: Sequence[Outdated]
    done: int
    total: int
    replaced: int = 0


class Search(Protocol):
    """Finds entries by their passages."""

    @abstractmethod
    def columns(self, scope: Scope) -> Columns:
        """Return what ranking reads of the scope's entries, in arrays. Call it inside a snapshot, and use the columns
        there. Damaged rows are left out and noted."""

    @abstractmethod
    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage has the highest cosine with ``vector``, best first.

        An engine may choose in a large scope which passages it compares, so that it may miss some; their scores are
        exact.
        """

    @abstractmethod
    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage scores highest in BM25 for any of ``terms``, best first.
        The first 64 of them count."""

    @abstractmethod
    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        """Store new vectors of passages, of all scopes, by key, and list ``most`` of the passages that lack one.

        The new vectors may have another size than those in use. Searches find the latter until every passage that has
        a vector has a new one: then all of these take their place at once, and ``done`` is ``total``. A new vector goes
        with its passage; unknown keys are passed over. Each call may remove ``most`` of the vectors that were replaced
        earlier. ``anew`` drops the new vectors that were stored before. Raises ``InvalidInput`` before anything is
        written.
        """
