"""Associative, local, explainable memory for agents."""

import importlib
import typing

from tidal_plugins.errors import (
    Busy,
    Closed,
    CompactionError,
    ComponentError,
    Conflict,
    ContextOverflow,
    Corrupt,
    DiskFull,
    EmbedderMismatch,
    EmbeddingError,
    Forgotten,
    InvalidInput,
    NotFound,
    PolicyViolation,
    QueryTimeout,
    ReadOnly,
    SessionClosed,
    StorageError,
    TidalError,
)

if typing.TYPE_CHECKING:
    from tidal_plugins.affect.embedding import EmbeddingEmotion
    from tidal_plugins.affect.lexicon import LexiconEmotion
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.compaction.disk import DiskFiles
    from tidal_plugins.embedding import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder
    from tidal_plugins.graph.reading.extractor import RuleExtractor
    from tidal_plugins.ingestion.redaction import DefaultRedactor
    from tidal_plugins.maintenance.backups import alist_backups, arestore, list_backups, restore
    from tidal_plugins.memory import TidalMemory
    from tidal_plugins.model.affect import Affect
    from tidal_plugins.model.capsule import Capsule
    from tidal_plugins.model.compaction import Compaction
    from tidal_plugins.model.dossier import Brief, Dossier, Statement
    from tidal_plugins.model.entry import Entry, Note, Tier
    from tidal_plugins.model.exchange import Episode, Exchange, Message, ToolCall
    from tidal_plugins.model.fact import Claim, Fact
    from tidal_plugins.model.graph import Assertion, Extraction, Mention, ModelAnswer
    from tidal_plugins.model.presence import ProactiveMessage
    from tidal_plugins.model.recall import Coverage, Explanation, Hit, Recall, Whisper
    from tidal_plugins.model.reports import Backup, Check, Consolidation, Receipt
    from tidal_plugins.model.session import Policy, SignalType
    from tidal_plugins.presence.runner import Presence
    from tidal_plugins.retrieval.federation import Peer
    from tidal_plugins.retrieval.rerank import CrossEncoderReranker
    from tidal_plugins.secrets.finding import Secret
    from tidal_plugins.sessions.session import Session
    from tidal_plugins.settings import Settings
    from tidal_plugins.storage.sqlite.copies import rekey

__all__ = [
    "Affect",
    "alist_backups",
    "arestore",
    "Assertion",
    "Backup",
    "Brief",
    "Busy",
    "Capsule",
    "Check",
    "Claim",
    "Closed",
    "Compaction",
    "CompactionError",
    "Compactor",
    "ComponentError",
    "Conflict",
    "Consolidation",
    "ContextOverflow",
    "Corrupt",
    "Coverage",
    "CrossEncoderReranker",
    "DefaultRedactor",
    "DiskFiles",
    "DiskFull",
    "Dossier",
    "EmbedderMismatch",
    "EmbeddingEmotion",
    "EmbeddingError",
    "Entry",
    "Episode",
    "Exchange",
    "Explanation",
    "Extraction",
    "Fact",
    "Forgotten",
    "HashingEmbedder",
    "Hit",
    "InvalidInput",
    "LexiconEmotion",
    "list_backups",
    "Mention",
    "Message",
    "ModelAnswer",
    "Note",
    "NotFound",
    "OnnxEmbedder",
    "Peer",
    "Policy",
    "PolicyViolation",
    "Presence",
    "ProactiveMessage",
    "QueryTimeout",
    "ReadOnly",
    "Recall",
    "Receipt",
    "rekey",
    "restore",
    "RuleExtractor",
    "Secret",
    "SentenceTransformerEmbedder",
    "Session",
    "SessionClosed",
    "Settings",
    "SignalType",
    "Statement",
    "StorageError",
    "TidalError",
    "TidalMemory",
    "Tier",
    "ToolCall",
    "Whisper",
]

_LOADED_WHEN_USED = {
    "Affect": "model.affect",
    "alist_backups": "maintenance.backups",
    "arestore": "maintenance.backups",
    "Assertion": "model.graph",
    "Backup": "model.reports",
    "Brief": "model.dossier",
    "Capsule": "model.capsule",
    "Check": "model.reports",
    "Claim": "model.fact",
    "Compaction": "model.compaction",
    "Compactor": "compaction.compactor",
    "Consolidation": "model.reports",
    "Coverage": "model.recall",
    "CrossEncoderReranker": "retrieval.rerank",
    "DefaultRedactor": "ingestion.redaction",
    "DiskFiles": "compaction.disk",
    "Dossier": "model.dossier",
    "EmbeddingEmotion": "affect.embedding",
    "Entry": "model.entry",
    "Episode": "model.exchange",
    "Exchange": "model.exchange",
    "Explanation": "model.recall",
    "Extraction": "model.graph",
    "Fact": "model.fact",
    "HashingEmbedder": "embedding",
    "Hit": "model.recall",
    "LexiconEmotion": "affect.lexicon",
    "list_backups": "maintenance.backups",
    "Mention": "model.graph",
    "Message": "model.exchange",
    "ModelAnswer": "model.graph",
    "Note": "model.entry",
    "OnnxEmbedder": "embedding",
    "Peer": "retrieval.federation",
    "Policy": "model.session",
    "Presence": "presence.runner",
    "ProactiveMessage": "model.presence",
    "Recall": "model.recall",
    "Receipt": "model.reports",
    "rekey": "storage.sqlite.copies",
    "restore": "maintenance.backups",
    "RuleExtractor": "graph.reading.extractor",
    "Secret": "secrets.finding",
    "SentenceTransformerEmbedder": "embedding",
    "Session": "sessions.session",
    "Settings": "settings",
    "SignalType": "model.session",
    "Statement": "model.dossier",
    "TidalMemory": "memory",
    "Tier": "model.entry",
    "ToolCall": "model.exchange",
    "Whisper": "model.recall",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
