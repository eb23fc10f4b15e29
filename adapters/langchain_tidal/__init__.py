"""LangChain adapter: middleware for agents, a retriever, tools, memory for chains old and new."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from langchain_tidal.context import reserved
    from langchain_tidal.memory import TidalConversationMemory
    from langchain_tidal.messages import to_exchange, turns, with_whisper
    from langchain_tidal.middleware import TidalCapsule, TidalCompaction, TidalMemoryMiddleware
    from langchain_tidal.models import ChatModelExtractor, ChatModelSummariser, LangChainEmbedder
    from langchain_tidal.reading import ChatModelReader
    from langchain_tidal.retriever import TidalRetriever
    from langchain_tidal.runnable import with_memory
    from langchain_tidal.tools import (
        AnnotateMemory,
        ReadEpisode,
        Relate,
        RememberFact,
        RewardMemory,
        SaveMemory,
        SearchGraph,
        SearchMemory,
        graph_tools,
        history_tools,
        memory_tools,
        signal_tools,
    )

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

_MODULES = {
    "context": "reserved",
    "memory": "TidalConversationMemory",
    "messages": "to_exchange turns with_whisper",
    "middleware": "TidalCapsule TidalCompaction TidalMemoryMiddleware",
    "models": "ChatModelExtractor ChatModelSummariser LangChainEmbedder",
    "reading": "ChatModelReader",
    "retriever": "TidalRetriever",
    "runnable": "with_memory",
    "tools": "AnnotateMemory ReadEpisode Relate RememberFact RewardMemory SaveMemory SearchGraph SearchMemory "
    "graph_tools history_tools memory_tools signal_tools",
}
"""The public names of each module, which is loaded when one of them is used."""

_EXTRAS = {
    "langchain": "langchain",
    "langchain_classic": "classic",
    "langchain_core": "langchain",
    "langgraph": "langchain",
}


def __getattr__(name: str) -> typing.Any:
    home = next((module for module, names in _MODULES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{home}")
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
