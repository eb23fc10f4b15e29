"""Stage ``search``: both channels find entries, and the nearest by both together are to be ranked in full."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.errors import Corrupt, QueryTimeout
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.candidates import Candidates, candidates
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.understand import Query
from tidal_plugins.scoring.fusion import keyword_strength, reciprocal_rank
from tidal_plugins.storage.base import Corpus, Storage, Where
from tidal_plugins.storage.columns.view import Columns, Found
from tidal_plugins.storage.damage import ENTRIES, noticed
from tidal_plugins.tuning import RecallTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.retrieval.candidates import Reals, Rows

KEYWORDS = "keywords"
VECTORS = "vectors"

logger = logging.getLogger(__name__)

T = TypeVar("T")


def search(state: State) -> None:
    """Find the best entries of each channel, and split them by how near both channels together say they are."""
    import numpy as np

    request, settings, storage = state.request, state.settings.recall, state.store.storage
    columns, corpus = storage.columns(request.scope), state.statistics.corpus
    vector = state.embedded.vector
    state.channels = Channels(storage, request.scope, state.query, vector, request.where, columns, corpus)
    found = state.channels.found(max(2 * request.limit, settings.pool), settings)
    near = _NEARNESS[request.profile](found, settings)
    order = np.argsort(-near, kind="stable")  # of equals the one that a channel found first
    size = max(4 * request.limit, settings.shortlist)
    state.near, state.far = found.take(order[:size]), found.take(order[size:])


def join(state: State, rows: Rows) -> None:
    """Let entries be ranked in full, too. An entry that no channel found has a cosine and no rank."""
    import numpy as np

    near = set(state.near.rows.tolist())
    wanted = dict.fromkeys(row for row in rows.tolist() if row not in near)
    if not wanted:
        return
    far = state.far.rows.tolist()
    known, beyond = np.array([row in wanted for row in far], bool), set(far)
    unknown = np.array([row for row in wanted if row not in beyond], np.int64)
    cosine, vector = state.channels.cosines(unknown)
    new = candidates(state.channels.columns, unknown, cosine=cosine, vector=vector)
    state.near = state.near.followed(state.far.take(known), new)
    state.far = state.far.take(~known)


def reciprocal(found: Candidates, settings: RecallTuning) -> Reals:
    """Return the reciprocal rank fusion of both channels."""
    fused: Reals = reciprocal_rank((found.keyword_rank, found.vector_rank), k=settings.rrf)
    return fused


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
    columns: Columns
    corpus: Corpus
    damaged: set[str] = field(default_factory=set)
    known: dict[str, Entry] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    strict: bool = False

    def found(self, pool: int, settings: RecallTuning) -> Candidates:
        """Return the ``pool`` best of each channel, each with its cosine and its keyword strength."""
        import numpy as np

        arrays = self.columns.arrays
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
            words=arrays.passages["words"][worded.passages],
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
            return self.columns.nearest(self.vector, limit, where)
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
        import numpy as np

        if VECTORS not in self.degraded and len(rows):
            try:
                return self.columns.cosines(self.vector, rows)
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


_NEARNESS: dict[str, Callable[[Candidates, RecallTuning], Reals]] = {
    "balanced": Candidates.nearness,
    "tidal": lambda found, _: found.cosine,
    "attention": reciprocal,
}
