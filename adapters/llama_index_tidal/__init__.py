"""LlamaIndex adapter: a retriever, a chat memory, a memory block, tools, and LlamaIndex's embeddings for the core."""

from llama_index_tidal.block import TidalMemoryBlock
from llama_index_tidal.embedding import LlamaIndexEmbedder
from llama_index_tidal.memory import TidalChatMemory
from llama_index_tidal.models import LLMSummariser
from llama_index_tidal.place import restore_with
from llama_index_tidal.retriever import TidalRetriever
from llama_index_tidal.signals import signal_tools
from llama_index_tidal.tools import TidalToolSpec

__all__ = [
    "LlamaIndexEmbedder",
    "LLMSummariser",
    "restore_with",
    "signal_tools",
    "TidalChatMemory",
    "TidalMemoryBlock",
    "TidalRetriever",
    "TidalToolSpec",
]
