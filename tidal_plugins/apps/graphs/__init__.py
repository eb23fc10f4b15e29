"""Graph engines: sinks that ``memory.graph.mirror`` keeps like the graph of a memory."""

from __future__ import annotations

import typing

from tidal_plugins import InvalidInput
from tidal_plugins.apps.graphs.cypher import CypherSink, LadybugSink, Neo4jSink

if typing.TYPE_CHECKING:
    from tidal_plugins.apps.graphs.graphiti import GraphitiSink

__all__ = ["CypherSink", "GraphitiSink", "LadybugSink", "Neo4jSink", "open_sink"]


BOLT = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
"""Schemes of servers that speak Bolt, as Neo4j's driver knows them."""


def open_sink(
    uri: str, *, auth: tuple[str, str] | None = None, database: str | None = None
) -> CypherSink | GraphitiSink:
    """Return the sink at an address.

    ``neo4j://host:7687`` and the other schemes of Bolt are a server, ``ladybug:FILE`` is a file. ``graphiti+`` in front
    of a server, or of ``kuzu:FILE``, writes what Graphiti reads. ``auth`` is user and password. Raises ``InvalidInput``
    for another address, ``ComponentError`` for a file that cannot be opened, and ``ImportError`` for a driver that is
    not installed.
    """
    scheme, _, rest = uri.partition(":") if isinstance(uri, str) else ("", "", "")
    graphiti = scheme.startswith("graphiti+")
    if not rest or scheme.removeprefix("graphiti+") not in (*BOLT, "kuzu" if graphiti else "ladybug"):
        known = "neo4j://host:7687, bolt://host:7687, ladybug:FILE, graphiti+neo4j://host:7687 and graphiti+kuzu:FILE"
        raise InvalidInput(f"a graph engine has an address such as {known}")
    if graphiti:
        sink: type[GraphitiSink] = __getattr__("GraphitiSink")
        return sink(uri.removeprefix("graphiti+"), auth=auth, database=database)
    if scheme == "ladybug":
        return LadybugSink(rest)
    return Neo4jSink(uri, auth=auth, database=database)


def __getattr__(name: str) -> typing.Any:
    if name != "GraphitiSink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tidal_plugins.apps.graphs.graphiti import GraphitiSink
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("graphiti_core", "kuzu"):
            raise
        way_out = "pip install 'tidal-plugins[graphiti]'"
        raise ImportError(f"{name} needs {missing}, which is not installed: {way_out}") from error
    return GraphitiSink


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
