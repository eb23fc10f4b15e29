"""The settings that users turn, by capability. They are frozen; give them when the memory is opened:

TidalMemory("agent.db", settings=Settings(whisper={"max_chars": 300}))
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from tidal_plugins.model.delimiters import around
from tidal_plugins.model.session import Policy, SignalType
from tidal_plugins.shown import shown
from tidal_plugins.tuning import W, tuned

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
    vectors: of 100,000 it finds .999 of the ten nearest, of a million .99. The first two searches of a scope by a
    process compare in the file, by these bits. On PostgreSQL a new process loads what it
    holds when it first searches, so a process that lives for one question gains by a lower limit:
    ``docs/scale.md``."""
    column_cache_mb: int = Field(256, ge=0)
    """What searches hold in memory, in MiB, for all scopes together: the scopes used last, or one scope alone."""
    migrate: bool = True
    """Whether a memory that an earlier version of the library wrote is brought up to date when it is opened for
    writing, after a copy of its file was made beside it. If not, it is refused."""
    read_url: SecretStr | None = None
    """URL of a read replica of a memory on PostgreSQL. It answers recalls as soon as it has what this process wrote."""


class RecordingSettings(Group):
    """Recording and remembering."""

    max_chars: int = Field(1_000_000, gt=0)
    """Characters that one text may have."""
    secrets: Literal["mask", "keep", "refuse"] = "mask"
    """Passwords, keys, tokens, card numbers and IBANs in what is to be stored. ``mask``: a secret is replaced in every
    stored form, by its kind and a keyed tag: ``[password ·5f0c2b9e]``. ``keep``: it is stored, and masked in what is
    shown unless it is asked for. ``refuse``: a text with a secret raises ``InvalidInput``, and nothing of the call is
    stored."""
    gate: bool = False
    """Whether new entries are weighed at the write gate [Anamnesis G6]: those below ``gate.threshold`` leave active
    queries after ``gate.days``, unless they are used."""


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
    calls_per_day: int = Field(200, ge=0)
    """Calls of a model that reads turns for the graph, from one midnight of ``Settings.time_zone`` to the next, for the
    whole store: at six turns a call up to 1,200 turns. What is left over is read the day after."""
    tokens_per_day: int = Field(500_000, ge=0)
    """The same in tokens of prompts and answers."""


class GraphSettings(Group):
    """What recorded turns are read for: entities, relations [SIYA §3.3], and values that changed."""

    enabled: bool = True
    """Whether recorded turns are read for entities and relations."""
    supersession: bool = True
    """Whether recorded turns are looked through for values that changed, and recall puts the newest first. The thread
    of ``background`` does it; without one, ``supersessions.find`` and ``maintenance.run`` do."""
    background: bool = True
    """Whether a thread reads them, and links what came up together, when nothing is being recorded. If not,
    ``graph.index_pending``, ``associations.link_pending`` and ``maintenance.run`` do."""
    language_model: str | None = None
    """The model of spaCy that parses talk, by its name or path. ``None`` is ``en_core_web_sm``."""


class RecallSettings(Group):
    """Recall [Tidal §2.3, §3.2], [Anamnesis]."""

    profile: Profile = "balanced"
    """The formula of ranking."""
    limit: int = Field(10, gt=0, le=1000)
    """Hits to return."""
    hops: int = Field(1, ge=1, le=10)
    """Hops of a recall by default; 1 is the query alone. On the development conversations later hops find less (recall
    of all hits 86.0) than as many hits of the first do (87.1), and each costs as much again. They are for questions
    about somebody whom they do not name."""


class WhisperSettings(Group):
    """The whisper [Tidal §2.3]."""

    max_entries: int = Field(3, gt=0, le=20)
    """Memories that it may show."""
    max_chars: int = Field(500, ge=200, le=4_000)
    """Characters of the memories' own text. The delimiters and the heads of the lines take at most 250 more, and 60 for
    each memory above three."""
    threshold: float = Field(0.285, ge=0, le=1)
    """Least estimated chance that the recall holds a memory that helps, for anything to surface. On LoCoMo it keeps
    nine in ten of the questions that recall answers, and stays silent on more than a third of them once their evidence
    is taken out of the memory. 0 for no thresholds at all, neither this one nor those of lines and statements."""
    thoughts: bool = False
    """Whether a whisper that has room ends with a thought seed of which it shows one memory."""

    @property
    def most_chars(self) -> int:
        """Return how many characters a whole whisper has at most."""
        return self.max_chars + around(self.max_entries)


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
    max_files: int = Field(5, ge=0)
    """Files that are restored."""
    file_tools: Mapping[str, FileAction | FileTool] = Field(default_factory=dict)
    """What tools by other names than the usual ones do: ``{"fetch_source": "read"}``. Files and summaries follow it."""


class PresenceSettings(Group):
    """The presence [Tidal §4–5]. What each person allows is said by ``memory.presence.allow``."""

    threshold: float = Field(0.5, ge=0, le=1)
    """Score of the gate from which the memory may speak first [Tidal §5]."""
    written: bool = False
    """Whether the summariser, if there is one, writes the message. Its sentences stand only where the sources bear
    them out."""


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


class Settings(Group):
    """All settings. A group may be given as a dictionary of the fields that differ from the defaults."""

    time_zone: str = "UTC"
    """The time zone by which a moment belongs to a day, by its IANA name, such as ``Europe/Berlin``: for «yesterday»
    and «by Friday» in a query or a memory, and for the dates of whispers, dossiers, briefs and capsules. What is stored
    and returned as a time does not depend on it."""
    storage: StorageSettings = Field(default_factory=StorageSettings.model_construct)
    recording: RecordingSettings = Field(default_factory=RecordingSettings.model_construct)
    graph: GraphSettings = Field(default_factory=GraphSettings.model_construct)
    models: ModelSettings = Field(default_factory=ModelSettings.model_construct)
    recall: RecallSettings = Field(default_factory=RecallSettings.model_construct)
    whisper: WhisperSettings = Field(default_factory=WhisperSettings.model_construct)
    compaction: CompactionSettings = Field(default_factory=CompactionSettings.model_construct)
    presence: PresenceSettings = Field(default_factory=PresenceSettings.model_construct)
    retention: tuple[RetentionRule, ...] = ()
    """How long what is kept; maintenance forgets the rest. Without rules nothing is forgotten."""
    policies: Mapping[str, Policy] = Field(default_factory=dict)
    """Policies of sessions by name."""
    signals: Mapping[str, SignalType] = Field(default_factory=lambda: dict(SIGNALS))
    """The types of signals by name [tidalDB]. ``reward`` and ``annotate`` must be among them."""
    tuning: Mapping[str, bool | int | float | str | tuple[str, ...]] = Field(default_factory=dict)
    """Weights and limits of the mechanisms by name: ``{"consolidation.turns": 5, "decay.floor": 0.02}``. The reference
    lists all names; ``TidalMemory`` raises ``InvalidInput`` for one that it does not know, and names the nearest."""

    @field_validator("signals")
    @classmethod
    def _complete(cls, types: Mapping[str, SignalType]) -> Mapping[str, SignalType]:
        if missing := {REWARD, ANNOTATE} - types.keys():
            raise ValueError(f"signals need the types {REWARD} and {ANNOTATE}: add {', '.join(sorted(missing))}")
        return types

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

    def __getitem__(self, kind: type[W]) -> W:
        """Return a group of weights, such as ``settings[DecayTuning]``, with the values that ``tuning`` gives."""
        return tuned(kind, self, self.tuning)

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone."""
        return ZoneInfo(self.time_zone)
