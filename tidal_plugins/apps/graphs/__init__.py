"""Graph engines: sinks that ``memory.graph.mirror`` keeps like the graph of a memory."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from tidal_plugins.apps.graphs.cypher import CypherSink
    from tidal_plugins.apps.graphs.graphiti import GraphitiSink
    from tidal_plugins.apps.graphs.ladybug import LadybugSink
    from tidal_plugins.apps.graphs.neo4j import Neo4jSink
    from tidal_plugins.apps.graphs.opening import open_sink

__all__ = ["CypherSink", "GraphitiSink", "LadybugSink", "Neo4jSink", "open_sink"]

_LOADED_WHEN_USED = {
    "CypherSink": "cypher",
    "GraphitiSink": "graphiti",
    "LadybugSink": "ladybug",
    "Neo4jSink": "neo4j",
    "open_sink": "opening",
}
_EXTRAS = {"graphiti_core": "graphiti", "kuzu": "graphiti", "ladybug": "ladybug", "neo4j": "neo4j"}


def __getattr__(name: str) -> typing.Any:
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        way_out = f"pip install 'tidal-plugins[{_EXTRAS[missing]}]'"
        raise ImportError(f"{name} needs {missing}, which is not installed: {way_out}") from error
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
