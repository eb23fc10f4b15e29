"""Second step of a recall: both channels find entries, and the nearest by both together are to be ranked in full."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.embedding.identity import QueryVector
from tidal_plugins.english.times import Period
from tidal_plugins.errors import Corrupt, QueryTimeout
from tidal_plugins.model.entry import KINDS, Entry, Scope
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.boost import SessionSignals
from tidal_plugins.retrieval.candidates import Candidates, Reals, Rows, candidates
from tidal_plugins.retrieval.understand import Query, Question, visible
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.ranking import keyword_strength, reciprocal_rank
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Corpus, Storage, Where
from tidal_plugins.storage.columns.tables import Near
from tidal_plugins.storage.columns.view import Columns, Found
from tidal_plugins.storage.damage import ENTRIES, noticed

KEYWORDS, VECTORS = "keywords", "vectors"

PLACES = 2
"""Places before and after an entry in its thread that count as its neighbours."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pool:
    """The entries that take part in a recall: those ``near`` enough to be ranked in full, and the others.

    ``neighbours`` are pairs of entries that stand next to each other, ``None`` where context counts for nothing.
    ``floor`` is the nearness of an ordinary candidate: the median of all that the channels found. ``times`` are those
    of the question.
    """

    channels: Channels
    near: Candidates
    far: Candidates
    neighbours: Near | None
    floor: float
    times: Sequence[Period]


def search(storage: Storage, question: Question, feedback: SessionSignals, settings: Settings) -> Pool:
    """Find the best entries of each channel, and split them by how near both channels together say they are.

    Ranked in full are, too: the neighbours of the best, the nearest from each time that the question names, wherever
    they stand, and what the session rewarded most. The best by keywords of each time would change no answer on the
    development conversations. Call it inside a snapshot.
    """
    request, weights = question.request, settings[RecallTuning]
    columns, where = storage.columns(request.scope, whole=False), request.where
    channels = Channels(storage, request.scope, question.query, question.embedded, where, columns, question.corpus)
    times = question.times or event_times(channels, question, settings)
    found = channels.found(max(2 * request.limit, weights.pool), weights)
    nearness = _NEARNESS[request.profile](found, weights)
    order = np.argsort(-nearness, kind="stable")  # of equals the one that a channel found first
    size = max(4 * request.limit, weights.shortlist)
    near, far, floor, neighbours = found.take(order[:size]), found.take(order[size:]), 0.0, None
    more: list[Rows] = []
    if request.profile == "balanced":  # which alone scores entries by their context
        floor = _median(nearness[order]) if len(order) else 0.0
        neighbours = columns.near(near.rows[: weights.reach if weights.neighbours else 0], PLACES, where)
        more.append(neighbours.other)
    more += (channels.nearest(weights.reach, narrowed(where, time)).entries for time in times)
    if rewarded := feedback.rewarded:
        rows = columns.rows(sorted(set(rewarded)))
        rows = rows[rows >= 0]
        more.append(rows[columns.passes(rows, where)])
    near, far = _joined(channels, near, far, np.concatenate(more)) if more else (near, far)
    return Pool(channels, near, far, neighbours, floor, times)


def event_times(channels: Channels, question: Question, settings: Settings) -> Sequence[Period]:
    """Return the time before or after the event that a question names, as the nearest memory tells, if it is near
    enough."""
    request, weights = question.request, settings[RecallTuning]
    if question.event is None or question.event_query is None or question.event_vector is None:
        return ()
    about = replace(
        channels,
        query=question.event_query,
        embedded=question.event_vector,
        where=replace(visible(request.where), kinds=KINDS),
        damaged=set(),
        degraded=[],
    )
    found = about.found(weights.shortlist, weights)
    near = found.nearness(weights)
    if not len(near) or near.max() < weights.event:
        return ()
    told = about.entries(found.take([int(near.argmax())]).ids)
    return tuple(question.event.at(item.occurred_at.astimezone(settings.zone), id_) for id_, item in told.items())


def narrowed(where: Where, period: Period) -> Where:
    """Return a filter, narrowed to a time."""
    since = max(filter(None, (period.start, where.since)), default=None)
    return replace(where, since=since, until=min(filter(None, (period.end, where.until)), default=None))


def reciprocal(found: Candidates, settings: RecallTuning) -> Reals:
    """Return the reciprocal rank fusion of both channels."""
    fused: Reals = reciprocal_rank((found.keyword_rank, found.vector_rank), k=settings.rrf)
    return fused


