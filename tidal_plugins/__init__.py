"""Associative, local, explainable memory for agents."""

import importlib
import typing

from tidal_plugins.errors import (
    BrokenInvariant,
    Busy,
    Closed,
    CompactionError,
    Conflict,
    ContextOverflow,
    Corrupt,
    DiskFull,
    EmbedderMismatch,
    EmbedderUnavailable,
    EmbeddingError,
    Forgotten,
    InvalidInput,
    InvalidScope,
    InvalidText,
    InvalidVector,
    NotADatabase,
    NotFound,
    QueryTimeout,
    ReadOnly,
    SchemaTooNew,
    StorageError,
    TidalError,
)
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.compaction import Compaction, Kept, Loss, LossLedger, RestoredFile, Size, Written
from tidal_plugins.model.entry import Entry, Tier
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.model.note import Note
from tidal_plugins.model.recall import Dropped, Explanation, Hit, Recall, Whisper
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import Embedder, EmotionEstimator, Summariser, TokenCounter

if typing.TYPE_CHECKING:
    from tidal_plugins.affect.lexicon import LexiconEmotion
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.embedding import HashingEmbedder, SentenceTransformerEmbedder
    from tidal_plugins.memory import TidalMemory
    from tidal_plugins.settings import Settings

__all__ = [
    "Affect",
    "BrokenInvariant",
    "Busy",
    "Closed",
    "Compaction",
    "CompactionError",
    "Compactor",
    "Conflict",
    "ContextOverflow",
    "Corrupt",
    "DiskFull",
    "Dropped",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmbeddingError",
    "EmotionEstimator",
    "Entry",
    "Episode",
    "Exchange",
    "Explanation",
    "Forgotten",
    "HashingEmbedder",
    "Hit",
    "InvalidInput",
    "InvalidScope",
    "InvalidText",
    "InvalidVector",
    "Kept",
    "LexiconEmotion",
    "Loss",
    "LossLedger",
    "Message",
    "NotADatabase",
    "Note",
    "NotFound",
    "QueryTimeout",
    "ReadOnly",
    "Recall",
    "RestoredFile",
    "SchemaTooNew",
    "SentenceTransformerEmbedder",
    "Settings",
    "Size",
    "Source",
    "Statement",
    "StorageError",
    "Summariser",
    "TidalError",
    "TidalMemory",
    "Tier",
    "TokenCounter",
    "ToolCall",
    "Whisper",
    "Written",
]

_LOADED_WHEN_USED = {
    "Compactor": "compaction.compactor",
    "HashingEmbedder": "embedding",
    "LexiconEmotion": "affect.lexicon",
    "SentenceTransformerEmbedder": "embedding",
    "Settings": "settings",
    "TidalMemory": "memory",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
