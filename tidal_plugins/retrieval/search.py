"""What both channels find for a query, and what is ranked with it although no channel may have found it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.english.times import Period
from tidal_plugins.errors import Corrupt, QueryTimeout
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.query import Query
from tidal_plugins.retrieval.rank import Candidate, Found
from tidal_plugins.retrieval.surroundings import WINDOW
from tidal_plugins.retrieval.time import narrowed
from tidal_plugins.storage.base import Adjacent, Match, PassageVectors, Storage, Where
from tidal_plugins.storage.unit import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEYWORDS = "keywords"
VECTORS = "vectors"

logger = logging.getLogger(__name__)

T = TypeVar("T")
Split = tuple[list[Found], list[Found]]
"""What is ranked in full, and what is not."""


@dataclass(frozen=True, slots=True)
class Search:
    """One query in one scope of a store. ``damaged`` collects the ids of rows that could not be read, ``degraded`` the
    channels that could not answer."""

    storage: Storage
    scope: Scope
    query: Query
    vector: NDArray[np.float32]
    where: Where
    damaged: set[str] = field(default_factory=set)
    degraded: list[str] = field(default_factory=list)

    def found(self, pool: int) -> list[Found]:
        """The ``pool`` best of each channel, each with its cosine."""
        vectors = _placed(self._nearest(pool, self.where))
        keywords = _placed(self.matching(self.query.terms, pool, self.where))
        others = self.cosines([id_ for id_ in keywords if id_ not in vectors])
        found = []
        for id_ in {**vectors, **keywords}:
            vector_rank, match = vectors.get(id_, (None, others.get(id_)))
            keyword_rank, keyword = keywords.get(id_, (None, None))
            found.append(Found(id_, keyword, keyword_rank, match, vector_rank))
        return found

    def with_beside(self, split: Split, reach: int) -> tuple[Split, list[Adjacent]]:
        """Both again, what stands next to the best ``reach`` now ranked in full; and which stands next to which."""
        beside = self.storage.adjacent(self.scope, [item.id for item in split[0][:reach]], WINDOW, self.where)
        return self._with(split, {item.other for item in beside}), beside

    def with_times(self, split: Split, times: Iterable[Period], reach: int) -> Split:
        """Both again, the ``reach`` nearest from each time that the query speaks of now ranked in full, wherever they
        stand. (The best by keywords of each time would change no answer on the development conversations.)"""
        near = (match for time in times for match in self._nearest(reach, narrowed(self.where, time)))
        return self._with(split, {match.id for match in near})

    def with_rewarded(self, split: Split, rewarded: Iterable[str]) -> Split:
        """Both again, those of ``rewarded`` that pass the filter now ranked in full: signals speak for them."""
        if not (wanted := set(rewarded)):
            return split
        known = {item.id for item in (*split[0], *split[1])}
        others = list(wanted - known)
        passed = intact(lambda ids: self.storage.summaries(self.scope, ids, self.where), others, self.damaged)
        return self._with(split, {*passed, *(known & wanted)})

    def sketched(self, found: Sequence[Found]) -> list[Candidate]:
        """What was found, with what ranking needs to know of it."""
        ids = [item.id for item in found]
        sketches = intact(lambda some: self.storage.summaries(self.scope, some), ids, self.damaged)
        return [Candidate(sketches[item.id], *item[1:]) for item in found if item.id in sketches]

    def entries(self, ids: Sequence[str], limit: int | None = None) -> dict[str, Entry]:
        """Those of ``ids`` that can be read, the first ``limit`` of them."""
        return intact(lambda some: self.storage.get(self.scope, some), ids, self.damaged, limit)

    def matching(self, words: Sequence[str], limit: int, where: Where) -> list[Match]:
        """The best of the keyword channel; none where it takes too long."""
        if KEYWORDS in self.degraded:
            return []
        try:
            return self.storage.matching(self.scope, words, limit, where)
        except QueryTimeout:
            self._without(KEYWORDS, "the keyword search took too long; recalling by meaning alone")
            return []

    def cosines(self, ids: Sequence[str]) -> dict[str, Match]:
        """How near entries are, by id; empty where the vectors cannot be read."""
        if not ids or VECTORS in self.degraded:
            return {}
        try:
            return best_cosines(self.storage.vectors(self.scope, ids), self.vector)
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
            return {}

    def unreadable(self) -> list[Dropped]:
        """What could not be read."""
        return [Dropped(id_, "checksum", "the stored row is damaged") for id_ in sorted(self.damaged)]

    def _with(self, split: Split, ids: set[str]) -> Split:
        """Both again, ``ids`` now ranked in full; what no channel found has a cosine and no rank."""
        near, far = split
        wanted = ids - {item.id for item in near}
        if not wanted:
            return split
        known = [item for item in far if item.id in wanted]
        unknown = sorted(wanted - {item.id for item in known})
        cosines = self.cosines(unknown)
        new = [Found(id_, None, None, cosines.get(id_), None) for id_ in unknown]
        return [*near, *known, *new], [item for item in far if item.id not in wanted]

    def _nearest(self, pool: int, where: Where) -> list[Match]:
        if VECTORS in self.degraded:
            return []
        try:
            return self.storage.nearest(self.scope, self.vector, pool, where)
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
            return []

    def _without(self, channel: str, reason: str) -> None:
        logger.warning(reason)
        self.degraded.append(channel)


def intact(
    read: Callable[[Sequence[str]], dict[str, T]], ids: Sequence[str], damaged: set[str], limit: int | None = None
) -> dict[str, T]:
    """Read the first ``limit`` of ``ids`` that can be read; those whose rows are damaged are added to ``damaged``."""
    while True:
        chosen = [id_ for id_ in ids if id_ not in damaged][:limit]
        try:
            return read(chosen)
        except Corrupt as error:
            if error.entry is None or error.entry not in chosen:
                raise
            logger.error("entry %s is damaged and was left out of a recall", error.entry)
            damaged.add(error.entry)


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


def _placed(matches: Sequence[Match]) -> dict[str, tuple[int, Match]]:
    return {match.id: (place, match) for place, match in enumerate(matches, 1)}
