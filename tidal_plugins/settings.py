"""The settings that users turn, by capability. They are frozen; give them when the memory is opened:

TidalMemory("agent.db", settings=Settings(whisper={"max_chars": 300}))
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from tidal_plugins.model.capsule import MAX_LINES
from tidal_plugins.model.session import Policy, SignalType
from tidal_plugins.shown import shown

Profile = Literal["balanced", "tidal", "attention"]

FileAction = Literal[
    "read", "write", "append", "edit", "insert", "patch", "notebook", "delete", "move", "copy", "shell", "editor",
    "search", "plan", "nothing",
]  # fmt: skip


class Group(BaseModel):
    # Validators are built when the first settings are given: defaults need none, and each group's take milliseconds.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class StorageSettings(Group):
    """The file."""

    durability: Literal["full", "fast"] = "full"
    """``full``: a commit survives a power cut. ``fast``: quicker, a power cut may take the last commits."""
    busy_timeout: float = Field(30.0, ge=0)
    """Seconds to wait for the writes of other threads and processes."""
    query_deadline: float = Field(2.0, gt=0)
    """Seconds that a question to the store may take. A recall goes on without the channel that takes longer, keywords
    or vectors, and reports it as degraded; any other question raises ``QueryTimeout``. Maintenance, reembedding, the
    export of a graph and writes are no questions."""
    exact_vectors_up_to: int = Field(25_000, ge=0)
    """Passages of a scope up to which a search compares its query with every vector, held in memory (1.5 kB each). Of
    a larger scope one bit for each dimension is held, and the passages that these choose are compared with the stored
    vectors: of 100,000 it finds .999 of the ten nearest, of a million .99. On PostgreSQL a new process loads what it
    holds when it first searches, so a process that lives for one question gains by a lower limit:
    ``docs/scale.md``."""
    column_cache_mb: int = Field(256, ge=0)
    """What searches hold in memory, in MiB, for all scopes together: the scopes used last, or one scope alone."""
    read_url: SecretStr | None = None
    """URL of a read replica of a memory on PostgreSQL. It answers recalls as soon as it has what this process wrote."""


class IngestionSettings(Group):
    """Recording and remembering."""

    max_chars: int = Field(1_000_000, gt=0)
    """Characters that one text may have."""
    max_metadata_bytes: int = Field(64 * 1024, gt=0)
    """Bytes that metadata may have as JSON."""
    max_value_bytes: int = Field(64 * 1024 * 1024, gt=0)
    """Bytes that the value of an item of a long-term store may have as JSON."""
    indexed_chars: int = Field(8_000, gt=0)
    """Characters of such an item that a search reads, the first ones that are no binary data: some 1,400 words. To
    embed as many takes 0.2 s of one core, and all of a file of 280 kB took 8 s."""


class SecretSettings(Group):
    """Passwords, keys, tokens, card numbers and IBANs in what is to be stored."""

    stored: Literal["mask", "keep", "refuse"] = "mask"
    """``mask``: a secret is replaced in every stored form, by its kind and a keyed tag: ``[password ·5f0c2b9e]``.
    ``keep``: it is stored, and masked in what is shown unless it is asked for. ``refuse``: a text with a secret raises
    ``InvalidInput``, and nothing of the call is stored."""


RetainedKind = Literal["conversation", "skill", "kb", "fact"]
"""Kinds that a rule of retention may name. What is made of them goes with them."""

RETAINED: tuple[RetainedKind, ...] = ("conversation", "skill", "kb", "fact")
"""All of them."""


class RetentionRule(Group):
    """How long memories are kept. The longest of the rules that hold for a memory counts; one without any is kept."""

    days: float = Field(gt=0)
    """Days from the recording of a memory, for a turn of its last message, until it is forgotten."""
    kinds: tuple[RetainedKind, ...] = RETAINED
    """The kinds that it holds for. ``conversation`` are the recorded turns, each with all that was said in it."""
    scope: tuple[str, ...] = ()
    """The first segments of the scopes that it holds for; empty for all."""


class ModelSettings(Group):
    """Models that write or read, such as a summariser."""

    timeout: float = Field(60.0, gt=0, le=threading.TIMEOUT_MAX)
    """Seconds to wait for an answer before extracts or rules stand in."""


class DecaySettings(Group):
    """Half-lives of the weight of an entry, in hours [Tidal §2.4]."""

    warm: float = Field(72.0, gt=0)
    """For a warm entry."""
    accessed: float = Field(168.0, gt=0)
    """For an entry that was used since it was stored."""
    emotional: float = Field(240.0, gt=0)
    """For an entry that was stored in a stirred mood."""
    cold: float = Field(720.0, gt=0)
    """For a cold entry, until it is archived."""
    important: float = Field(8.0, ge=1)
    """Importance from which an entry does not fade. The estimate gives it to allergies, medicines, keys, standing
    rules, promises and what is to be remembered: 5 of 2,342 users' turns to real assistants, 13 of 218 in stories of
    daily life and work, none of 2,960 turns of small talk. Above 10 everything fades."""


class GateSettings(Group):
    """The write gate [Anamnesis G6]."""

    enabled: bool = False
    """Whether new entries are weighed."""
    threshold: float = Field(0.35, ge=0)
    """Salience from which an entry is kept for good."""
    days: float = Field(14.0, gt=0, le=36_500)
    """Days after which other entries leave active queries, unless they are used."""


class FactSettings(Group):
    """Named facts [Capsule]."""

    max_bytes: int = Field(16 * 1024, gt=0)
    """Bytes that a fact's value may have as JSON."""


