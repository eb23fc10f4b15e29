"""TidalGraphRetriever: what a memory has learned of entities and relations, as nodes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from llama_index_tidal.place import Scope
from tidal_plugins import TidalMemory
from tidal_plugins.aio import in_thread
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.render import QUOTES, RankedRelation, quoted, related
from tidal_plugins.model.graph import Relation
from tidal_plugins.turns import in_scope

SHOWN = ("evidence",)
"""Metadata that a language model is shown with a relation; the rest is for the program."""


class TidalGraphRetriever(BaseRetriever):
    """Returns up to ``limit`` relations around the entities that a query names, best first, each with its quotations.

    The text of a node is the relation as a sentence, its id the relation's, its source the newest episode that says so.
    ``metadata`` has ``subject``, ``predicate``, ``object`` (ids of entities), ``confidence``, ``evidence`` (up to three
    quotations with citations, newest first), ``episodes``, and the times in ISO 8601. ``depth`` is the number of
    relations to follow from a named entity. ``valid_at`` and ``believed_at`` ask for relations that were true, or
    believed, at a time. ``scope`` defaults to that of the memory.
    """

    def __init__(
        self,
        memory: TidalMemory,
        limit: int = 10,
        *,
        depth: int = 1,
        predicate: str | None = None,
        valid_at: datetime | None = None,
        believed_at: datetime | None = None,
        scope: Scope | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._graph = in_scope(memory, scope).graph
        self._options: dict[str, Any] = {
            "limit": limit,
            "depth": depth,
            "predicate": predicate,
            "valid_at": valid_at,
            "believed_at": believed_at,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _found(self._graph, query_bundle.query_str, self._options)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await in_thread(_found)(self._graph, query_bundle.query_str, self._options)


def _found(graph: KnowledgeGraph, question: str, options: Mapping[str, Any]) -> list[NodeWithScore]:
    if not question.strip():
        return []
    return [NodeWithScore(node=_node(graph, told), score=told.score) for told in related(graph, question, **options)]


def facts(relation: Relation) -> dict[str, Any]:
    """Return a relation as metadata of plain values."""
    times = {
        "valid_from": relation.valid_from,
        "valid_until": relation.valid_until,
        "recorded_at": relation.recorded_at,
        "superseded_at": relation.superseded_at,
    }
    return {
        "subject": relation.subject,
        "predicate": relation.predicate,
        "object": relation.object,
        "negated": relation.negated,
        "confidence": relation.confidence,
        "episodes": list(relation.episodes),
        **{name: time.isoformat() for name, time in times.items() if time},
    }


def _node(graph: KnowledgeGraph, told: RankedRelation) -> TextNode:
    evidence = [quoted(each) for each in graph.evidence(told.relation)[:QUOTES]]
    metadata = {**facts(told.relation), "evidence": evidence}
    episodes = [RelatedNodeInfo(node_id=id_) for id_ in told.relation.episodes[:1]]
    return TextNode(
        id_=told.relation.id,
        text=told.sentence,
        metadata=metadata,
        relationships=dict(zip([NodeRelationship.SOURCE], episodes, strict=False)),
        excluded_llm_metadata_keys=[key for key in metadata if key not in SHOWN],
        excluded_embed_metadata_keys=list(metadata),
    )
