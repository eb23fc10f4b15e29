"""Graph engines: sinks that ``memory.graph.mirror`` keeps like the graph of a memory."""

import typing

from tidal_plugins.apps.graphs.cypher import CypherSink, LadybugSink, Neo4jSink, open_sink

if typing.TYPE_CHECKING:
    from tidal_plugins.apps.graphs.graphiti import GraphitiSink

__all__ = ["CypherSink", "GraphitiSink", "LadybugSink", "Neo4jSink", "open_sink"]


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
