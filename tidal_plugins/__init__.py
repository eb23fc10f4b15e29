"""Associative, local, explainable memory for agents."""

import importlib
import typing

from tidal_plugins.errors import (
    BadEmbedding,
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
    EncryptionError,
    ExtractionError,
    FileReplaced,
    Forgotten,
    InvalidCapsule,
    InvalidInput,
    InvalidScope,
    InvalidText,
    InvalidVector,
    NotADatabase,
    NotFound,
    PolicyViolation,
    QueryTimeout,
    ReadOnly,
    RedactionError,
    RerankError,
    SchemaTooNew,
    SchemaTooOld,
    SecretRefused,
    SessionClosed,
    SessionExpired,
    SignalCapReached,
    SignalDenied,
    SignalNotAllowed,
    StorageError,
    TidalError,
)
from tidal_plugins.model.admission import Admission
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.capsule import Capsule, Section, Suggestion
from tidal_plugins.model.check import Backup, Check, Fault
from tidal_plugins.model.compaction import Compaction, Kept, RestoredFile, Size, Written
from tidal_plugins.model.consolidation import Consolidation, Seed
from tidal_plugins.model.dossier import Brief, Contradiction, Dossier, Finding
from tidal_plugins.model.entry import Entry, Tier
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.model.explain import ExplainedHit, RecallExplanation
from tidal_plugins.model.extraction import Extracted, Pending
from tidal_plugins.model.fact import Claim, Fact, FactConflict
from tidal_plugins.model.loss import Loss, LossLedger
from tidal_plugins.model.note import Note
from tidal_plugins.model.recall import Coverage, Dropped, Explanation, Hit, Hop, PeerReport, Recall, Whisper, Window
from tidal_plugins.model.receipt import Receipt
from tidal_plugins.model.retention import Retention
from tidal_plugins.model.stats import Stats
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.model.supersession import Replacement, Supersession
from tidal_plugins.protocols import (
    ClaimExtractor,
    CoverageAssessor,
    CurrentFiles,
    Embedder,
    EmotionEstimator,
    GraphExtractor,
    Redactor,
    Reranker,
    Summariser,
    TokenCounter,
)

if typing.TYPE_CHECKING:
    from tidal_plugins.affect.embedding import EmbeddingEmotion
    from tidal_plugins.affect.lexicon import LexiconEmotion
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.compaction.files.disk import DiskFiles
    from tidal_plugins.embedding import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder
    from tidal_plugins.english.secrets import Secret
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.graph.reading.extractor import RuleExtractor
    from tidal_plugins.ingestion.redaction import DefaultRedactor
    from tidal_plugins.maintenance.backups import alist_backups, arestore, list_backups, restore
    from tidal_plugins.maintenance.thread import Maintenance
    from tidal_plugins.memory import TidalMemory
    from tidal_plugins.model.graph import Assertion, Extraction, Mention
    from tidal_plugins.model.session import (
        Annotation,
        AuditEntry,
        Counts,
        Policy,
        SessionInfo,
        SessionSnapshot,
        SessionSummary,
        Signal,
        SignalTally,
        SignalType,
    )
    from tidal_plugins.retrieval.cross_encoder import CrossEncoderReranker
    from tidal_plugins.retrieval.federation import Peer
    from tidal_plugins.sessions.session import Session
    from tidal_plugins.settings import FileTool, RetentionRule, Settings
    from tidal_plugins.storage.sqlite.rekeying import rekey

