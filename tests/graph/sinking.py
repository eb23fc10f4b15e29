"""Graph engines for the tests: an embedded one, and a server if ``NEO4J_URI`` names one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins.model.graph import SinkBatch, SinkIds


def embedded(path: Path) -> Any:
    """Return a sink to a file. Where its engine is not installed the test is skipped."""
    pytest.importorskip("ladybug")
    from tidal_plugins.apps.graphs import LadybugSink

    return LadybugSink(path)


def served() -> Any:
    """Return a sink to the server that the environment names, which must be empty."""
    uri = os.environ.get("NEO4J_URI")
    if not uri:
        pytest.skip("NEO4J_URI names no server")
    pytest.importorskip("neo4j")
    from tidal_plugins.apps.graphs import Neo4jSink

    sink = Neo4jSink(uri, auth=auth(), database=os.environ.get("NEO4J_DATABASE"))
    if sink.ask("MATCH (n) RETURN count(n) AS count")[0]["count"]:
        sink.close()
        pytest.skip("the server holds something else")
    return sink


def auth() -> tuple[str, str] | None:
    password = os.environ.get("NEO4J_PASSWORD")
    return (os.environ.get("NEO4J_USERNAME", "neo4j"), password) if password else None


def change(sink: Any, statement: str) -> None:
    """Change what an engine has behind the sink's back; ``ask`` of a server only reads."""
    if sink.name.startswith("ladybug:"):
        sink.ask(statement)
        return
    from neo4j import GraphDatabase

    with GraphDatabase.driver(os.environ["NEO4J_URI"], auth=auth()) as driver:
        driver.execute_query(statement, database_=os.environ.get("NEO4J_DATABASE"))


class Counting:
    """A sink that hands everything on, and keeps the batches. ``then`` is called after each."""

    with_texts = False

    def __init__(self, sink: Any, then: Callable[[], None] = lambda: None) -> None:
        self.name = sink.name
        self.batches: list[SinkBatch] = []
        self._sink = sink
        self._then = then

    def apply(self, batch: SinkBatch) -> None:
        self._sink.apply(batch)
        self.batches.append(batch)
        self._then()

    def held(self, graph: str) -> SinkIds:
        return self._sink.held(graph)


FACTS = (
    "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE r.superseded_at IS NULL "
    "RETURN r.fact AS fact, r.status AS status ORDER BY fact, status"
)
NAMES = "MATCH (n:Entity) RETURN n.name AS name ORDER BY name"
EPISODES = "MATCH (n:Entity)-[:MENTIONED_IN]->(e:Episode) RETURN e.id AS id, n.name AS name ORDER BY id, name"


def facts(sink: Any) -> list[str]:
    """Return what the engine believes now, in words, each with its status unless it holds."""
    rows = sink.ask(FACTS)
    return [row["fact"] if row["status"] == "holds" else f"{row['fact']} ({row['status']})" for row in rows]


def names(sink: Any) -> list[str]:
    return [row["name"] for row in sink.ask(NAMES)]
