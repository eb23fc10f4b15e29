"""The read path: a turn in, the memories that it brings up out. It writes nothing [Tidal §2.3], [Anamnesis]."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.errors import Corrupt, QueryTimeout
from tidal_plugins.graph.web import AssociationWeb
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import KINDS, Entry, Scope
from tidal_plugins.model.recall import Dropped, Hit, Recall
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.bar import over_bar, sureness, worth_a_word
from tidal_plugins.retrieval.diversity import first_of_kind, rivals, said_again, varied
from tidal_plugins.retrieval.expansion import REACHED, Neighbourhood, combined, seeds
from tidal_plugins.retrieval.query import Query, understand
from tidal_plugins.retrieval.rank import (
    Candidate,
    Context,
    Found,
    Ranked,
    by_score,
    keyword_part,
    ordinary,
    rank,
    shortlist,
    taken_in,
)
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.rerank import RERANKER, reranked
from tidal_plugins.retrieval.surroundings import WINDOW, Surroundings, echoes
from tidal_plugins.retrieval.time import INSIDE, Period, event, periods
from tidal_plugins.retrieval.window import with_window
from tidal_plugins.scoring.text import normal
from tidal_plugins.sessions.boost import Boosts, Lane
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Match, Storage, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.embedding.identity import StoreEmbedder

KEYWORDS = "keywords"
VECTORS = "vectors"

REPEATS = 5
"""Entries that may say word for word what the turn says, and so are news to nobody, before a whisper loses a place."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recaller:
    """One store, seen from the read path."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Settings
    boosts: Boosts
    reranker: Reranker | None = None

    def recall(
        self,
        scope: Scope,
        text: str,
        where: Where,
        affect: Affect,
        now: datetime,
        *,
        limit: int,
        profile: str,
        unasked: bool = False,
        associative: bool = False,
        session: int | None = None,
        window: int = 0,
        vector: NDArray[np.float32] | None = None,
        felt: Callable[[NDArray[np.float32]], Affect] | None = None,
    ) -> Recall:
        """Return the ``limit`` entries that rank highest for ``text``, and why the other candidates fell out.

        ``unasked``: only what clears the bar of automatic recall. ``associative``: what comes up together with those
        is appended, beyond the limit. ``session``: the one whose signals this recall feels, beside those of the scope.
        ``window``: how many turns before and after each hit come with it. ``vector``: that of ``text``, where it is
        known. ``felt`` reads off it what colours the recall instead of ``affect``.
        """
        query = understand(text, self.storage.speakers(scope))
        if unasked and not worth_a_word(query, self.settings.whisper):
            return Recall(text, query.terms, (), (), affect, profile, now)
        if vector is None:
            vector = self.embedder.embed([query.meaning])[0]
        affect = felt(vector) if felt else affect
        damaged: set[str] = set()
        times = self._times(scope, text, where, now) if profile == "balanced" else ()
        with self.storage.snapshot():
            lane = self.boosts.lane(scope, session, now)
            found, degraded = self._found(scope, query, vector, max(2 * limit, self.settings.recall.pool), where)
            context = Context(query, self.storage.corpus(), affect, now, self.settings, times=times)
            near, far = shortlist(found, context, profile, max(4 * limit, self.settings.recall.shortlist))
            if profile == "balanced":
                near, far, context = self._surrounded(scope, near, far, vector, where, context)
                inside = (self._found(scope, query, vector, INSIDE, time.within(where))[0] for time in times)
                near, far = taken_in(near, far, chain.from_iterable(inside))
            near, far = self._joined(scope, near, far, lane, vector, where, damaged)
            ranked = rank(self._sketched(scope, near, damaged), context, profile)
            said = normal(text)
            again = {item.id for item in ranked if unasked and echoes(item.candidate.sketch, said)}
            ranked = [item for item in ranked if item.id not in again]
            first = first_of_kind(self.storage, scope, ranked, self.settings.whisper.alike) if unasked else {}
            sure = sureness(rivals(ranked, first), context) if unasked else None
            ranked = self._boosted(scope, ranked, lane, damaged)
            ranked, below = (ranked, {}) if sure is None else over_bar(ranked, sure, context, profile)
            ranked, more = varied(ranked, first) if unasked else (ranked, {})
            most = max(limit, self.settings.rerank.depth if self.reranker else 0) + (REPEATS if unasked else 0)
            entries = intact(lambda ids: self.storage.get(scope, ids), [item.id for item in ranked], damaged, most)
        again |= {id_ for id_, entry in entries.items() if unasked and normal(entry.text) == said}
        kept = [item for item in ranked if item.id not in damaged | again]
        if unasked:
            more |= said_again([_hit(item, entries[item.id], profile) for item in kept if item.id in entries])
            kept = [item for item in kept if item.id not in more]
        if self.reranker:
            texts = {item.id: _passage(item.candidate, entries[item.id].text) for item in kept if item.id in entries}
            kept, answered = reranked(self.reranker, query.text, kept, texts, self.settings.rerank.seconds)
            degraded += () if answered else (RERANKER,)
        hits = [_hit(item, entries[item.id], profile) for item in kept[:limit]]
        read = partial(intact, partial(self.storage.get, scope), damaged=damaged)
        around = self._around(scope, text, hits, vector, where, now, damaged) if associative else Neighbourhood()
        trimmed = [(n, item) for n, item in enumerate(kept, 1) if n > limit and item.id not in damaged]
        dropped = [Dropped(item.id, "trim", f"score {item.score:.3f} at place {n}") for n, item in trimmed]
        dropped += (Dropped(id_, "bar", reason) for id_, reason in below.items())
        dropped += (Dropped(id_, "bar", "says word for word what the turn says") for id_ in again)
        dropped += (Dropped(id_, "diversity", reason) for id_, reason in more.items())
        dropped += (Dropped(item.id, "shortlist", "too far down in both channels together") for item in far)
        dropped += (Dropped(id_, "checksum", "the stored row is damaged") for id_ in sorted(damaged))
        most = self.settings.recall.associated
        hits, dropped = around.hits(hits, profile, most), around.dropped(dropped, most)
        hits = with_window(self.storage, scope, hits, window, where, read) if window else hits
        spoken = tuple(map(str, times))
        return Recall(
            text, query.terms, tuple(hits), tuple(dropped), affect, profile, now, degraded, sure, times=spoken
        )

    def _times(self, scope: Scope, text: str, where: Where, now: datetime) -> tuple[Period, ...]:
        """The times that a text speaks of, in words or as those before or after an event that the memory knows."""
        settings = self.settings.recall
        said = periods(text, now) if settings.time else ()
        named = event(text) if settings.time and not said else None
        if named is None:
            return said
        query = understand(named.name, ())
        vector = self.embedder.embed([query.meaning])[0]
        with self.storage.snapshot():
            found, _ = self._found(scope, query, vector, settings.shortlist, replace(visible(where), kinds=KINDS))
            context = Context(query, self.storage.corpus(), Affect(), now, self.settings)
            known = shortlist(found, context, "balanced", 1)[0]
            sure = known and known[0].cosine + settings.keywords * keyword_part(known[0], context) >= settings.event
            sketches = self.storage.sketch(scope, [item.id for item in known]).values() if sure else ()
        return tuple(named.at(sketch.occurred_at, sketch.id) for sketch in sketches if sketch.occurred_at)

    def _surrounded(
        self,
        scope: Scope,
        near: list[Found],
        far: list[Found],
        vector: NDArray[np.float32],
        where: Where,
        context: Context,
    ) -> tuple[list[Found], list[Found], Context]:
        """The candidates and what stands next to the best of them: no channel may know it for an answer."""
        reach = [item.id for item in near[: self.settings.recall.reach]]
        beside = self.storage.beside(scope, reach, WINDOW, where) if self.settings.recall.neighbours else []
        others = {item.other for item in beside} - {item.id for item in near}
        found = {item.id: item for item in far if item.id in others}
        unknown = sorted(others - found.keys())
        try:
            cosines = self.storage.cosines(scope, unknown, vector)
        except Corrupt:  # logged when the vectors were searched
            cosines = {}
        new = [Found(id_, None, None, cosines.get(id_), None) for id_ in unknown]
        surroundings = Surroundings(beside, ordinary([*near, *far], context), normal(context.query.text))
        far = [item for item in far if item.id not in found]
        return [*near, *found.values(), *new], far, replace(context, surroundings=surroundings)

    def _joined(
        self,
        scope: Scope,
        near: list[Found],
        far: list[Found],
        lane: Lane,
        vector: NDArray[np.float32],
        where: Where,
        damaged: set[str],
    ) -> tuple[list[Found], list[Found]]:
        """What is ranked in full and what is not, when the entries that the session rewarded take part."""
        rewarded = set(lane.rewarded) - {item.id for item in near}
        if not rewarded:
            return near, far
        others = rewarded - {item.id for item in far}
        admitted = intact(lambda ids: self.storage.sketch(scope, ids, where), list(others), damaged)
        nearness = self._nearness(scope, list(admitted), vector)
        near = near + [item for item in far if item.id in rewarded]
        near += (Found(id_, None, None, nearness.get(id_), None) for id_ in admitted)
        return near, [item for item in far if item.id not in rewarded]

    def _boosted(self, scope: Scope, ranked: list[Ranked], lane: Lane, damaged: set[str]) -> list[Ranked]:
        """The candidates in the order that signals give them."""

        def words() -> dict[str, frozenset[str]]:
            read = partial(intact, partial(self.storage.get, scope), damaged=damaged)
            return self.boosts.words(scope, [item.id for item in ranked], read)

        gains = lane.parts([item.id for item in ranked], words)
        return by_score(item.plus(gains[item.id]) if item.id in gains else item for item in ranked) if gains else ranked

    def _nearness(self, scope: Scope, ids: Sequence[str], vector: NDArray[np.float32]) -> dict[str, Match]:
        try:
            return self.storage.cosines(scope, ids, vector)
        except Corrupt:  # logged when the vectors were searched
            return {}

    def _around(
        self,
        scope: Scope,
        text: str,
        hits: Sequence[Hit],
        vector: NDArray[np.float32],
        where: Where,
        now: datetime,
        damaged: set[str],
    ) -> Neighbourhood:
        """What comes up together with hits, and what the graph says of whom the text names, through the same filter."""

        def read(ids: Sequence[str]) -> dict[str, Entry]:
            return {entry.id: entry for entry in self.storage.find(scope, replace(where, ids=ids, not_channels=()))}

        web, known = AssociationWeb(self.storage, self.settings.associations), [hit.id for hit in hits]
        with self.storage.snapshot():
            named = seeds(self.storage, scope, text, now, self.settings.graph)
            most = REACHED * self.settings.recall.associated
            spread = web.spread(scope, known, now, limit=most)
            reached = combined([*(seed for seed in named if seed.id not in known), *spread])
            entries = intact(read, [item.id for item in reached], damaged)
            nearness = self._nearness(scope, list(entries), vector)
        return Neighbourhood([item for item in reached if item.id not in damaged], entries, nearness)

    def _found(
        self, scope: Scope, query: Query, vector: NDArray[np.float32], pool: int, where: Where
    ) -> tuple[list[Found], tuple[str, ...]]:
        near: list[Match] = []
        worded: list[Match] = []
        degraded: list[str] = []
        try:
            near = self.storage.nearest(scope, vector, pool, where)
        except Corrupt as error:
            logger.error("recalling by keywords alone: %s", error)
            degraded.append(VECTORS)
        try:
            worded = self.storage.matching(scope, query.terms, pool, where)
        except QueryTimeout:
            logger.warning("the keyword search took too long; recalling by meaning alone")
            degraded.append(KEYWORDS)
        vectors, keywords = _placed(near), _placed(worded)
        missing = [id_ for id_ in keywords if id_ not in vectors]
        others = self.storage.cosines(scope, missing, vector) if missing and VECTORS not in degraded else {}
        found = []
        for id_ in {**vectors, **keywords}:
            vector_rank, match = vectors.get(id_, (None, others.get(id_)))
            keyword_rank, keyword = keywords.get(id_, (None, None))
            found.append(Found(id_, keyword, keyword_rank, match, vector_rank))
        return found, tuple(degraded)

    def _sketched(self, scope: Scope, found: Sequence[Found], damaged: set[str]) -> list[Candidate]:
        sketches = intact(lambda ids: self.storage.sketch(scope, ids), [item.id for item in found], damaged)
        return [Candidate(sketches[item.id], *item[1:]) for item in found if item.id in sketches]


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


def _placed(matches: Sequence[Match]) -> dict[str, tuple[int, Match]]:
    return {match.id: (place, match) for place, match in enumerate(matches, 1)}


def _hit(item: Ranked, entry: Entry, profile: str) -> Hit:
    return Hit(entry, item.score, _passage(item.candidate, entry.text), item.explain(profile))


def _passage(candidate: Candidate, text: str) -> str:
    """The passage that speaks for the entry: the one of the channel that ranks the entry higher."""
    by_keyword = candidate.keyword_rank is not None and (
        candidate.vector_rank is None or candidate.keyword_rank < candidate.vector_rank
    )
    match = candidate.keyword if by_keyword else candidate.vector or candidate.keyword
    return text[match.start : match.end] if match else text
