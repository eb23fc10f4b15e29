"""LangChain adapter: middleware for agents, a retriever, tools, memory for chains old and new."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from langchain_tidal.capsule import TidalCapsule
    from langchain_tidal.compaction import TidalCompaction
    from langchain_tidal.embedding import LangChainEmbedder
    from langchain_tidal.history import history_tools
    from langchain_tidal.memory import TidalConversationMemory
    from langchain_tidal.messages import to_exchange, turns, with_whisper
    from langchain_tidal.middleware import TidalMemoryMiddleware
    from langchain_tidal.models import ChatModelExtractor, ChatModelSummariser
    from langchain_tidal.reading import ChatModelReader
    from langchain_tidal.retriever import TidalRetriever
    from langchain_tidal.runnable import with_memory
    from langchain_tidal.signals import AnnotateMemory, RewardMemory, signal_tools
    from langchain_tidal.sizes import reserved
    from langchain_tidal.stating import Relate, RememberFact, graph_tools
    from langchain_tidal.tools import ReadEpisode, SaveMemory, SearchGraph, SearchMemory, memory_tools

__all__ = [
    "AnnotateMemory",
    "ChatModelExtractor",
    "ChatModelReader",
    "ChatModelSummariser",
    "graph_tools",
    "history_tools",
    "LangChainEmbedder",
    "memory_tools",
    "ReadEpisode",
    "Relate",
    "RememberFact",
    "reserved",
    "RewardMemory",
    "SaveMemory",
    "SearchGraph",
    "SearchMemory",
    "signal_tools",
    "TidalCapsule",
    "TidalCompaction",
    "TidalConversationMemory",
    "TidalMemoryMiddleware",
    "TidalRetriever",
    "to_exchange",
    "turns",
    "with_memory",
    "with_whisper",
]

_LOADED_WHEN_USED = {
    "AnnotateMemory": "signals",
    "ChatModelExtractor": "models",
    "ChatModelReader": "reading",
    "ChatModelSummariser": "models",
    "LangChainEmbedder": "embedding",
    "ReadEpisode": "tools",
    "Relate": "stating",
    "RememberFact": "stating",
    "RewardMemory": "signals",
    "SaveMemory": "tools",
    "SearchGraph": "tools",
    "SearchMemory": "tools",
    "TidalCapsule": "capsule",
    "TidalCompaction": "compaction",
    "TidalConversationMemory": "memory",
    "TidalMemoryMiddleware": "middleware",
    "TidalRetriever": "retriever",
    "graph_tools": "stating",
    "history_tools": "history",
    "memory_tools": "tools",
    "reserved": "sizes",
    "signal_tools": "signals",
    "to_exchange": "messages",
    "turns": "messages",
    "with_memory": "runnable",
    "with_whisper": "messages",
}
_EXTRAS = {
    "langchain": "langchain",
    "langchain_classic": "classic",
    "langchain_core": "langchain",
    "langgraph": "langchain",
}


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