@dataclass(frozen=True, slots=True)
class Channels:
    """The keyword channel and the vector channel of one store, for one query in one scope.

    Cosines are in units of the default embedder, whatever the store's embedder is.

    A row that cannot be read is left out and noted in ``damaged`` by its id. A channel that cannot answer is left out
    and noted in ``degraded``; if ``strict``, one that takes too long raises ``QueryTimeout``.
    """

    storage: Storage
    scope: Scope
    query: Query
    embedded: QueryVector
    where: Where
    columns: Columns
    corpus: Corpus
    damaged: set[str] = field(default_factory=set)
    known: dict[str, Entry] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    strict: bool = False

    def found(self, pool: int, settings: RecallTuning) -> Candidates:
        """Return the ``pool`` best of each channel, each with its cosine and its keyword strength."""
        near, worded = self.nearest(pool, self.where), self.matching(self.query.terms, pool, self.where)
        place = {row: place for place, row in enumerate(near.entries.tolist())}
        places = [place.setdefault(row, len(place)) for row in worded.entries.tolist()]
        rows = np.fromiter(place, np.int64, len(place))
        cosines, vectors = self.cosines(rows[len(near.entries) :])
        bm25, keyword, rank = np.zeros(len(rows)), np.full(len(rows), -1), np.zeros(len(rows), np.int64)
        strength = np.zeros(len(rows))
        bm25[places], keyword[places], rank[places] = worded.scores, worded.passages, 1 + np.arange(len(places))
        strength[places] = keyword_strength(
            worded.scores,
            words=self.columns.arrays.passages["words"][worded.passages],
            mean_words=self.corpus.mean_words,
            terms=len(self.query.terms),
            passages=self.corpus.passages,
            brevity=settings.brevity,
        )
        vector_rank = np.concatenate([1 + np.arange(len(near.entries)), np.zeros(len(cosines), np.int64)])
        return candidates(
            self.columns,
            rows,
            cosine=np.concatenate([near.scores, cosines]),
            vector=np.concatenate([near.passages, vectors]),
            vector_rank=vector_rank,
            strength=strength,
            keyword=keyword,
            keyword_rank=rank,
            bm25=bm25,
        )

    def nearest(self, limit: int, where: Where) -> Found:
        """Return the best of the vector channel, or none if the vectors cannot be read, or not in time."""
        if VECTORS in self.degraded:
            return Found.none()
        try:
            found = self.columns.nearest(self.embedded.vector, limit, where)
            return found._replace(scores=self.embedded.scale.of_question(found.scores))
        except QueryTimeout:
            if self.strict:
                raise
            self._without(VECTORS, "the search of the vectors took too long; recalling by keywords alone")
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
        return Found.none()

    def matching(self, words: Sequence[str], limit: int, where: Where) -> Found:
        """Return the best of the keyword channel, or none if it takes too long or cannot be read."""
        if KEYWORDS in self.degraded:
            return Found.none()
        try:
            return self.columns.matching(words, limit, where)
        except QueryTimeout:
            if self.strict:
                raise
            self._without(KEYWORDS, "the keyword search took too long; recalling by meaning alone")
        except Corrupt as error:
            self._without(KEYWORDS, f"recalling by meaning alone: {error}")
        return Found.none()

    def cosines(self, rows: Rows) -> tuple[Reals, Rows]:
        """Return the cosine of each entry and its best passage; 0 and −1 if the vectors cannot be read."""
        if VECTORS not in self.degraded and len(rows):
            try:
                cosines, passages = self.columns.cosines(self.embedded.vector, rows)
                return np.where(passages >= 0, self.embedded.scale.of_question(cosines), 0.0), passages
            except Corrupt as error:
                self._without(VECTORS, f"recalling by keywords alone: {error}")
        return np.zeros(len(rows)), np.full(len(rows), -1, np.int64)

    def units(self, passages: Rows) -> NDArray[np.float32] | None:
        """Return the vectors of passages, or ``None`` if they cannot be read."""
        if VECTORS in self.degraded:
            return None
        try:
            return self.columns.units(passages)
        except Corrupt as error:
            self._without(VECTORS, f"recalling by keywords alone: {error}")
            return None

    def entries(self, ids: Sequence[str], limit: int | None = None) -> dict[str, Entry]:
        """Return the first ``limit`` of ``ids`` that can be read."""
        return intact(self._read, ids, self.damaged, limit)

    def _read(self, ids: Sequence[str]) -> dict[str, Entry]:
        if missing := [id_ for id_ in ids if id_ not in self.known]:
            self.known.update(self.storage.get(self.scope, missing))
        return {id_: self.known[id_] for id_ in ids if id_ in self.known}

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


def _joined(channels: Channels, near: Candidates, far: Candidates, rows: Rows) -> tuple[Candidates, Candidates]:
    """Return both parts with more rows among the near. An entry that no channel found has a cosine and no rank."""
    there = set(near.rows.tolist())
    wanted = dict.fromkeys(row for row in rows.tolist() if row not in there)
    if not wanted:
        return near, far
    others = far.rows.tolist()
    known, beyond = np.array([row in wanted for row in others], bool), set(others)
    unknown = np.array([row for row in wanted if row not in beyond], np.int64)
    cosine, vector = channels.cosines(unknown)
    new = candidates(channels.columns, unknown, cosine=cosine, vector=vector)
    return near.followed(far.take(known), new), far.take(~known)


def _median(values: Reals) -> float:
    """Return the median, as ``numpy.median`` does, which loads ``numpy.ma`` first: 20 ms."""
    ordered, count = np.sort(values), len(values)
    return float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2)


_NEARNESS: Mapping[str, Callable[[Candidates, RecallTuning], Reals]] = {
    "balanced": Candidates.nearness,
    "tidal": lambda found, _: found.cosine,
    "attention": reciprocal,
}
