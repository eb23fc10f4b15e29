"""Every number with a meaning, by capability. All of it is frozen; change it when the memory is opened:

TidalMemory("agent.db", settings=Settings(whisper={"max_chars": 300}))
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tidal_plugins.model.capsule import MAX_LINES
from tidal_plugins.model.session import Policy, SignalType

Profile = Literal["balanced", "tidal", "attention"]


class Group(BaseModel):
    # Validators are built when the first memory is opened, not at import.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class StorageSettings(Group):
    durability: Literal["full", "fast"] = "full"
    """``full``: a commit survives a power cut. ``fast``: quicker, a power cut may take the last commits."""
    busy_timeout: float = Field(30.0, ge=0)
    """Seconds to wait for another process's write."""
    query_deadline: float = Field(2.0, gt=0)
    """Seconds that a keyword search may take before recall goes on without it."""
    vector_cache_mb: int = Field(256, ge=0)
    """Vectors held in memory, in MiB, for all scopes together; a larger scope is scanned in the file."""


class IngestionSettings(Group):
    max_chars: int = Field(1_000_000, gt=0)
    """Characters that one text may have."""
    max_metadata_bytes: int = Field(64 * 1024, gt=0)
    """Bytes that metadata may have as JSON."""


class ModelSettings(Group):
    """Of models that are plugged in to write or to read: a ``Summariser``, an ``ClaimExtractor``."""

    timeout: float = Field(60.0, gt=0, le=threading.TIMEOUT_MAX)
    """Seconds to wait for an answer before extracts or rules stand in."""


class DecaySettings(Group):
    """[Tidal §2.4]; times in hours."""

    warm: float = Field(72.0, gt=0)
    accessed: float = Field(168.0, gt=0)
    """Of an entry that was used since it was stored: from when use is recorded."""
    emotional: float = Field(240.0, gt=0)
    cold: float = Field(720.0, gt=0)


class GateSettings(Group):
    """[Anamnesis G6]."""

    enabled: bool = False
    threshold: float = Field(0.35, ge=0)
    """Salience from which on something is kept for good."""
    days: float = Field(14.0, gt=0, le=36_500)
    """Days after which the rest leaves active queries unless it is used."""


class FactSettings(Group):
    """[Capsule]."""

    max_bytes: int = Field(16 * 1024, gt=0)
    """Bytes that a fact's value may have as JSON."""


class GraphSettings(Group):
    """[SIYA §3.3]."""

    enabled: bool = True
    """Whether what is recorded is read for entities and relations."""
    background: bool = True
    """Whether a thread reads it when nothing is being recorded; otherwise ``graph.index_pending`` does."""
    half_life: float = Field(180.0, gt=0)
    """Days in which the confidence of a relation that nothing confirms falls by half."""


class AffectSettings(Group):
    """[Tidal §3]."""

    half_life: float = Field(6.0, gt=0)
    """Hours in which the state relaxes half way to the baseline."""
    threshold: float = Field(0.5, ge=0, le=1)
    """Intensity above which the state counts as stirred."""


class RecallSettings(Group):
    """[Tidal §2.3, §3.2], [Anamnesis]."""

    profile: Profile = "balanced"
    limit: int = Field(10, gt=0, le=1000)
    associated: int = Field(5, ge=0, le=100)
    """Entries beyond the limit that associative recall appends."""


class RerankSettings(Group):
    """Of a reranker, where one is plugged in [Anamnesis]."""

    depth: int = Field(40, gt=0, le=1000)
    """Candidates that it reads, the best of the ranking without it; the limit where that is more. They are the
    shortlist, and hold what it could bring up."""
    seconds: float = Field(2.0, gt=0, le=threading.TIMEOUT_MAX)
    """Time that it has before the ranking without it stands: one of six layers reads 40 spoken turns in about half a
    second on a busy core, 40 passages of 120 words in two."""


class HopSettings(Group):
    """Recall over several hops."""

    hops: int = Field(1, ge=1, le=10)
    """Hops of a recall that is not told how many: 1 is none beside the query itself. On the development conversations
    later hops bring up less (recall of all hits 86.0) than as many hits of the first do (87.1), and cost as much again
    each: they are for questions that go by somebody whom they do not name."""
    ms: float = Field(1_000.0, gt=0, le=3_600_000)
    """Milliseconds after which no further query is asked, and which an assessor that is a model has for its answers."""


class PeerSettings(Group):
    """Of other memories that recall asks [Anamnesis G5]."""

    trust: float = Field(0.8, gt=0, le=1)
    """What the scores of a peer's hits count that has no trust of its own: an own memory comes first unless a peer's is
    nearer by about a nat, .045 of cosine."""
    timeout: float = Field(1.0, ge=0, le=3_600)
    """Seconds to wait for whoever has a peer's file locked."""


