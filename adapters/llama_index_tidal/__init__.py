"""LlamaIndex adapter: retrievers, a graph store, a chat memory, a memory block, tools, models for the core, and an
event of what the memory says first."""

from llama_index_tidal.block import TidalMemoryBlock
from llama_index_tidal.embedding import LlamaIndexEmbedder
from llama_index_tidal.graph import TidalGraphRetriever
from llama_index_tidal.history import history_tools
from llama_index_tidal.memory import TidalChatMemory
from llama_index_tidal.models import LLMExtractor, LLMReader, LLMSummariser
from llama_index_tidal.place import restore_with
from llama_index_tidal.proactive import ProactiveEvent, speak_first
from llama_index_tidal.property_graph import TidalPropertyGraphStore
from llama_index_tidal.retriever import TidalRetriever
from llama_index_tidal.signals import signal_tools
from llama_index_tidal.tools import TidalToolSpec

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
