"""A process that mirrors a graph for Graphiti, and prints what Graphiti's own classes then read, step by step.

It is a process of its own because Kùzu and LadybugDB cannot be loaded into one.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from graphiti_core.edges import EntityEdge
from graphiti_core.errors import GroupsEdgesNotFoundError
from graphiti_core.nodes import EntityNode, EpisodicNode

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
        world.graph.mirror(sink, full=True)
        steps.append(shown(sink, group))
        world.memory.erase_scope()
        world.graph.mirror(sink)
        steps.append(shown(sink, group))
    world.memory.close()
    print(json.dumps({"counts": counts, "steps": steps}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
