"""The read path: a turn in, the memories that it brings up out. It writes nothing [Tidal §2.3], [Anamnesis]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.english.times import Period, event, periods
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import KINDS, Entry
from tidal_plugins.model.recall import Dropped, Hit, Recall
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.bar import over_bar, sureness, worth_a_word
from tidal_plugins.retrieval.diversity import first_of_kind, rivals, said_again, varied
from tidal_plugins.retrieval.expansion import around
from tidal_plugins.retrieval.query import understand
from tidal_plugins.retrieval.rank import (
    Candidate,
    Context,
    Ranked,
    by_score,
    keyword_part,
    ordinary,
    rank,
    shortlist,
)
from tidal_plugins.retrieval.request import Request, visible
from tidal_plugins.retrieval.rerank import RERANKER, reranked
from tidal_plugins.retrieval.search import Search, Split
from tidal_plugins.retrieval.surroundings import Surroundings, echoes
from tidal_plugins.retrieval.window import with_window
from tidal_plugins.scoring.text import normal
from tidal_plugins.sessions.boost import Boosts, Lane
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import Tuning

REPEATS = 5
"""Entries that may say word for word what the turn says, and so are news to nobody, before a whisper loses a place."""


@dataclass(frozen=True, slots=True)
class Recaller:
    """One store, seen from the read path."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Tuning
    boosts: Boosts
    reranker: Reranker | None = None

    def recall(self, request: Request) -> Recall:
        """Return the entries that rank highest, and why the other candidates fell out."""
        query = understand(request.text, self.storage.statistics(request.scope).speakers)
        if request.unasked and not worth_a_word(query, self.settings.whisper):
            return Recall(request.text, query.terms, (), (), request.affect, request.profile, request.now)
        vector = self.embedder.embed([query.meaning])[0] if request.vector is None else request.vector
        affect = request.felt(vector) if request.felt else request.affect
        search = Search(self.storage, request.scope, query, vector, request.where)
        times = self._times(request) if request.profile == "balanced" else ()
        return _Recalling(self, request, search, affect, times).made()

    def _times(self, request: Request) -> tuple[Period, ...]:
        """The times that a text speaks of, in words or as those before or after an event that the memory knows."""
        settings = self.settings.recall
        said = periods(request.text, request.now) if settings.time else ()
        named = event(request.text) if settings.time and not said else None
        if named is None:
            return said
        query, where = understand(named.name, ()), replace(visible(request.where), kinds=KINDS)
        search = Search(self.storage, request.scope, query, self.embedder.embed([query.meaning])[0], where)
        with self.storage.snapshot():
            context = Context(
                query, self.storage.statistics(request.scope).corpus, Affect(), request.now, self.settings
            )
            known, _ = shortlist(search.found(settings.shortlist), context, "balanced", 1)
            sure = known and known[0].cosine + settings.keywords * keyword_part(known[0], context) >= settings.event
            told = search.sketched(known) if sure else []
        return tuple(named.at(time, item.sketch.id) for item in told if (time := item.sketch.occurred_at))


