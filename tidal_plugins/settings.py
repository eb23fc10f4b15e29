"""Every number with a meaning, by capability. All of it is frozen; change it when the memory is opened:

TidalMemory("agent.db", settings=Settings(whisper={"max_chars": 300}))
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Profile = Literal["balanced", "tidal", "attention"]


class _Group(BaseModel):
    # Validators are built when the first memory is opened, not at import.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class StorageSettings(_Group):
    durability: Literal["full", "fast"] = "full"
    """``full``: a commit survives a power cut. ``fast``: quicker, a power cut may take the last commits."""
    busy_timeout: float = Field(30.0, ge=0)
    """Seconds to wait for another process's write."""
    query_deadline: float = Field(2.0, gt=0)
    """Seconds that a keyword search may take before recall goes on without it."""
    vector_cache_mb: int = Field(256, ge=0)
    """Vectors held in memory, in MiB, for all scopes together; a larger scope is scanned in the file."""


class IngestionSettings(_Group):
    max_chars: int = Field(1_000_000, gt=0)
    """Characters that one text may have."""
    max_metadata_bytes: int = Field(64 * 1024, gt=0)
    """Bytes that metadata may have as JSON."""
    whole_words: int = Field(180, ge=20)
    """Words up to which a text is one passage: about what the embedder reads (MiniLM: 256 word pieces)."""
    passage_words: int = Field(120, ge=20)
    """Words of a passage of a longer text."""
    summary_chars: int = Field(320, ge=40)
    """Characters of an episode's summary."""
    batch: int = Field(64, gt=0)
    """Notes or turns that a bulk write embeds and commits together."""
    batch_chars: int = Field(20_000, gt=0)
    """Characters after which a batch is closed sooner, so that long documents show progress too."""


class DecaySettings(_Group):
    """[Tidal §2.4]; times in hours."""

    warm: float = Field(72.0, gt=0)
    accessed: float = Field(168.0, gt=0)
    """Of an entry that was used since it was stored: from when use is recorded."""
    emotional: float = Field(240.0, gt=0)
    cold: float = Field(720.0, gt=0)
    floor: float = Field(0.01, gt=0, lt=1)
    """Weight below which an entry graduates to the next colder tier."""


class AffectSettings(_Group):
    """[Tidal §3]."""

    half_life: float = Field(6.0, gt=0)
    """Hours in which the state relaxes half way to the baseline."""
    baseline: float = Field(0.0, ge=-1, le=1)
    rate: float = Field(0.5, gt=0, le=1)
    """How far one exchange with a long answer moves the state."""
    full_chars: int = Field(400, gt=0)
    """Length of an answer that counts in full."""
    least: float = Field(0.1, ge=0, le=1)
    """What the shortest answer counts, of the rate."""
    threshold: float = Field(0.5, ge=0, le=1)
    """Intensity above which the state counts as stirred."""
    silence: float = Field(0.05, ge=0, le=1)
    """Intensity below which there is no current affect."""


class RecallSettings(_Group):
    """[Tidal §2.3, §3.2], [Anamnesis]."""

    profile: Profile = "balanced"
    limit: int = Field(10, gt=0, le=1000)
    pool: int = Field(100, gt=0, le=4000)
    """Candidates from each channel, at least; twice the limit where that is more."""
    shortlist: int = Field(40, gt=0, le=8000)
    """Of those, how many are ranked in full, at least; four times the limit where that is more. All of them bring
    nothing more on the development conversations (recall@10 74.9 against 75.0), and cost 2 ms."""
    rrf: int = Field(60, gt=0)
    """Constant of reciprocal rank fusion, in the profile ``attention``."""
    keywords: float = Field(0.35, ge=0)
    """Weight of keyword strength against cosine; between .3 and .7 conversations and chats do nearly alike."""
    brevity: float = Field(30.0, gt=0)
    """Words up to which a passage counts as short: the length of a spoken turn."""
    speaker: float = Field(0.2, ge=0)
    """Added where the query names the speaker: 4 nats of the embedder's scale (.05 each), since nearly all that is
    asked about a person was said by that person."""
    passages: float = Field(0.05, ge=0)
    """Taken off per nat of an entry's number of passages: many passages are many chances of a high maximum."""
    assistant: float = Field(0.05, ge=0)
    """Taken off an assistant's answer: users come back mostly to what they said themselves."""
    sharpness: float = Field(5.0, gt=0)
    """Relevance falls to 1/e when the fused score falls by 1/sharpness, so that a factor moves near rivals only."""
    importance: float = Field(0.5, ge=0, le=1)
    """Share of the importance factor that counts: half measures best or as good on every kind of conversation."""
    decay: float = Field(0.05, ge=0, le=1)
    """Share of an entry's strength that counts (λ); undamped, every month-old memory would sink below fresh ones."""
    alpha_calm: float = Field(0.7, ge=0, le=1)
    """Share of meaning against feeling, α, while calm; ``balanced`` scales its ``feeling`` with 1 − α."""
    alpha_stirred: float = Field(0.3, ge=0, le=1)
    """The same above the affect threshold."""
    feeling: float = Field(0.4, ge=0)
    """What full likeness of feeling is worth in the profile ``balanced``, in cosine, times 1 − α: it decides between
    memories that are about equally near, and cannot lift one that has nothing to do with the turn."""
    emotion: float = Field(0.3, ge=0, le=1)
    """Weight of the emotion vectors' cosine."""


