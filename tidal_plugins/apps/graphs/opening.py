"""Opening a sink by its address, as the command line names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidal_plugins import InvalidInput

if TYPE_CHECKING:
    from tidal_plugins.apps.graphs.cypher import CypherSink
    from tidal_plugins.apps.graphs.graphiti import GraphitiSink

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
        from tidal_plugins.apps.graphs import GraphitiSink

        return GraphitiSink(uri.removeprefix("graphiti+"), auth=auth, database=database)
    if scheme == "ladybug":
        from tidal_plugins.apps.graphs import LadybugSink

        return LadybugSink(rest)
    from tidal_plugins.apps.graphs import Neo4jSink

    return Neo4jSink(uri, auth=auth, database=database)