class GraphSettings(Group):
    """The graph of entities and relations [SIYA §3.3]."""

    enabled: bool = True
    """Whether recorded turns are read for entities and relations."""
    background: bool = True
    """Whether a thread reads them, and links what came up together, when nothing is being recorded. If not,
    ``graph.index_pending``, ``associations.link_pending`` and ``maintenance.run`` do."""
    half_life: float = Field(180.0, gt=0)
    """Days in which the confidence of a relation falls by half if nothing confirms it."""
    language_model: str | None = None
    """The model of spaCy that parses talk, by its name or path. ``None`` is ``en_core_web_sm``."""
    relation_threshold: float = Field(0.45, gt=0, le=1)
    """Chance from which on a relation of talk is kept. Lower ones keep more: at 0.1 eight times as many, most of which
    are wrong."""


class ReaderSettings(Group):
    """A model that reads turns for the graph, beside the rules."""

    turns: int = Field(6, gt=0, le=50)
    """Turns that it reads at a time. Of two people's turns six in one call took 336 tokens each, alone 1,061, counted
    as four characters a token: the instructions around them have 658, and alone each brings the two before it."""
    wait: float = Field(300.0, ge=0)
    """Seconds that a turn waits for others before it is read without them."""
    calls_per_day: int = Field(200, ge=0)
    """Calls from one midnight of ``Settings.time_zone`` to the next, for the whole store: at six turns a call up
    to 1,200 turns. What is left over is read the day after."""
    tokens_per_day: int = Field(500_000, ge=0)
    """The same in tokens of prompts and answers."""


class SupersessionSettings(Group):
    """What later statements supersede."""

    enabled: bool = True
    """Whether recorded turns are looked through for values that changed, and recall puts the newest first. The thread
    of ``graph.background`` does it; without one, ``supersessions.find`` and ``maintenance.run`` do."""
    sure: float = Field(0.85, gt=0, le=1)
    """Confidence from which on a whisper leaves out what is superseded, and tells the value that was replaced."""


class AffectSettings(Group):
    """The mood [Tidal §3]."""

    rule: Literal["person", "tidal"] = "person"
    """What moves the state. ``person``: what the user says, by its most charged sentences, and the answer by a tenth as
    much, whatever their lengths. ``tidal``: both texts, weighted by their lengths, the further the longer the answer
    [Tidal §3.4]. Under it ten furious turns with polite answers left the state at a valence of −.03."""
    half_life: float = Field(6.0, gt=0)
    """Hours in which the state relaxes half way to the baseline."""
    threshold: float = Field(0.5, ge=0, le=1)
    """Intensity above which the state counts as stirred."""


class RecallSettings(Group):
    """Recall [Tidal §2.3, §3.2], [Anamnesis]."""

    profile: Profile = "balanced"
    """The formula of ranking."""
    limit: int = Field(10, gt=0, le=1000)
    """Hits to return."""
    associated: int = Field(5, ge=0, le=100)
    """Entries beyond the limit that associative recall appends."""


class RerankSettings(Group):
    """A reranker, if there is one [Anamnesis]."""

    depth: int = Field(40, gt=0, le=1000)
    """Candidates that it reads: the best of the ranking without it. A larger limit of the recall replaces it."""
    seconds: float = Field(2.0, gt=0, le=threading.TIMEOUT_MAX)
    """Seconds that it has before the ranking without it stands. A model of six layers reads 40 spoken turns in about
    half a second on a busy core, 40 passages of 120 words in two."""


class HopSettings(Group):
    """Recall over several hops."""

    hops: int = Field(1, ge=1, le=10)
    """Hops of a recall by default; 1 is the query alone. On the development conversations later hops find less (recall
    of all hits 86.0) than as many hits of the first do (87.1), and each costs as much again. They are for questions
    about somebody whom they do not name."""
    ms: float = Field(1_000.0, gt=0, le=3_600_000)
    """Milliseconds after which no further query is asked. An assessor has the same time for its answers."""