class WhisperSettings(Group):
    """[Tidal §2.3]."""

    max_entries: int = Field(3, gt=0, le=20)
    max_chars: int = Field(500, ge=200)
    """Characters of the whole whisper, frame and preamble included."""
    least_words: int = Field(1, ge=0)
    """Words with a content that a turn needs before anything surfaces."""
    threshold: float = Field(0.415, ge=0)
    """Confidence that the first memory needs for anything to surface, and nearness with its surroundings that each of
    the others needs too. It keeps nine in ten of the questions that recall answers on LoCoMo, and is silent on more
    than a third of them once what answers them is taken out of the memory. 0: no threshold."""


class ConsolidationSettings(Group):
    seeds: int = Field(3, ge=0, le=100)
    """Thought seeds that a run yields."""
    runs: int = Field(30, gt=0)
    """Runs, the last ones, that can be undone."""


class CompactionSettings(Group):
    """[SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    max_tokens: int = Field(32_000, gt=0)
    """Tokens that everything sent to the model may have: system prompt, tool schemas, whisper, messages."""
    max_bytes: int = Field(4_000_000, gt=0)
    """The same in bytes, serialized: images weigh little in tokens and much here."""
    compact: float = Field(0.85, gt=0, le=1)
    """Share at which the context is rebuilt."""
    target: float = Field(0.60, gt=0, le=1)
    """Share that a rebuilt context should not exceed without its files, so that it is not rebuilt again at once."""
    max_files: int = Field(5, ge=0)
    read_tools: tuple[str, ...] = ("Read",)
    """Tools whose result is a file's content."""
    system_paths: tuple[str, ...] = (
        ".git", ".hg", ".svn", ".idea", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
        "dist-packages", "node_modules", "site-packages", "venv",
    )  # fmt: skip
    """Folders whose files are never restored."""


class DossierSettings(Group):
    """[Capsule]."""

    refresh: float = Field(2.0, ge=0)
    """Hours between two refreshes of one dossier, at least."""
    max_tokens: int = Field(600, gt=0)
    """Tokens that a dossier's text may have, citations included."""
    versions: int = Field(20, ge=0)
    """Earlier versions that stay readable."""


class CapsuleSettings(Group):
    """[Capsule]. Sections in lines, without headings and empty lines."""

    max_lines: int = Field(MAX_LINES, ge=100)
    """Lines of the whole capsule."""


class BriefSettings(Group):
    """[Capsule]."""

    max_chars: int = Field(2_000, ge=200)
    """Characters of a brief."""


REWARD, ANNOTATE = "reward", "annotate"

SIGNALS: Mapping[str, SignalType] = {
    REWARD: SignalType(),
    ANNOTATE: SignalType(sign=0),
    "view": SignalType(),
    "like": SignalType(half_life=168.0),
    "share": SignalType(half_life=168.0),
    "skip": SignalType(sign=-1),
    "dislike": SignalType(half_life=168.0, sign=-1),
}
"""What is said on purpose lasts a week, what one happens to do a day, as in [tidalDB]."""


class SignalSettings(Group):
    """[tidalDB]."""

    types: Mapping[str, SignalType] = Field(default_factory=lambda: dict(SIGNALS))
    """The types of signals that there are. ``reward`` and ``annotate`` always are among them."""
    annotations: int = Field(100, ge=0)
    """Annotations of a session that count, the last ones."""
    audit: int = Field(10_000, ge=0)
    """Decisions that a session's audit keeps, the last ones."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := {REWARD, ANNOTATE} - self.types.keys():
            raise ValueError(f"signals need the types {REWARD} and {ANNOTATE}: add {', '.join(sorted(missing))}")
        return self


class Settings(Group):
    """All settings. A group may be given as a dictionary of what differs from the defaults."""

    storage: StorageSettings = Field(default_factory=StorageSettings)
    ingestion: IngestionSettings = Field(default_factory=IngestionSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    decay: DecaySettings = Field(default_factory=DecaySettings)
    gate: GateSettings = Field(default_factory=GateSettings)
    facts: FactSettings = Field(default_factory=FactSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    affect: AffectSettings = Field(default_factory=AffectSettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    rerank: RerankSettings = Field(default_factory=RerankSettings)
    hops: HopSettings = Field(default_factory=HopSettings)
    peers: PeerSettings = Field(default_factory=PeerSettings)
    whisper: WhisperSettings = Field(default_factory=WhisperSettings)
    consolidation: ConsolidationSettings = Field(default_factory=ConsolidationSettings)
    compaction: CompactionSettings = Field(default_factory=CompactionSettings)
    dossier: DossierSettings = Field(default_factory=DossierSettings)
    capsule: CapsuleSettings = Field(default_factory=CapsuleSettings)
    brief: BriefSettings = Field(default_factory=BriefSettings)
    signals: SignalSettings = Field(default_factory=SignalSettings)
    policies: Mapping[str, Policy] = Field(default_factory=dict)
    """Policies of sessions by name."""
