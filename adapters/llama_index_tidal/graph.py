"""The graph of a memory: relations as nodes, and a store for LlamaIndex's own property graph index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Triplet,
)
from llama_index.core.graph_stores.types import Relation as Edge
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from llama_index_tidal.place import Scope
from tidal_plugins import Episode, InvalidInput, NotFound, TidalMemory
from tidal_plugins.aio import in_thread
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.queries import entities_of
from tidal_plugins.graph.render import QUOTES, RankedRelation, quoted, related
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.model.transcript import transcript
from tidal_plugins.shown import shown
from tidal_plugins.turns import in_scope
from tidal_plugins.validation import labels

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


class TidalPropertyGraphStore(PropertyGraphStore):
    """A memory's graph, read-only: ``PropertyGraphIndex.from_existing(TidalPropertyGraphStore(memory))``.

    Relations are learned from episodes, and each rests on one, so writing here raises ``InvalidInput``. An entity is an
    ``EntityNode`` under its name, with its type as the label. ``properties`` has its ``entity_id``, ``category``,
    ``aliases`` and the newest episode that says so. ``get`` takes names, ids of entities, and ids of episodes; episodes
    are returned as ``ChunkNode``s with the turn verbatim. Only relations that are true and believed now are read.
    ``memory.graph`` and ``TidalGraphRetriever`` also read other times, and search by words. ``scope`` defaults to that
    of the memory.
    """

    supports_structured_queries = False
    supports_vector_queries = False

    def __init__(self, memory: TidalMemory, *, scope: Scope | None = None) -> None:
        self._memory = in_scope(memory, scope)

    @property
    def client(self) -> TidalMemory:
        return self._memory

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """Return nodes with one of ``ids`` and any of ``properties``; of neither, every entity."""
        if ids is None:
            nodes: list[LabelledNode] = [_entity(entity) for entity in self._memory.graph.entities()]
        else:
            nodes = [node for id_ in dict.fromkeys(labels(ids, "ids")) if (node := self._node(id_))]
        return [node for node in nodes if not properties or _has(node.properties, properties)]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Return relations of one of ``entity_names`` and one of ``ids``, with one of ``relation_names`` and any of
        ``properties``; of nothing, none."""
        entity_names, relation_names, ids = (
            None if given is None else [*labels(given, name)]
            for given, name in (
                (entity_names, "entity_names"),
                (relation_names, "relation_names"),
                (ids, "ids"),
            )
        )
        if properties is not None and not isinstance(properties, dict):
            raise InvalidInput(f"properties must be a mapping, got {shown(properties)}")
        if not (entity_names or relation_names or properties or ids):
            return []
        triplets = self._triplets(self._relations(_joint(entity_names, ids), relation_names))
        return [each for each in triplets if not properties or any(_has(part.properties, properties) for part in each)]

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """Return up to ``limit`` relations within ``depth`` of the nodes, the nearest first."""
        found: dict[str, Relation] = {}
        for node in graph_nodes:
            entity = self._known(node.properties.get("entity_id") or node.id)
            if entity and depth:
                found |= {each.id: each for each in self._memory.graph.relations(about=entity.id)}
            for neighbour in self._memory.graph.neighbours(entity.id, depth, limit=limit) if entity else ():
                found |= {relation.id: relation for relation in neighbour.path}
        ignored = set(ignore_rels or ())
        return self._triplets([each for each in found.values() if each.predicate not in ignored])[:limit]

    def get_schema(self, refresh: bool = False) -> dict[str, list[str]]:
        """Return the types of entities and the predicates that there are."""
        graph = self._memory.graph
        return {
            "entities": sorted({entity.type for entity in graph.entities()}),
            "relations": sorted({relation.predicate for relation in graph.relations()}),
        }

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> NoReturn:
        raise _learned()

    def upsert_relations(self, relations: list[Edge]) -> NoReturn:
        raise _learned()

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> NoReturn:
        raise InvalidInput("what was learned goes with the episodes that say it: memory.forget(id)")

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> NoReturn:
        raise NotImplementedError('no query language: memory.graph.export("cypher") goes to a database that has one')

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("another model's vectors mean nothing here: use TidalGraphRetriever")

    def _node(self, id_: str) -> LabelledNode | None:
        """Return the entity with this name or id, or the episode with this id."""
        if entity := self._known(id_):
            return _entity(entity)
        try:
            return _chunk(self._memory.episodes[id_])
        except (InvalidInput, NotFound):
            return None

    def _known(self, name: str) -> Entity | None:
        try:
            return self._memory.graph.entity(name)
        except (InvalidInput, NotFound):
            return None

    def _relations(self, names: Sequence[str] | None, predicates: Sequence[str] | None) -> list[Relation]:
        graph = self._memory.graph
        if names is None:
            given: Sequence[str | None] = predicates or [None]
            return [each for predicate in given for each in graph.relations(predicate=predicate)]
        found: dict[str, Relation] = {}
        for entity in filter(None, map(self._known, dict.fromkeys(names))):
            found |= {relation.id: relation for relation in graph.relations(about=entity.id)}
        return [each for each in found.values() if not predicates or each.predicate in predicates]

    def _triplets(self, relations: Iterable[Relation]) -> list[Triplet]:
        said = [relation for relation in relations if not relation.negated]  # a triplet cannot say so
        known = entities_of(self._memory.graph, said)
        triplets: list[Triplet] = []
        for relation in said:
            if relation.subject not in known or relation.object not in known:
                continue  # forgotten meanwhile
            subject, object_ = (_entity(known[id_], relation) for id_ in (relation.subject, relation.object))
            edge = Edge(
                label=relation.predicate,
                source_id=subject.id,
                target_id=object_.id,
                properties={"relation_id": relation.id, **facts(relation)},
            )
            triplets.append((subject, edge, object_))
        return triplets


def _entity(entity: Entity, relation: Relation | None = None) -> EntityNode:
    """Return an entity as a node that leads to the newest episode of its ``relation``, or of its own."""
    properties: dict[str, Any] = {
        "entity_id": entity.id,
        "category": entity.category,
        "aliases": list(entity.aliases),
        "first_seen": entity.first_seen.isoformat(),
        "last_seen": entity.last_seen.isoformat(),
    }
    if newest := (relation or entity).episodes[:1]:
        properties[TRIPLET_SOURCE_KEY] = newest[0]
    return EntityNode(name=entity.name, label=entity.type, properties=properties)


def _chunk(episode: Episode) -> ChunkNode:
    node = TextNode(id_=episode.id, metadata={"citation": episode.citation, "thread": episode.thread})
    return ChunkNode(id_=episode.id, text=transcript(episode.messages), properties=node_to_metadata_dict(node))


def _has(properties: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return any(properties.get(name) == value for name, value in wanted.items())


def _joint(names: Sequence[str] | None, ids: Sequence[str] | None) -> Sequence[str] | None:
    """Return the values that both filters name; with one filter, its values."""
    if names and ids:
        return [name for name in names if name in ids]
    return names or ids or None


def _learned() -> InvalidInput:
    return InvalidInput(
        "what a memory knows is learned from episodes: memory.record(…), or bring a graph with memory.graph.load(…)"
    )
