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
    InvalidCapsule,
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
from tidal_plugins.model.admission import Admission
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.capsule import Capsule, Section, Suggestion
from tidal_plugins.model.compaction import Compaction, Kept, Loss, LossLedger, RestoredFile, Size, Written
from tidal_plugins.model.consolidation import Consolidation, Seed
from tidal_plugins.model.dossier import Brief, Contradiction, Dossier, Finding
from tidal_plugins.model.entry import Entry, Tier
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.model.fact import Claim, Fact, FactConflict
from tidal_plugins.model.note import Note
from tidal_plugins.model.recall import Dropped, Explanation, Hit, Recall, Whisper
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import Embedder, EmotionEstimator, Extractor, Summariser, TokenCounter

if typing.TYPE_CHECKING:
    from tidal_plugins.affect.embedding import EmbeddingEmotion
    from tidal_plugins.affect.lexicon import LexiconEmotion
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.embedding import HashingEmbedder, SentenceTransformerEmbedder
    from tidal_plugins.graph.facts import PersistentFacts
    from tidal_plugins.memory import TidalMemory
    from tidal_plugins.settings import Settings
    from tidal_plugins.synthesis.maintenance import Maintenance

__all__ = [
    "Admission",
    "Affect",
    "Brief",
    "BrokenInvariant",
    "Busy",
    "Capsule",
    "Claim",
    "Closed",
    "Compaction",
    "CompactionError",
    "Compactor",
    "Conflict",
    "Consolidation",
    "ContextOverflow",
    "Contradiction",
    "Corrupt",
    "DiskFull",
    "Dossier",
    "Dropped",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmbeddingEmotion",
    "EmbeddingError",
    "EmotionEstimator",
    "Entry",
    "Episode",
    "Exchange",
    "Explanation",
    "Extractor",
    "Fact",
    "FactConflict",
    "Finding",
    "Forgotten",
    "HashingEmbedder",
    "Hit",
    "InvalidCapsule",
    "InvalidInput",
    "InvalidScope",
    "InvalidText",
    "InvalidVector",
    "Kept",
    "LexiconEmotion",
    "Loss",
    "LossLedger",
    "Maintenance",
    "Message",
    "NotADatabase",
    "Note",
    "NotFound",
    "PersistentFacts",
    "QueryTimeout",
    "ReadOnly",
    "Recall",
    "RestoredFile",
    "SchemaTooNew",
    "Section",
    "Seed",
    "SentenceTransformerEmbedder",
    "Settings",
    "Size",
    "Source",
    "Statement",
    "StorageError",
    "Suggestion",
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
    "EmbeddingEmotion": "affect.embedding",
    "HashingEmbedder": "embedding",
    "LexiconEmotion": "affect.lexicon",
    "SentenceTransformerEmbedder": "embedding",
    "Maintenance": "synthesis.maintenance",
    "PersistentFacts": "graph.facts",
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
