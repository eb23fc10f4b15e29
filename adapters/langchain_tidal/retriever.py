"""TidalRetriever: a memory as a LangChain retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import ConfigDict, Field

from langchain_tidal.run import Scope, named_faults, place_of
from tidal_plugins import Hit, InvalidInput, Policy, TidalMemory
from tidal_plugins.graph.render import evidence_of, quoted
from tidal_plugins.model.entry import GRAPH_CHANNEL, STATED_CHANNEL
from tidal_plugins.retrieval.understand import limit_of
from tidal_plugins.turns import Place, entry_metadata, in_scope, searching, session_config
from tidal_plugins.validation import check_flag

FILTERS = {
    "kinds": "kinds",
    "threads": "threads",
    "speakers": "speakers",
    "sources": "sources",
    "since": "since",
    "until": "until",
    "include_archived": "include_archived",
    "profile": "profile",
    "entry_tags": "tags",
    "entry_metadata": "metadata",
}
"""This retriever's names for the filters of ``TidalMemory.recall``."""

OPTIONS = ("k", "limit", "scope", "everything")
"""What else a call may give."""


class TidalRetriever(BaseRetriever):
    """Returns the entries that recall finds for a query, best first, without a threshold.

    ``TidalRetriever(memory, k=5, kinds={"kb"})`` searches documents only. Turns that only ask, thank or acknowledge,
    such as «Noted.» and earlier questions, are left out, and others take their places; ``everything=True`` returns
    them, too.

    The ``page_content`` of a document is the passage that matched best; a short text is one passage.
    ``memory.get(document.id).text`` returns the whole text. ``metadata`` has ``kind``, ``citation``, ``occurred_at``
    (ISO 8601), ``tags``, ``importance`` and ``origin``. It has ``source``, ``thread``, ``speaker``, ``role`` and
    ``episode`` if they are known, and the entry's own metadata. Facts from the graph (``kinds={"fact"}``) also have
    ``evidence``: up to three supporting quotations, newest first, each with the citation of its episode.

    Nothing of a document depends on the query but the choice of the passage, so that ``MultiQueryRetriever`` and
    ``EnsembleRetriever`` know the same memory when two queries find it. ``search_with_scores`` returns each document
    with its score. With ``scores=True``, ``metadata`` also has ``relevance_score``, the same score, and ``why``. The
    score is the confidence of the hit: the chance in [0, 1] that it helps, whatever else was found.

    ``k`` (or ``limit``, which is the same) and the filters are those of ``TidalMemory.recall``, and each call may
    override them: ``invoke(query, k=3, since=…)``. What a vector store takes as ``search_kwargs`` are fields here. The
    fields ``tags`` and ``metadata`` are LangChain's, for tracing; ``entry_tags`` and ``entry_metadata`` filter by those
    of the entries. ``scope`` is a tuple, or a function of the run's context and config. With a ``policy`` and an
    ``agent``, recall uses the signals of the thread's session, as in ``TidalMemoryMiddleware``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: TidalMemory = Field(exclude=True, repr=False)
    scope: Scope | None = Field(None, exclude=True)
    k: int | None = None
    limit: int | None = None
    scores: bool = False
    everything: bool = False
    kinds: frozenset[str] | None = None
    threads: frozenset[str] | None = None
    speakers: frozenset[str] | None = None
    sources: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_archived: bool = False
    profile: str | None = None
    entry_tags: frozenset[str] | None = None
    entry_metadata: Mapping[str, str | int | float | bool | None] | None = None
    policy: Policy | str | None = Field(None, exclude=True)
    agent: str | None = None

    def __init__(self, memory: TidalMemory, **fields: Any) -> None:
        with named_faults(type(self)):
            super().__init__(memory=memory, **fields)  # pydantic's own would refuse a position
        limit_of(self.k, self.limit)
        session_config(memory, self.policy, self.agent)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        return super().invoke(input, config, place=self._place(config), **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        return await super().ainvoke(input, config, place=self._place(config), **kwargs)

    def search_with_scores(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return what ``invoke`` does, each document with the chance in [0, 1] that it helps.

        The order is that of recall, which knows more than the score tells. It takes the arguments of ``invoke``, and no
        callback hears of it.
        """
        limit = limit_of(kwargs.pop("k", None), kwargs.pop("limit", None))
        return self._scored(query, limit, {**kwargs, "place": self._place(config)})

    async def asearch_with_scores(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do what ``search_with_scores`` does, without holding up the event loop."""
        limit, place = limit_of(kwargs.pop("k", None), kwargs.pop("limit", None)), self._place(config)
        return await asyncio.to_thread(self._scored, query, limit, {**kwargs, "place": place})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        return self._found(query, limit_of(k, limit), filters)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, limit_of(k, limit), filters)

    def _found(self, query: str, limit: int | None, filters: dict[str, Any]) -> list[Document]:
        return [document for document, _ in self._scored(query, limit, filters)]

    def _scored(self, query: str, limit: int | None, filters: dict[str, Any]) -> list[tuple[Document, float]]:
        memory, asked = self._asked(limit, filters)
        try:
            hits = searching.recall(memory, query, **asked)
        except InvalidInput as error:
            raise _in_our_names(error) from error
        return [(_document(memory, hit, self.scores), hit.confidence) for hit in hits]

    def _place(self, config: RunnableConfig | None) -> Place:
        return place_of(self.memory, self.scope, ensure_config(config))

    def _asked(self, limit: int | None, given: dict[str, Any]) -> tuple[TidalMemory, dict[str, Any]]:
        """Return the memory in the scope of this call, and the arguments of its recall except the query."""
        place, scope = given.pop("place", None) or self._place(None), given.pop("scope", None)
        memory = in_scope(self.memory, scope) if scope else place.memory
        given.pop("verbose", None)  # LangChain's
        everything = check_flag(given.pop("everything", self.everything), "everything")
        if unknown := sorted(given.keys() - FILTERS.keys()):
            raise InvalidInput(f"{', '.join(unknown)}: no such filter; known are {', '.join((*OPTIONS, *FILTERS))}")
        filters = {ours: given.get(name, getattr(self, name)) for name, ours in FILTERS.items()}
        if rules := session_config(memory, self.policy, self.agent):
            filters["session"] = rules.session(replace(place, memory=memory))
        return memory, {
            "limit": limit_of(self.k, self.limit) if limit is None else limit,
            "everything": everything,
            **filters,
        }


def _in_our_names(error: InvalidInput) -> InvalidInput:
    """Return an error of recall with the name that a filter has here: ``entry_tags`` for ``tags``."""
    name, space, rest = str(error).partition(" ")
    ours = next((mine for mine, theirs in FILTERS.items() if theirs == name), name)
    return type(error)(f"{ours}{space}{rest}")


def _document(memory: TidalMemory, hit: Hit, scores: bool) -> Document:
    document = to_document(hit, scores=scores)
    if hit.entry.channel in (GRAPH_CHANNEL, STATED_CHANNEL):
        document.metadata["evidence"] = [quoted(each) for each in evidence_of(memory.graph, hit.entry)]
    return document


def to_document(hit: Hit, *, scores: bool) -> Document:
    """Return a hit as a document: its passage, its id, its known metadata and, with ``scores``, why it was found."""
    entry = hit.entry
    metadata = {
        **entry_metadata(entry),
        **({} if entry.episode is None else {"episode": entry.episode}),
        "tags": list(entry.tags),
        "importance": entry.importance,
        "origin": hit.origin,
    }
    if scores:
        metadata |= {"relevance_score": hit.confidence, "why": str(hit.why)}
    return Document(id=hit.id, page_content=hit.passage, metadata=metadata)
