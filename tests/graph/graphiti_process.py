"""A process that mirrors a graph for Graphiti, and prints what Graphiti's own classes then read, step by step.

It is a process of its own because Kùzu and LadybugDB cannot be loaded into one.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder import EmbedderClient
from graphiti_core.errors import GroupsEdgesNotFoundError
from graphiti_core.llm_client import LLMClient
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.search.search_config import EdgeReranker, EdgeSearchConfig, EdgeSearchMethod, SearchConfig

from tests.graph.knowing import World
from tests.graph.sinking import auth
from tidal_plugins.apps.graphs import GraphitiSink


def shown(sink: GraphitiSink, group: str) -> dict[str, Any]:
    """Return what Graphiti reads of a group."""

    async def read() -> tuple[Any, Any, Any]:
        nodes = await EntityNode.get_by_group_ids(sink.driver, [group])
        episodes = await EpisodicNode.get_by_group_ids(sink.driver, [group])
        try:
            edges = await EntityEdge.get_by_group_ids(sink.driver, [group])
        except GroupsEdgesNotFoundError:
            edges = []
        return nodes, episodes, edges

    nodes, episodes, edges = sink.run(read())
    names = {node.uuid: node.name for node in nodes}
    said = {one.uuid: one.name for one in episodes}
    return {
        "nodes": sorted(names.values()),
        "types": {node.name: node.attributes["type"] for node in nodes},
        "episodes": sorted([one.name, one.content] for one in episodes),
        "edges": sorted(
            [
                names[edge.source_node_uuid],
                edge.name,
                names[edge.target_node_uuid],
                edge.fact,
                edge.invalid_at is not None,
                edge.expired_at is not None,
                [said[id_] for id_ in edge.episodes] == edge.attributes["citations"],
            ]
            for edge in edges
        ),
    }


BY_VECTORS = SearchConfig(
    edge_config=EdgeSearchConfig(
        search_methods=[EdgeSearchMethod.cosine_similarity], reranker=EdgeReranker.rrf, sim_min_score=0.9
    )
)


class Embedder(EmbedderClient):
    """Gives what is about a home one direction, and anything else another one."""

    async def create(self, input_data: Any) -> list[float]:
        return [1.0, 0.0] if any(word in str(input_data) for word in ("lives", "dwell")) else [0.0, 1.0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        return [await self.create(text) for text in input_data_list]


class Silent(LLMClient, CrossEncoderClient):
    """A model that nobody may ask: the mirror has read everything."""

    def __init__(self) -> None:
        super().__init__(LLMConfig(model="silent"))

    async def _generate_response(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        raise AssertionError

    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        raise AssertionError


def found_by_meaning(sink: GraphitiSink, group: str) -> list[str]:
    """Return the facts that Graphiti's own search finds for words that none of them has."""
    graphiti = Graphiti(graph_driver=sink.driver, llm_client=Silent(), embedder=Embedder(), cross_encoder=Silent())
    found = sink.run(graphiti.search_("dwell", config=BY_VECTORS, group_ids=[group]))
    return sorted(edge.fact for edge in found.edges)


def main(folder: Path, uri: str) -> None:
    """Mirror four states of a graph."""
    world, steps = World(folder), []
    with GraphitiSink(uri, auth=auth(), database=os.environ.get("NEO4J_DATABASE")) as sink:
        world.say("Ada lives_in Rome\nnot checkout calls billing", thread="one")
        world.clock.advance(days=1)
        world.say("Ada lives_in Oslo")
        world.say("Countess works_at Mill")
        counts = [str(world.graph.mirror(sink)), str(world.graph.mirror(sink))]
        [row] = sink.ask("MATCH (n:Entity) RETURN DISTINCT n.group_id AS id")
        group = row["id"]
        steps.append(shown(sink, group))
        world.graph.merge("Ada", "Countess")
        world.graph.mirror(sink)
        steps.append(shown(sink, group))
        world.forget("e1")
        world.graph.mirror(sink)
        steps.append(shown(sink, group))
    with GraphitiSink(uri, auth=auth(), database=os.environ.get("NEO4J_DATABASE"), embedder=Embedder()) as sink:
        meant = [found_by_meaning(sink, group)]
        world.graph.mirror(sink, full=True)
        meant.append(found_by_meaning(sink, group))
        steps.append(shown(sink, group))
        world.memory.erase_scope()
        world.graph.mirror(sink)
        steps.append(shown(sink, group))
    world.memory.close()
    print(json.dumps({"counts": counts, "steps": steps, "meant": meant}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