__all__ = [
    "Admission",
    "Affect",
    "alist_backups",
    "Annotation",
    "arestore",
    "Assertion",
    "AuditEntry",
    "Backup",
    "BadEmbedding",
    "Brief",
    "BrokenInvariant",
    "Busy",
    "Capsule",
    "Check",
    "Claim",
    "ClaimExtractor",
    "Closed",
    "Compaction",
    "CompactionError",
    "Compactor",
    "Conflict",
    "Consolidation",
    "ContextOverflow",
    "Contradiction",
    "Corrupt",
    "Counts",
    "Coverage",
    "CoverageAssessor",
    "CrossEncoderReranker",
    "CurrentFiles",
    "DefaultRedactor",
    "DiskFiles",
    "DiskFull",
    "Dossier",
    "Dropped",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmbeddingEmotion",
    "EmbeddingError",
    "EmotionEstimator",
    "EncryptionError",
    "Entry",
    "Episode",
    "Exchange",
    "ExplainedHit",
    "Explanation",
    "Extracted",
    "Extraction",
    "ExtractionError",
    "Fact",
    "FactConflict",
    "Facts",
    "Fault",
    "FileReplaced",
    "FileTool",
    "Finding",
    "Forgotten",
    "GraphExtractor",
    "HashingEmbedder",
    "Hit",
    "Hop",
    "InvalidCapsule",
    "InvalidInput",
    "InvalidScope",
    "InvalidText",
    "InvalidVector",
    "Kept",
    "LexiconEmotion",
    "list_backups",
    "Loss",
    "LossLedger",
    "Maintenance",
    "Mention",
    "Message",
    "NotADatabase",
    "Note",
    "NotFound",
    "OnnxEmbedder",
    "Peer",
    "PeerReport",
    "Pending",
    "Policy",
    "PolicyViolation",
    "QueryTimeout",
    "ReadOnly",
    "Recall",
    "RecallExplanation",
    "Receipt",
    "RedactionError",
    "Redactor",
    "rekey",
    "Replacement",
    "Reranker",
    "RerankError",
    "restore",
    "RestoredFile",
    "Retention",
    "RetentionRule",
    "RuleExtractor",
    "SchemaTooNew",
    "SchemaTooOld",
    "Secret",
    "SecretRefused",
    "Section",
    "Seed",
    "SentenceTransformerEmbedder",
    "Session",
    "SessionClosed",
    "SessionExpired",
    "SessionInfo",
    "SessionSnapshot",
    "SessionSummary",
    "Settings",
    "Signal",
    "SignalCapReached",
    "SignalDenied",
    "SignalNotAllowed",
    "SignalTally",
    "SignalType",
    "Size",
    "Source",
    "Statement",
    "Stats",
    "StorageError",
    "Suggestion",
    "Summariser",
    "Supersession",
    "TidalError",
    "TidalMemory",
    "Tier",
    "TokenCounter",
    "ToolCall",
    "Whisper",
    "Window",
    "Written",
]

_LOADED_WHEN_USED = {
    "Annotation": "model.session",
    "Assertion": "model.graph",
    "AuditEntry": "model.session",
    "Compactor": "compaction.compactor",
    "Counts": "model.session",
    "CrossEncoderReranker": "retrieval.cross_encoder",
    "DefaultRedactor": "ingestion.redaction",
    "DiskFiles": "compaction.files.disk",
    "EmbeddingEmotion": "affect.embedding",
    "Extraction": "model.graph",
    "Facts": "facts.mapping",
    "FileTool": "settings",
    "HashingEmbedder": "embedding",
    "LexiconEmotion": "affect.lexicon",
    "Maintenance": "maintenance.thread",
    "Mention": "model.graph",
    "OnnxEmbedder": "embedding",
    "Peer": "retrieval.federation",
    "Policy": "model.session",
    "RetentionRule": "settings",
    "RuleExtractor": "graph.reading.extractor",
    "Secret": "english.secrets",
    "SentenceTransformerEmbedder": "embedding",
    "Session": "sessions.session",
    "SessionInfo": "model.session",
    "SessionSnapshot": "model.session",
    "SessionSummary": "model.session",
    "Settings": "settings",
    "Signal": "model.session",
    "SignalTally": "model.session",
    "SignalType": "model.session",
    "TidalMemory": "memory",
    "rekey": "storage.sqlite.rekeying",
    "alist_backups": "maintenance.backups",
    "arestore": "maintenance.backups",
    "list_backups": "maintenance.backups",
    "restore": "maintenance.backups",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