class PeerSettings(Group):
    """Other memories that recall asks [Anamnesis G5]."""

    trust: float = Field(0.8, gt=0, le=1)
    """The factor by which the scores of a peer's hits are multiplied, if the peer has no trust of its own. At 0.8 an
    own memory comes first unless a peer's is nearer by .045 of cosine."""
    timeout: float = Field(1.0, ge=0, le=3_600)
    """Seconds to wait for a process that has a peer's file locked."""


class WhisperSettings(Group):
    """The whisper [Tidal §2.3]."""

    max_entries: int = Field(3, gt=0, le=20)
    """Memories that it may show."""
    max_chars: int = Field(500, ge=200)
    """Characters of the whole whisper, frame and preamble included."""
    least_words: int = Field(1, ge=0)
    """Words with content that a turn needs before anything surfaces."""
    threshold: float = Field(0.285, ge=0, le=1)
    """Chance that a recall needs to hold something that helps for anything to surface. On LoCoMo it keeps nine in ten
    of the questions that recall answers, and stays silent on more than a third of them once their evidence is taken out
    of the memory. 0 for no thresholds at all, neither this one nor the next two."""
    line_threshold: float = Field(0.075, ge=0, le=1)
    """Chance that each memory needs to help itself. On the development data it keeps nearly every answer that no such
    threshold would show; a higher one shows fewer lines that do not help, and loses answers."""
    important: float = Field(0.5, ge=0, le=1)
    """Share of ``threshold`` from which on what the person said for good, such as an allergy or a standing rule,
    surfaces for a turn that asks, if it is among the first."""
    thoughts: bool = False
    """Whether a whisper that has room ends with a thought seed of which it shows one memory."""
    statement_threshold: float = Field(0.7, ge=0, le=1)
    """``threshold`` for a turn of 9 to 50 words that only tells and asks for nothing. On the development data six in
    seven turns that only tell, of whatever length, are met with silence; of the four in the chats three are."""


class ConsolidationSettings(Group):
    """Maintenance runs."""

    seeds: int = Field(3, ge=0, le=100)
    """Thought seeds that a run names."""
    runs: int = Field(30, gt=0)
    """The last runs that can be undone."""


class FileTool(Group):
    """A tool of an agent that reads or changes files, or else, for ``Settings(compaction={"file_tools": {name: …}})``.

    Names of arguments that widespread tools use («file_path», «old_string», …) need not be given.
    """

    does: FileAction
    """``shell`` runs commands, ``editor`` has the action in its argument ``command``, ``notebook`` changes a cell;
    ``search`` and ``plan`` change no file, and neither does ``nothing``."""
    path: str | None = None
    """The argument that names the file."""
    content: str | None = None
    """The argument that holds the content, the patch, the command, or the text that is inserted or appended."""
    old: str | None = None
    """The argument that holds the text that an edit replaces."""
    new: str | None = None
    """The argument that holds the new text of an edit, or the new path of a rename."""


class CompactionSettings(Group):
    """Compaction [SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    max_tokens: int = Field(32_000, gt=0)
    """Tokens of everything sent to the model: system prompt, tool schemas, whisper, messages."""
    max_bytes: int = Field(4_000_000, gt=0)
    """The same in bytes, serialised. Images weigh little in tokens and much in bytes."""
    compact: float = Field(0.85, gt=0, le=1)
    """Share at which the context is rebuilt."""
    target: float = Field(0.60, gt=0, le=1)
    """Share that a rebuilt context should not exceed without its files."""
    max_files: int = Field(5, ge=0)
    """Files that are restored."""
    file_tools: Mapping[str, FileAction | FileTool] = Field(default_factory=dict)
    """What tools by other names than the usual ones do: ``{"fetch_source": "read"}``. Files and summaries follow it."""
    system_paths: tuple[str, ...] = (
        ".git", ".hg", ".svn", ".idea", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
        "dist-packages", "node_modules", "site-packages", "venv",
    )  # fmt: skip
    """Folders whose files are never restored."""


class DossierSettings(Group):
    """Dossiers [Capsule]."""

    refresh: float = Field(2.0, ge=0)
    """Hours after which a dossier is due again."""
    max_tokens: int = Field(600, gt=0)
    """Tokens of a dossier's text, citations included."""
    versions: int = Field(20, ge=0)
    """Earlier versions that stay readable."""


class CapsuleSettings(Group):
    """The capsule [Capsule]."""

    max_lines: int = Field(MAX_LINES, ge=100)
    """Lines of the whole capsule."""


