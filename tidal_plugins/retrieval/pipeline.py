"""The read path: ``understand → search → rank → select → result`` over one store [Tidal §2.3], [Anamnesis].

Each step is a function that takes the values of those before it and returns its own. Reading writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.model.recall import Recall
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.rank import rank
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.rerank import RERANKER, reranked
from tidal_plugins.retrieval.result import result, with_windows
from tidal_plugins.retrieval.search import Pool, search
from tidal_plugins.retrieval.select import for_recall, for_whisper, is_small_talk
from tidal_plugins.retrieval.understand import Question, to_query, understand
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import ENTRIES, noticed
from tidal_plugins.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Answer:
    """A recall of one store, and the question as it was understood there: ``None`` for small talk."""

    recall: Recall
    question: Question | None


@dataclass(frozen=True, slots=True)
class Recaller:
    """One store, asked without its peers."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Tuning
    boosts: Boosts
    reranker: Reranker | None = None

    def recall(self, request: Request) -> Recall:
        """Return the entries that rank highest, and why the other candidates fell out."""
        return self.answer(request).recall

    def whisper(self, request: Request) -> Recall:
        """Return the entries to show in a whisper, and why the other candidates fell out."""
        return self.answer(request, whispers=True).recall

    def answer(self, request: Request, *, whispers: bool = False) -> Answer:
        """Return what the store brings up for a request, and how it was understood.

        Damaged rows that were left out are told in ``degraded``, by their tables; damaged candidates are among
        ``dropped``.
        """
        with noticed() as left_out:
            answer = self._answer(request, whispers)
        recall = answer.recall
        told = {item.id for item in recall.dropped} if left_out else set()
        tables = [row.table for row in left_out if row.table != ENTRIES or row.name not in told]
        if not tables:
            return answer
        degraded = (*recall.degraded, *(f"damaged {table}" for table in dict.fromkeys(tables)))
        return replace(answer, recall=replace(recall, degraded=degraded))

    def _answer(self, request: Request, whispers: bool) -> Answer:
        storage, settings = self.storage, self.settings
        statistics = storage.statistics(request.scope)
        query = to_query(request.text, statistics.speakers)
        if whispers and is_small_talk(query, settings.whisper):
            nothing = Recall(request.text, query.terms, (), (), request.affect, request.profile, request.now)
            return Answer(nothing, None)
        question = understand(request, query, statistics.corpus, self.embedder, settings)
        depth = max(request.limit, settings.rerank.depth if self.reranker else 0)
        with storage.snapshot():
            question = question.current(self.embedder)
            today = request.where.known_at is None
            signals = self.boosts.signals(request.scope, request.session, request.now, shared=today)
            pool = search(storage, question, signals, settings)
            ranked, select = rank(pool, question, settings), for_whisper if whispers else for_recall
            selection = select(ranked, pool, question, signals, self.boosts, settings, depth)
        order, degraded = None, pool.channels.degraded
        if self.reranker and (texts := selection.texts):
            order = reranked(self.reranker, query.text, texts, selection.ranked, settings.rerank.seconds)
            degraded = degraded if order else [*degraded, RERANKER]
        selection = selection.newest_first(order or selection.ranked)
        recall = result(selection, pool, question, degraded)
        if whispers:
            from tidal_plugins.retrieval.units import with_units

            return Answer(with_units(recall, question, settings.whisper), question)
        recall = self._associated(recall, pool, question) if request.associative else recall
        return Answer(with_windows(recall, pool.channels, request.window), question)

    def _associated(self, recall: Recall, pool: Pool, question: Question) -> Recall:
        """Return a recall with the entries that its hits lead to. The graph's modules load when one is asked for."""
        from tidal_plugins.retrieval.associate import add_associations

        with self.storage.snapshot():  # another one than that of the candidates
            vector = question.current(self.embedder).embedded.vector
            channels = replace(pool.channels, vector=vector, columns=self.storage.columns(question.request.scope))
            return add_associations(recall, channels, question.request.now, self.settings)