class WhisperSettings(_Group):
    """[Tidal §2.3]."""

    max_entries: int = Field(3, gt=0, le=20)
    max_chars: int = Field(500, ge=200)
    """Characters of the whole whisper, frame and preamble included."""
    least_words: int = Field(1, ge=0)
    """Words with a content that a turn needs before anything surfaces."""
    bar: float = Field(0.46, ge=0)
    """Nearness that a memory needs to surface: MiniLM gives unrelated texts cosines up to about .3. It keeps 91 % of
    the questions that recall answers on LoCoMo, and is silent on 96 % of small talk and on what nobody spoke of."""
    keywords: float = Field(0.25, ge=0)
    """How much the query's rare words in a memory help it over the bar."""


class CompactionSettings(_Group):
    """[SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    max_tokens: int = Field(32_000, gt=0)
    """Tokens that everything sent to the model may have: system prompt, tool schemas, whisper, messages."""
    max_bytes: int = Field(4_000_000, gt=0)
    """The same in bytes, serialized: images weigh little in tokens and much here."""
    prepare: float = Field(0.70, gt=0, le=1)
    """Share at which the summary is prepared in the background."""
    compact: float = Field(0.85, gt=0, le=1)
    """Share at which the context is rebuilt."""
    hard: float = Field(0.95, gt=0, le=1)
    """Share above which files are left out, the summary is tightened and a long ongoing turn folds."""
    target: float = Field(0.60, gt=0, le=1)
    """Share that a rebuilt context should not exceed without its files, so that it is not rebuilt again at once."""
    summary: float = Field(0.40, gt=0, lt=1)
    """Share that the summary may take: it stays the same between compactions, so that providers cache it."""
    summary_hard: float = Field(0.20, gt=0, lt=1)
    """The same in the hard stage."""
    synthesis: float = Field(0.08, gt=0, lt=1)
    """Share that the synthesis of the last completed turn, or of a folded part of the ongoing one, may take."""
    least: float = Field(0.15, gt=0, lt=1)
    """Share that the written texts should have: where the target leaves less, a context may be fuller."""
    cited: float = Field(0.2, ge=0, lt=1)
    """Of the summary's room, the part for citations of what is not told in it."""
    patience: float = Field(60.0, gt=0)
    """Seconds to wait for a model's summary before extracts stand in."""
    files: float = Field(0.20, ge=0, lt=1)
    """Share that all restored files may take."""
    file: float = Field(0.08, ge=0, lt=1)
    """Share that one restored file may take; what is longer is cut at a line."""
    max_files: int = Field(5, ge=0)
    file_window: int = Field(20, ge=0)
    """Last messages before a compaction in which files are looked for."""
    read_tools: tuple[str, ...] = ("Read",)
    """Tools whose result is a file's content."""
    path_arguments: tuple[str, ...] = ("file_path", "path", "filepath", "filename", "file", "target_file")
    """Arguments that name the file."""
    system_paths: tuple[str, ...] = (
        ".git", ".hg", ".svn", ".idea", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
        "dist-packages", "node_modules", "site-packages", "venv",
    )  # fmt: skip
    """Folders whose files are never restored."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.target < self.compact < self.hard or not self.prepare <= self.compact:
            raise ValueError("compaction needs target < compact < hard, and prepare no larger than compact")
        return self


class Settings(_Group):
    """All settings. A group may be given as a dictionary of what differs from the defaults."""

    storage: StorageSettings = Field(default_factory=StorageSettings)
    ingestion: IngestionSettings = Field(default_factory=IngestionSettings)
    decay: DecaySettings = Field(default_factory=DecaySettings)
    affect: AffectSettings = Field(default_factory=AffectSettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    whisper: WhisperSettings = Field(default_factory=WhisperSettings)
    compaction: CompactionSettings = Field(default_factory=CompactionSettings)
