"""LlamaIndex adapter: retrievers, a graph store, a chat memory, a memory block, tools, and models for the core."""

from llama_index_tidal.block import TidalMemoryBlock
from llama_index_tidal.embedding import LlamaIndexEmbedder
from llama_index_tidal.graph import TidalGraphRetriever
from llama_index_tidal.history import history_tools
from llama_index_tidal.memory import TidalChatMemory
from llama_index_tidal.models import LLMExtractor, LLMSummariser
from llama_index_tidal.place import restore_with
from llama_index_tidal.property_graph import TidalPropertyGraphStore
from llama_index_tidal.retriever import TidalRetriever
from llama_index_tidal.signals import signal_tools
from llama_index_tidal.tools import TidalToolSpec

__all__ = [
    "history_tools",
    "LlamaIndexEmbedder",
    "LLMExtractor",
    "LLMSummariser",
    "restore_with",
    "signal_tools",
    "TidalChatMemory",
    "TidalGraphRetriever",
    "TidalMemoryBlock",
    "TidalPropertyGraphStore",
    "TidalRetriever",
    "TidalToolSpec",
]
