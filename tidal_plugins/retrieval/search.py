"""Stage ``search``: both channels find entries, and the nearest by both together are to be ranked in full."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.errors import Corrupt, QueryTimeout
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.state import Found, State
from tidal_plugins.retrieval.understand import Query
from tidal_plugins.scoring.fusion import keyword_strength, reciprocal_rank
from tidal_plugins.storage.base import Match, PassageVectors, Storage, Where
from tidal_plugins.storage.damage import ENTRIES, noticed
from tidal_plugins.storage.values import unit_vector
from tidal_plugins.tuning import RecallTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEYWORDS = "keywords"
VECTORS = "vectors"

logger = logging.getLogger(__name__)

T = TypeVar("T")


def search(state: State) -> None:
    """Find the best entries of each channel, and split them by how near both channels together say they are."""
    request, settings = state.request, state.settings.recall
    state.channels = Channels(state.store.storage, request.scope, state.query, state.embedded.vector, request.where)
    found = state.channels.found(max(2 * request.limit, settings.pool), settings)
    near = _NEARNESS[request.profile]
    order = sorted(found, key=lambda item: -near(item, settings))  # of equals the one that a channel found first
    size = max(4 * request.limit, settings.shortlist)
    state.near, state.far = order[:size], order[size:]


def join(state: State, ids: Iterable[str]) -> None:
    """Let entries be ranked in full, too. An entry that no channel found has a cosine and no rank."""
    near = {item.id for item in state.near}
    wanted = {id_: None for id_ in ids if id_ not in near}
    if not wanted:
        return
    known = [item for item in state.far if item.id in wanted]
    far = {item.id for item in known}
    unknown = [id_ for id_ in wanted if id_ not in far]
    cosines = state.channels.cosines(unknown)
    new = [_found(id_, vector=cosines.get(id_)) for id_ in unknown]
    state.near = [*state.near, *known, *new]
    state.far = [item for item in state.far if item.id not in wanted]


def nearness(found: Found, settings: RecallTuning) -> float:
    """Return how near an entry is by both channels, in units of cosine."""
    return found.cosine + settings.keywords * found.keyword_strength


def reciprocal(found: Found, settings: RecallTuning) -> float:
    """Return the reciprocal rank fusion of both channels."""
    return reciprocal_rank((found.keyword_rank, found.vector_rank), k=settings.rrf)


@dataclass(frozen=True, slots=True)
class Channels:
    """The keyword channel and the vector channel of one store, for one query in one scope.

    A row that cannot be read is left out and noted in ``damaged`` by its id. A channel that cannot answer is left out
    and noted in ``degraded``; if ``strict``, one that takes too long raises ``QueryTimeout``.
    """

    storage: Storage
    scope: Scope
    query: Query
    vector: NDArray[np.float32]
    where: Where
    damaged: set[str] = field(default_factory=set)
    degraded: list[str] = field(default_factory=list)
    strict: bool = False

    def found(self, pool: int, settings: RecallTuning) -> list[Found]:
        """Return the ``pool`` best of each channel, each with its cosine and its keyword strength."""
        corpus = self.storage.statistics(self.scope).corpus
        strength = partial(
            keyword_strength,
            mean_words=corpus.mean_words,
            terms=len(self.query.terms),
            passages=corpus.passages,
            brevity=settings.brevity,
        )
        vectors = _placed(self.nearest(pool, self.where))
        keywords = _placed(self.matching(self.query.terms, pool, self.where))
        others = self.cosines([id_ for id_ in keywords if id_ not in vectors])
        found = []
        for id_ in {**vectors, **keywords}:
            vector_rank, vector = vectors.get(id_, (None, others.get(id_)))
            keyword_rank, keyword = keywords.get(id_, (None, None))
            strong = strength(keyword.score, words=keyword.words) if keyword else 0.0
            found.append(_found(id_, strong, keyword, keyword_rank, vector, vector_rank))
        return found

    def nearest(self, limit: int, where: Where) -> list[Match]:
        """Return the best of the vector channel, or none if the vectors cannot be read, or not in time."""
        if VECTORS in self.degraded:
            return []
        try:
            return self.storage.nearest(self.scope, self.vector, limit, where)
        except QueryTimeout:
            if self.strict:
                raise
            self._without(VECTORS, "the search of the vectors took too long; recalling by keywords alone")
            return []
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
            return []

    def matching(self, words: Sequence[str], limit: int, where: Where) -> list[Match]:
        """Return the best of the keyword channel, or none if it takes too long or cannot be read."""
        if KEYWORDS in self.degraded:
            return []
        try:
            return self.storage.matching(self.scope, words, limit, where)
        except QueryTimeout:
            if self.strict:
                raise
            self._without(KEYWORDS, "the keyword search took too long; recalling by meaning alone")
            return []
        except Corrupt as error:
            self._without(KEYWORDS, f"recalling by meaning alone: {error}")
            return []

    def cosines(self, ids: Sequence[str]) -> dict[str, Match]:
        """Return the cosines of entries by id, or none if the vectors cannot be read."""
        if not ids or VECTORS in self.degraded:
            return {}
        try:
            return best_cosines(self.storage.vectors(self.scope, ids), self.vector)
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
            return {}

    def entries(self, ids: Sequence[str], limit: int | None = None) -> dict[str, Entry]:
        """Return the first ``limit`` of ``ids`` that can be read."""
        return intact(partial(self.storage.get, self.scope), ids, self.damaged, limit)

    def unreadable(self) -> list[Dropped]:
        """Return the entries that could not be read, as dropped."""
        return [Dropped(id_, "checksum", "the stored row is damaged") for id_ in sorted(self.damaged)]

    def _without(self, channel: str, reason: str) -> None:
        logger.warning(reason)
        self.degraded.append(channel)


def intact(
    read: Callable[[Sequence[str]], dict[str, T]], ids: Iterable[str], damaged: set[str], limit: int | None = None
) -> dict[str, T]:
    """Read the first ``limit`` of ``ids`` that can be read, and add those whose rows are damaged to ``damaged``."""
    ids = list(ids)
    while True:
        chosen = [id_ for id_ in ids if id_ not in damaged][:limit]
        with noticed() as left_out:
            found = read(chosen)
        bad = {row.name for row in left_out if row.table == ENTRIES}.intersection(chosen)
        if not bad:
            return found
        damaged |= bad


def best_cosines(passages: PassageVectors, vector: NDArray[np.float32]) -> dict[str, Match]:
    """Return by entry the passage with the highest cosine with ``vector``."""
    import numpy as np

    if not passages.spans:
        return {}
    found: dict[str, Match] = {}
    for span, score in zip(passages.spans, np.vecdot(passages.units, unit_vector(vector)).tolist(), strict=True):
        if span.id not in found or score > found[span.id].score:
            found[span.id] = Match(span.id, score, *span[1:])
    return found


def _found(
    id: str,
    strength: float = 0.0,
    keyword: Match | None = None,
    keyword_rank: int | None = None,
    vector: Match | None = None,
    vector_rank: int | None = None,
) -> Found:
    return Found(id, vector.score if vector else 0.0, strength, keyword, keyword_rank, vector, vector_rank)


def _placed(matches: Sequence[Match]) -> dict[str, tuple[int, Match]]:
    return {match.id: (place, match) for place, match in enumerate(matches, 1)}


_NEARNESS: dict[str, Callable[[Found, RecallTuning], float]] = {
    "balanced": nearness,
    "tidal": lambda found, _: found.cosine,
    "attention": reciprocal,
}