@dataclass(slots=True)
class _Recalling:
    """One recall under way. ``dropped`` holds by id what fell out, in the order of the stages."""

    recaller: Recaller
    request: Request
    search: Search
    affect: Affect
    times: Sequence[Period]
    sure: float | None = None
    dropped: dict[str, Dropped] = field(default_factory=dict)

    def made(self) -> Recall:
        request, search, recaller = self.request, self.search, self.recaller
        with recaller.storage.snapshot():
            today = request.where.known_at is None
            lane = recaller.boosts.lane(request.scope, request.session, request.now, shared=today)
            (near, far), context = self._candidates(lane)
            ranked = rank(search.sketched(near), context, request.profile)
            ranked = self._surfacing(ranked, lane, context) if request.unasked else self._boosted(ranked, lane)
            kept, entries = self._news(ranked) if request.unasked else self._read(ranked, self._most)
        kept = self._reranked(kept, entries)
        hits = [_hit(item, entries[item.id], request.profile) for item in kept[: request.limit]]
        beyond = enumerate(kept[request.limit :], request.limit + 1)
        trimmed = [Dropped(item.id, "trim", f"score {item.score:.3f} at place {place}") for place, item in beyond]
        self._drop("shortlist", ((item.id, "too far down in both channels together") for item in far))
        self.dropped |= {item.id: item for item in search.unreadable()}
        recall = Recall(
            query=request.text,
            words=search.query.terms,
            hits=tuple(hits),
            dropped=(*trimmed, *self.dropped.values()),
            affect=self.affect,
            profile=request.profile,
            at=request.now,
            degraded=tuple(search.degraded),
            assurance=self.sure,
            times=tuple(map(str, self.times)),
        )
        recall = around(search, recall, request.now, recaller.settings) if request.associative else recall
        return with_window(search, recall, request.window) if request.window else recall

    def _candidates(self, lane: Lane) -> tuple[Split, Context]:
        """What is ranked in full, what is not, and what the order depends on beside them."""
        request, search, recaller = self.request, self.search, self.recaller
        settings = recaller.settings.recall
        corpus = recaller.storage.statistics(request.scope).corpus
        context = Context(search.query, corpus, self.affect, request.now, recaller.settings, times=self.times)
        found = search.found(max(2 * request.limit, settings.pool))
        split = shortlist(found, context, request.profile, max(4 * request.limit, settings.shortlist))
        if request.profile == "balanced":
            floor = ordinary(*split, context)
            split, beside = search.with_beside(split, settings.reach if settings.neighbours else 0)
            surroundings = Surroundings(beside, floor, normal(search.query.text))
            context = replace(context, surroundings=surroundings)
            split = search.with_times(split, self.times, settings.reach)
        return search.with_rewarded(split, lane.rewarded), context

    def _surfacing(self, ranked: Sequence[Ranked], lane: Lane, context: Context) -> list[Ranked]:
        """What of a ranking is worth a word that nobody asked for."""
        settings, said = self.recaller.settings.whisper, normal(self.request.text)
        again = {item.id for item in ranked if echoes(item.candidate.sketch, said)}
        ranked = [item for item in ranked if item.id not in again]
        first = first_of_kind(self.recaller.storage, self.request.scope, ranked, settings.alike)
        self.sure = sureness(rivals(ranked, first), context)
        boosted = self._boosted(ranked, lane)
        over, below = over_bar(boosted, self.sure, context, self.request.profile)
        surfacing, more = varied(over, first)
        self._drop("bar", below.items())
        self._drop("bar", ((id_, "says word for word what the turn says") for id_ in sorted(again)))
        self._drop("diversity", more.items())
        return surfacing

    def _boosted(self, ranked: list[Ranked], lane: Lane) -> list[Ranked]:
        """The candidates in the order that signals give them."""
        ids = [item.id for item in ranked]
        words = self.recaller.boosts.words
        gains = lane.parts(ids, lambda: words(self.request.scope, ids, self.search.entries))
        return by_score(item.plus(gains[item.id]) if item.id in gains else item for item in ranked) if gains else ranked

    def _read(self, ranked: Sequence[Ranked], most: int) -> tuple[list[Ranked], dict[str, Entry]]:
        """A ranking without what is damaged among its first, and the entries of so many of these."""
        entries = self.search.entries([item.id for item in ranked], most)
        return [item for item in ranked if item.id not in self.search.damaged], entries

    def _news(self, ranked: Sequence[Ranked]) -> tuple[list[Ranked], dict[str, Entry]]:
        """Without what says what the turn says, or again what something before it says; and the entries of as many as
        that takes."""
        said, profile, most = normal(self.request.text), self.request.profile, self._most
        while True:
            whole, entries = self._read(ranked, most)
            again = [id_ for id_, entry in entries.items() if normal(entry.text) == said]
            others = [item for item in whole if item.id not in again]
            more = said_again([_hit(item, entries[item.id], profile) for item in others if item.id in entries])
            kept = [item for item in others if item.id not in more]
            if most >= len(ranked) or all(item.id in entries for item in kept[: self.request.limit]):
                break
            most *= 2
        self._drop("bar", ((id_, "says word for word what the turn says") for id_ in sorted(again)))
        self._drop("diversity", more.items())
        return kept, entries

    def _reranked(self, ranked: list[Ranked], entries: dict[str, Entry]) -> list[Ranked]:
        """The candidates in the reranker's order, where there is one that gives it in time."""
        reranker, seconds = self.recaller.reranker, self.recaller.settings.rerank.seconds
        if reranker is None:
            return ranked
        texts = {item.id: _passage(item.candidate, entries[item.id].text) for item in ranked if item.id in entries}
        order, answered = reranked(reranker, self.search.query.text, ranked, texts, seconds)
        self.search.degraded.extend(() if answered else (RERANKER,))
        return order

    @property
    def _most(self) -> int:
        """How many entries are read of a ranking."""
        depth = self.recaller.settings.rerank.depth if self.recaller.reranker else 0
        return max(self.request.limit, depth) + (REPEATS if self.request.unasked else 0)

    def _drop(self, stage: str, reasons: Iterable[tuple[str, str]]) -> None:
        self.dropped |= {id_: Dropped(id_, stage, reason) for id_, reason in reasons}


def _hit(item: Ranked, entry: Entry, profile: str) -> Hit:
    return Hit(entry, item.score, _passage(item.candidate, entry.text), item.explain(profile))


def _passage(candidate: Candidate, text: str) -> str:
    """The passage that speaks for the entry: the one of the channel that ranks the entry higher."""
    by_keyword = candidate.keyword_rank is not None and (
        candidate.vector_rank is None or candidate.keyword_rank < candidate.vector_rank
    )
    match = candidate.keyword if by_keyword else candidate.vector or candidate.keyword
    return text[match.start : match.end] if match else text
