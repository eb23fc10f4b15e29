"""TidalRetriever: recalled memories as nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilters

from llama_index_tidal.filters import to_recall
from llama_index_tidal.place import Scope
from tidal_plugins import Entry, Hit, InvalidInput, Policy, Recall, TidalMemory
from tidal_plugins.model.filter import Filter
from tidal_plugins.model.recall import OWN
from tidal_plugins.retrieval.request import limit_of
from tidal_plugins.turns import Place, in_scope, session_config

LIMIT = 5
"""Nodes that are returned by default."""

OPTIONS = ("window", "hops", "associative", "as_of", "affect", "profile", "secrets")
"""Arguments of ``TidalMemory.recall`` besides its filters."""

TOLD = ("kind", "source", "speaker", "role", "occurred_at")
"""Metadata that a language model is shown with a node; the rest is for the program."""


class TidalRetriever(BaseRetriever):
    """Recalls up to ``limit`` memories for a query (or ``k``, which is the same; default: 5), best first.

    A node has the entry's id, the passage that matched best and the same keys of metadata each time. A short text is
    one passage; ``memory.get(node.node_id).text`` returns the whole text. The score of a node is the confidence of its
    hit, the chance that it helps, in [0, 1]; the order is that of recall, which knows more. ``filters`` are
    LlamaIndex's (see :func:`llama_index_tidal.filters.to_recall`). ``recall`` are filters of ``TidalMemory.recall``
    itself, such as ``kinds=``, ``since=`` or ``metadata={"draft": True}`` (a ``MetadataFilter`` refuses a bool).
    ``scope`` defaults to that of the memory. With a ``policy``, an ``agent`` and the ``thread`` of a chat, recall uses
    the signals of the chat's session, as in ``TidalChatMemory``.
    """

    def __init__(
        self,
        memory: TidalMemory,
        limit: int | None = None,
        *,
        k: int | None = None,
        filters: MetadataFilters | None = None,
        scope: Scope | None = None,
        policy: Policy | str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **recall: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._place = Place(in_scope(memory, scope), thread)
        self._limit = limit_of(k, limit) or LIMIT
        self._options = _joined(to_recall(filters), recall)
        self._config = session_config(self._place.memory, policy, agent, check_name=True)
        if (policy is None) != (thread is None):
            raise InvalidInput("policy= and thread= go together: the session of a chat, under a policy")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not query_bundle.query_str.strip():
            return []
        return self._found(query_bundle.query_str)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not query_bundle.query_str.strip():
            return []
        return await asyncio.to_thread(self._found, query_bundle.query_str)

    def _found(self, query: str) -> list[NodeWithScore]:
        options = self._options
        if self._config:
            options = {**options, "session": self._config.session(self._place)}
        return _nodes(self._place.memory.recall(query, limit=self._limit, **options))


def _joined(filters: Mapping[str, Any], recall: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(recall.keys() - {*Filter.__annotations__, *OPTIONS}):
        known = ", ".join([*Filter.__annotations__, *OPTIONS])
        raise InvalidInput(f"{', '.join(unknown)}: no such argument; known are limit, k, filters, {known}")
    if twice := sorted(filters.keys() & recall.keys()):
        raise InvalidInput(f"filters= and {', '.join(twice)}= filter by the same; give one of them")
    return {**filters, **recall}


def _nodes(recall: Recall) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(hit), score=hit.confidence) for hit in recall]


def _node(hit: Hit) -> TextNode:
    metadata, told = _metadata(hit.entry), set(TOLD)
    if hit.origin != OWN:  # a peer's memory is somebody else's
        metadata["origin"] = hit.origin
        told.add("origin")
    hidden = [key for key in metadata if key not in told]
    return TextNode(
        id_=hit.id,
        text=hit.passage,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
    )


def _metadata(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry that do not depend on a query. They replace its own metadata of the same name."""
    known = {
        "kind": entry.kind,
        "citation": entry.citation,
        "occurred_at": entry.occurred_at.isoformat(),
        "thread": entry.thread,
        "source": entry.source,
        "speaker": entry.speaker,
        "role": entry.role,
        "tags": list(entry.tags),
    }
    return {**entry.metadata, **{key: value for key, value in known.items() if value not in (None, [])}}
