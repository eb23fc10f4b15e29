"""Graphiti: the graph in its own classes, saved through its own driver, without a model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from graphiti_core.driver.driver import GraphDriver, GraphProvider
from graphiti_core.edges import EntityEdge, EpisodicEdge, create_entity_edge_embeddings
from graphiti_core.embedder import EmbedderClient
from graphiti_core.models.edges.edge_db_queries import get_entity_edge_save_bulk_query
from graphiti_core.models.nodes.node_db_queries import get_entity_node_save_bulk_query
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode, create_entity_node_embeddings

from tidal_plugins import ComponentError
from tidal_plugins.apps.graphs.cypher import server_name
from tidal_plugins.model.graph import SinkBatch, SinkEntity, SinkEpisode, SinkIds, SinkRelation
from tidal_plugins.shown import shown

R = TypeVar("R")


_HELD = {
    "Entity": "MATCH (n:Entity) WHERE n.group_id = $graph RETURN n.uuid AS uuid",
    "Episodic": "MATCH (n:Episodic) WHERE n.group_id = $graph RETURN n.uuid AS uuid",
}

_HELD_EDGES = "MATCH (:Entity)-[n:RELATES_TO]->(:Entity) WHERE n.group_id = $graph RETURN n.uuid AS uuid"

_HELD_EDGES_KUZU = "MATCH (n:RelatesToNode_) WHERE n.group_id = $graph RETURN n.uuid AS uuid"

_DROP = "MATCH (n:{label}) WHERE n.uuid IN $uuids DETACH DELETE n"

_DROP_MENTIONS = "MATCH (n:Episodic)-[m:MENTIONS]->(:Entity) WHERE n.uuid IN $uuids DELETE m"


class OwnLoop:
    """Runs coroutines for callers of any thread, also for one that has a running loop itself."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="tidal-graph-sink")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Cancel what still runs, and stop the loop. Closing twice is fine."""
        if not self._loop.is_closed():
            self.run(_cancel_the_rest())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _cancel_the_rest() -> None:
    """Cancel what a driver began by itself, such as Graphiti's of Neo4j, which makes indexes from its first moment."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class GraphitiSink:
    """Writes a graph for Graphiti to Neo4j, its default, or to a file of Kùzu, which Graphiti calls deprecated.

    Each graph is a ``group_id`` of its own. Episodes have their texts, which Graphiti searches, and our citations as
    names. Names and facts are embedded by ``embedder``, which must be the one that Graphiti asks with. Without one its
    search by vectors finds nothing of what is here. Its search by words has no indices on Kùzu, which cannot open a
    file again if it is stopped while it writes to them.

    Attributes:
        driver: Graphiti's driver, which works on a loop of the sink's own: see ``run``.
    """

    with_texts = True

    def __init__(
        self,
        uri: str,
        *,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        embedder: EmbedderClient | None = None,
    ) -> None:
        """Initialise the sink.

        Args:
            uri: ``neo4j://localhost:7687``, without a password, or ``kuzu:FILE``.
            auth: user and password.
            database: the name of a database of the server, ``neo4j`` by default.
            embedder: one of Graphiti's, such as ``OpenAIEmbedder``. What was mirrored before gets its vectors with
                ``memory.graph.mirror(sink, full=True)``.
        """
        self._embedder = embedder
        if uri.startswith("kuzu:"):
            uri = f"kuzu:{Path(uri.removeprefix('kuzu:')).absolute()}"
        self.name = f"graphiti+{uri if uri.startswith('kuzu:') else server_name(uri, database)}"
        self._loop = OwnLoop()
        self._prepared = False
        self.driver = self._loop.run(_driver(uri, auth, database or "neo4j"))

    def apply(self, batch: SinkBatch) -> None:
        """Write a batch. After a failure a part of it may be there; writing it again completes it."""
        self._loop.run(self._apply(batch))

    def held(self, graph: str) -> SinkIds:
        """Return the ids of everything of ours that the engine has of a graph."""
        return self._loop.run(self._held(graph))

    def ask(self, statement: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows that a question in Cypher gives, as dictionaries."""

        records, _, _ = self.run(self.driver.execute_query(statement, **parameters))
        return [dict(record) for record in records]

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Return what work with ``driver`` comes to, such as ``EntityNode.get_by_group_ids(sink.driver, [group])``."""
        return self._loop.run(work)

    def close(self) -> None:
        """Release the connection."""
        self._loop.run(self.driver.close())
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def _prepare(self) -> None:
        if not self._prepared:
            await self.driver.build_indices_and_constraints()
            self._prepared = True

    async def _held(self, graph: str) -> SinkIds:
        await self._prepare()
        edges = _HELD_EDGES_KUZU if self.driver.provider == GraphProvider.KUZU else _HELD_EDGES
        found = []
        for question in (_HELD["Entity"], _HELD["Episodic"], edges):
            records, _, _ = await self.driver.execute_query(question, graph=graph)
            uuids = (str(record["uuid"]) for record in records)
            found.append(frozenset(uuid.removeprefix(f"{graph}-") for uuid in uuids if uuid.startswith(f"{graph}-")))
        return SinkIds(*found)

    async def _apply(self, batch: SinkBatch) -> None:
        await self._prepare()
        graph, driver = batch.graph, self.driver
        edges = [*batch.removed.relations, *(one.id for one in batch.relations)]  # the ends of one may be others now
        await EntityEdge.delete_by_uuids(driver, _uuids(graph, edges))
        for label, ids in (("Episodic", batch.removed.episodes), ("Entity", batch.removed.entities)):
            await driver.execute_query(_DROP.format(label=label), uuids=_uuids(graph, ids))
        await _save_entities(driver, [_entity(batch, one) for one in batch.entities], self._embedder)
        await driver.execute_query(_DROP_MENTIONS, uuids=_uuids(graph, [one.id for one in batch.episodes]))
        await driver.episode_node_ops.save_bulk(driver, [_episode(batch, one) for one in batch.episodes])
        await driver.episodic_edge_ops.save_bulk(
            driver, [edge for one in batch.episodes for edge in _mentions(graph, one)]
        )
        await _save_edges(driver, [_edge(batch, one) for one in batch.relations], self._embedder)


async def _driver(uri: str, auth: tuple[str, str] | None, database: str) -> GraphDriver:
    if uri.startswith("kuzu:"):
        from graphiti_core.driver.kuzu_driver import KuzuDriver

        try:
            return KuzuDriver(uri.removeprefix("kuzu:"))
        except RuntimeError as error:
            raise ComponentError(f"{shown(uri)} cannot be opened: {error!s:.300}") from error
    from graphiti_core.driver.neo4j_driver import Neo4jDriver

    user, password = auth or (None, None)
    return Neo4jDriver(uri, user, password, database)


async def _save_entities(driver: GraphDriver, nodes: list[EntityNode], embedder: EmbedderClient | None) -> None:
    if embedder:
        await create_entity_node_embeddings(embedder, nodes)
    if embedder or driver.provider != GraphProvider.NEO4J:
        await driver.entity_node_ops.save_bulk(driver, nodes)
        return
    rows = [_properties(node, ("uuid", "name", "group_id", "summary", "created_at")) for node in nodes]
    rows = [row | {"labels": ["Entity"]} for row in rows]
    # has_aoss: the statement that sets no vector, which Neo4j would refuse to be null
    await driver.execute_query(get_entity_node_save_bulk_query(driver.provider, rows, has_aoss=True), nodes=rows)


async def _save_edges(driver: GraphDriver, edges: list[EntityEdge], embedder: EmbedderClient | None) -> None:
    if embedder:
        await create_entity_edge_embeddings(embedder, edges)
    if embedder or driver.provider != GraphProvider.NEO4J:
        await driver.entity_edge_ops.save_bulk(driver, edges)
        return
    ends, times = ("source_node_uuid", "target_node_uuid"), ("expired_at", "valid_at", "invalid_at", "reference_time")
    names = ("uuid", "group_id", *ends, "name", "fact", "episodes", "created_at", *times)
    rows = [_properties(edge, names) for edge in edges]
    await driver.execute_query(get_entity_edge_save_bulk_query(driver.provider, has_aoss=True), entity_edges=rows)


def _properties(one: EntityNode | EntityEdge, names: Sequence[str]) -> dict[str, Any]:
    """Return fields and attributes as properties of one node or edge."""
    return {**one.attributes, **{name: getattr(one, name) for name in names}}


def _uuid(graph: str, id_: str) -> str:
    return f"{graph}-{id_}"


def _uuids(graph: str, ids: Sequence[str] | frozenset[str]) -> list[str]:
    return [_uuid(graph, id_) for id_ in ids]


def _entity(batch: SinkBatch, one: SinkEntity) -> EntityNode:
    return EntityNode(
        uuid=_uuid(batch.graph, one.id),
        name=one.name,
        group_id=batch.graph,
        created_at=one.first_seen,
        attributes={
            "scope": batch.scope,
            "type": one.type,
            "category": one.category,
            "aliases": list(one.aliases),
            "last_seen": one.last_seen.isoformat(),
        },
    )


def _episode(batch: SinkBatch, one: SinkEpisode) -> EpisodicNode:
    return EpisodicNode(
        uuid=_uuid(batch.graph, one.id),
        name=one.citation,
        group_id=batch.graph,
        source=EpisodeType.message,
        source_description=f"tidal-plugins, {batch.scope}" + (f", thread {one.thread}" if one.thread else ""),
        content=one.text,
        created_at=one.at,
        valid_at=one.at,
        entity_edges=_uuids(batch.graph, one.relations),
    )


def _mentions(graph: str, one: SinkEpisode) -> list[EpisodicEdge]:
    ends = [(_uuid(graph, one.id), _uuid(graph, entity)) for entity in one.mentions]
    return [
        EpisodicEdge(
            uuid=f"{episode}-{entity}",
            group_id=graph,
            source_node_uuid=episode,
            target_node_uuid=entity,
            created_at=one.at,
        )
        for episode, entity in ends
    ]


def _edge(batch: SinkBatch, one: SinkRelation) -> EntityEdge:
    said_at: datetime | None = one.evidence[0].at if one.evidence else None
    return EntityEdge(
        uuid=_uuid(batch.graph, one.id),
        group_id=batch.graph,
        source_node_uuid=_uuid(batch.graph, one.subject),
        target_node_uuid=_uuid(batch.graph, one.object),
        name=("NOT_" if one.negated else "") + one.predicate.upper(),
        fact=one.fact,
        episodes=_uuids(batch.graph, list(dict.fromkeys(piece.episode for piece in one.evidence))),
        created_at=one.recorded_at,
        expired_at=one.superseded_at,
        valid_at=one.valid_from,
        invalid_at=one.valid_until,
        reference_time=said_at,
        attributes={
            "scope": batch.scope,
            "relation": one.relation,
            "predicate": one.predicate,
            "negated": one.negated,
            "status": one.status,
            "confidence": one.confidence,
            "confirmed_at": one.confirmed_at.isoformat(),
            "citations": [piece.citation for piece in one.evidence],
            "entries": [piece.entry or "" for piece in one.evidence],
            "spans": [f"{piece.start}-{piece.end}" for piece in one.evidence],
        },
    )