class PresenceSettings(Group):
    """The presence [Tidal §4–5]. What each person allows is said by ``memory.presence.allow``."""

    threshold: float = Field(0.5, ge=0, le=1)
    """Score of the gate from which the memory may speak first [Tidal §5]."""
    written: bool = False
    """Whether the summariser, if there is one, writes the message. Its sentences stand only where the sources bear
    them out."""


class BriefSettings(Group):
    """Briefs [Capsule]."""

    max_chars: int = Field(2_000, ge=200)
    """Characters of a brief."""


REWARD, ANNOTATE = "reward", "annotate"

SIGNALS: Mapping[str, SignalType] = {
    REWARD: SignalType.model_construct(),
    ANNOTATE: SignalType.model_construct(sign=0),
    "view": SignalType.model_construct(),
    "like": SignalType.model_construct(half_life=168.0),
    "share": SignalType.model_construct(half_life=168.0),
    "skip": SignalType.model_construct(sign=-1),
    "dislike": SignalType.model_construct(half_life=168.0, sign=-1),
}
"""Deliberate signals last a week, incidental ones a day, as in [tidalDB]."""


class SignalSettings(Group):
    """Signals and sessions [tidalDB]."""

    types: Mapping[str, SignalType] = Field(default_factory=lambda: dict(SIGNALS))
    """The types of signals. ``reward`` and ``annotate`` must be among them."""
    annotations: int = Field(100, ge=0)
    """The last annotations of a session that count."""
    audit: int = Field(10_000, ge=0)
    """The last decisions that the audit of a session keeps."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := {REWARD, ANNOTATE} - self.types.keys():
            raise ValueError(f"signals need the types {REWARD} and {ANNOTATE}: add {', '.join(sorted(missing))}")
        return self


class Settings(Group):
    """All settings. A group may be given as a dictionary of the fields that differ from the defaults."""

    time_zone: str = "UTC"
    """The time zone by which a moment belongs to a day, by its IANA name, such as ``Europe/Berlin``: for «yesterday»
    and «by Friday» in a query or a memory, and for the dates of whispers, dossiers, briefs and capsules. What is stored
    and returned as a time does not depend on it."""
    storage: StorageSettings = Field(default_factory=StorageSettings.model_construct)
    ingestion: IngestionSettings = Field(default_factory=IngestionSettings.model_construct)
    secrets: SecretSettings = Field(default_factory=SecretSettings.model_construct)
    models: ModelSettings = Field(default_factory=ModelSettings.model_construct)
    decay: DecaySettings = Field(default_factory=DecaySettings.model_construct)
    gate: GateSettings = Field(default_factory=GateSettings.model_construct)
    facts: FactSettings = Field(default_factory=FactSettings.model_construct)
    graph: GraphSettings = Field(default_factory=GraphSettings.model_construct)
    reader: ReaderSettings = Field(default_factory=ReaderSettings.model_construct)
    supersession: SupersessionSettings = Field(default_factory=SupersessionSettings.model_construct)
    affect: AffectSettings = Field(default_factory=AffectSettings.model_construct)
    recall: RecallSettings = Field(default_factory=RecallSettings.model_construct)
    rerank: RerankSettings = Field(default_factory=RerankSettings.model_construct)
    hops: HopSettings = Field(default_factory=HopSettings.model_construct)
    peers: PeerSettings = Field(default_factory=PeerSettings.model_construct)
    whisper: WhisperSettings = Field(default_factory=WhisperSettings.model_construct)
    consolidation: ConsolidationSettings = Field(default_factory=ConsolidationSettings.model_construct)
    compaction: CompactionSettings = Field(default_factory=CompactionSettings.model_construct)
    dossier: DossierSettings = Field(default_factory=DossierSettings.model_construct)
    capsule: CapsuleSettings = Field(default_factory=CapsuleSettings.model_construct)
    brief: BriefSettings = Field(default_factory=BriefSettings.model_construct)
    presence: PresenceSettings = Field(default_factory=PresenceSettings.model_construct)
    signals: SignalSettings = Field(default_factory=SignalSettings.model_construct)
    retention: tuple[RetentionRule, ...] = ()
    """How long what is kept; maintenance forgets the rest. Without rules nothing is forgotten."""
    policies: Mapping[str, Policy] = Field(default_factory=dict)
    """Policies of sessions by name."""

    @field_validator("time_zone")
    @classmethod
    def _is_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"{shown(name)} is no time zone that is known here: give a name such as 'Europe/Berlin'"
            ) from error
        return name

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone."""
        return ZoneInfo(self.time_zone)
