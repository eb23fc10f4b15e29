"""LlamaIndex adapter: retrievers, a graph store, a chat memory, a memory block, tools, models for the core, and an
event of what the memory says first."""

try:
    from llama_index_tidal.graph import TidalGraphRetriever, TidalPropertyGraphStore
    from llama_index_tidal.memory import TidalChatMemory, TidalMemoryBlock
    from llama_index_tidal.models import LlamaIndexEmbedder, LLMExtractor, LLMReader, LLMSummariser
    from llama_index_tidal.place import restore_with
    from llama_index_tidal.proactive import ProactiveEvent, speak_first
    from llama_index_tidal.retriever import TidalRetriever
    from llama_index_tidal.tools import TidalToolSpec, history_tools, signal_tools
except ModuleNotFoundError as error:
    if (error.name or "").startswith(("tidal", "langchain_tidal", "llama_index_tidal")):
        raise
    raise ImportError(
        f"llama_index_tidal needs {error.name}, which is not installed: pip install 'tidal-plugins[llama-index]'"
    ) from error

__all__ = [
    "history_tools",
    "LlamaIndexEmbedder",
    "LLMExtractor",
    "LLMReader",
    "LLMSummariser",
    "ProactiveEvent",
    "restore_with",
    "signal_tools",
    "speak_first",
    "TidalChatMemory",
    "TidalGraphRetriever",
    "TidalMemoryBlock",
    "TidalPropertyGraphStore",
    "TidalRetriever",
    "TidalToolSpec",
]
