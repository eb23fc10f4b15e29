"""The semantic graph in words: what a text names and says, what is known of it, and from where [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple

from tidal_plugins.patterns import lazy_re

Category = Literal["technical", "contextual", "behavioural"]

Reader = Literal["rules", "model", "agent"]
"""Who read a relation: the rules or the extractor in their place, a model that reads beside them, or an agent that
stated it with a tool."""

PREDICATES = frozenset(
    (
        "is depends_on calls imports contains defined_in extends tests passes fails causes fixed_by has_version "
        "configured_as raises has_status located_in uses prefers prefers_over likes dislikes decided chose must "
        "always never lives_in from_place works_at works_as responsible_for on_call member_of studies owns has_pet "
        "created costs attends visited plays plans wants promised appointment deadline allergic_to has_condition "
        "takes diet age_is partner_of friend_of neighbour_of colleague_of manager_of flatmate_of landlord_of "
        "mentor_of teacher_of coach_of sister_of brother_of mother_of father_of daughter_of son_of child_of "
        "grandchild_of wife_of husband_of girlfriend_of boyfriend_of widow_of twin_of grandmother_of grandfather_of "
        "aunt_of uncle_of cousin_of niece_of nephew_of godmother_of godfather_of stepmother_of stepfather_of "
        "has_purpose stepson_of stepdaughter_of brother_in_law_of sister_in_law_of relative_of"
    ).split()
)
"""The predicates that the rules read; a model may say others, in snake case."""

WORD = lazy_re(r"[a-z][a-z0-9_]{0,63}")
"""Form of a type of entities and of a predicate."""

DEPENDENCIES = ("depends_on", "calls", "imports", "uses", "extends", "tests")
"""The predicates whose subject a change of the object affects."""


STRUCTURE = frozenset(["defined_in", "contains", "imports", "calls", "extends", "tests"])
"""The predicates that say how code is built."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named in a text, at ``text[start:end]``.

    Attributes:
        name: the name as it stands in the text; a person called «I» or «you» need not be named there.
        type: a word such as file, function, class, module, package, variable, url, config, error, person, preference,
            decision, rule, concept, place or date.
        category: technical, contextual or behavioural.
        start: where the supporting span begins.
        end: where it ends.
    """

    name: str
    type: str
    category: Category
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """A text's assertion about two entities: ``text[start:end]`` supports it, ``confidence`` lies in (0, 1].

    ``valid_from`` and ``valid_until`` say when it is true, as far as the text says so. What is ``ended`` was true until
    it was said, or until the day that the sentence names: «I used to live in Rome», «my last day at the mill».
    """

    subject: Mention
    predicate: str
    object: Mention
    start: int
    end: int
    confidence: float
    negated: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """The entities and assertions of one text, in its order."""

    mentions: tuple[Mention, ...] = ()
    assertions: tuple[Assertion, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The extraction from one message of an episode: ``episode.messages[position]``, whose entry is ``entry``.

    With a ``call`` its spans are those of :attr:`ToolCall.text` of that call of the message. ``parsed`` says that names
    were made by a parser, and need not stand in their spans as they are. ``reader`` says who read. ``elsewhere`` are
    names that other messages have, and that need not stand in their spans either.
    """

    position: int
    entry: str | None
    extraction: Extraction
    call: int | None = None
    parsed: bool = False
    reader: Reader = "rules"
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place where something was learned: characters ``start`` to ``end`` of a message of an episode.

    ``quote`` are its words, verbatim, and ``entry`` is the message's entry. Evidence from another graph has that
    graph's name for an episode, and no quote. ``reader`` is who read it. What an agent stated with a tool has no quote.
    """

    episode: str
    thread: str | None
    entry: str | None
    start: int
    end: int
    quote: str
    at: datetime
    confidence: float
    reader: Reader = "rules"

    @property
    def citation(self) -> str:
        """Return the episode as a citation, such as ``[ep:0190…]``."""
        return f"[ep:{self.episode}]"


@dataclass(frozen=True, slots=True)
class Entity:
    """A known thing, with the names it goes by, and the episodes and threads that name it, newest first."""

    id: str
    name: str
    type: str
    category: Category
    aliases: tuple[str, ...]
    episodes: tuple[str, ...]
    threads: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two entities, with its confidence and its times [SIYA §3.3].

    ``subject`` and ``object`` are ids of entities; ``episodes`` and ``threads`` are where it was said, newest first.
    """

    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    episodes: tuple[str, ...]
    threads: tuple[str, ...]
    negated: bool = False


class Edge(NamedTuple):
    """A relation as a walk sees it: from ``node`` to the ``other`` end, ``forward`` where ``node`` is its subject."""

    node: str
    other: str
    forward: bool
    relation: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity that a walk reached. ``path`` has the relations from the start of the walk, in order."""

    entity: Entity
    distance: int
    path: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two entities that may be one, with the ``similarity`` of their names in [0, 1] and the ``reason``."""

    first: Entity
    second: Entity
    similarity: float
    reason: str


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of two entities: ``absorbed`` goes by the name of ``kept``, until ``undone_at``."""

    id: str
    kept: str
    absorbed: str
    at: datetime
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The changes by indexing.

    They are the ids of entities that are new or have another type, and of relations that are new, confirmed, closed or
    open again. ``dropped`` counts the mentions and assertions that the text does not support.
    """

    entities: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Gone:
    """The changes by forgetting.

    They are the ids of everything that was removed, of relations and entities that lost something or hold at other
    times, and of entities that have another name now.
    """

    entities: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()
    lessened: frozenset[str] = frozenset()
    renamed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model to one prompt.

    Attributes:
        content: the text that it wrote, or the arguments of a structure.
        tokens_in: tokens of the prompt as the provider counted them; ``None`` if it did not say.
        tokens_out: tokens of the answer, the same.
    """

    content: str | Mapping[str, Any]
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderUsage:
    """The work and the cost of the model that reads the turns of one scope, since the store was made.

    Attributes:
        waiting: turns that wait to be read by it.
        turns: turns that it has read.
        calls: calls of the model, those that failed included.
        tokens_in: tokens of the prompts.
        tokens_out: tokens of the answers. Where a provider does not count, a token is four characters.
        kept: relations that became evidence in the graph.
        facts: values that became facts, confirm them, or contradict what was set, which opens a conflict.
        summaries: summaries that became those of their episodes.
        refused: relations and facts without a verbatim quotation, or of things that the episode does not name,
            sentences of summaries with names, numbers or dates that it does not have, and what is none of these.
        passed: what is asked, wished, imagined, rumoured or joked, and facts of the past, which are not kept.
        failures: calls that failed or whose answer could not be read.
        calls_today: calls since midnight for all scopes of the store, which the budget counts.
        tokens_today: tokens since midnight, the same.
    """

    waiting: int = 0
    turns: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    kept: int = 0
    facts: int = 0
    summaries: int = 0
    refused: int = 0
    passed: int = 0
    failures: int = 0
    calls_today: int = 0
    tokens_today: int = 0


@dataclass(frozen=True, slots=True)
class Pending:
    """An episode that waits to be read into the graph.

    Attributes:
        episode: its id.
        since: when it was recorded.
        attempts: how often reading it has failed.
        error: the error of the last attempt.
        next_at: when it is tried again; ``None`` if it waits until somebody asks.
        model: whether it waits for the model that reads beside the rules.
    """

    episode: str
    since: datetime
    attempts: int = 0
    error: str | None = None
    next_at: datetime | None = None
    model: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of reading pending episodes.

    Attributes:
        episodes: how many were read.
        failed: how many could not be read, and stay in the queue.
        mentions: how many names were found in them.
        assertions: how many statements were found in them.
        dropped: how many of both were left out, because their span is not in the text or cannot be used.
        facts: how many entries recall finds now that are new or changed.
    """

    episodes: int = 0
    failed: int = 0
    mentions: int = 0
    assertions: int = 0
    dropped: int = 0
    facts: int = 0

    def __add__(self, other: Extracted) -> Extracted:
        names = [field.name for field in fields(self)]
        return Extracted(**{name: getattr(self, name) + getattr(other, name) for name in names})


Status = Literal["holds", "ended", "planned", "denied", "superseded"]


@dataclass(frozen=True, slots=True)
class SinkEntity:
    """An entity; those that were merged into it are among its ``aliases``."""

    id: str
    name: str
    type: str
    category: Category
    aliases: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class SinkEpisode:
    """An episode that the graph rests on: ``mentions`` are ids of entities, ``relations`` of what it is evidence for.

    ``text`` has its messages, one after another, for a sink that wants them, with secrets masked; else it is empty.
    """

    id: str
    thread: str | None
    at: datetime
    mentions: tuple[str, ...]
    relations: tuple[str, ...]
    text: str = ""

    @property
    def citation(self) -> str:
        """Return the episode as a citation, such as ``[ep:0190…]``."""
        return f"[ep:{self.id}]"


@dataclass(frozen=True, slots=True)
class SinkRelation:
    """One version of a relation.

    Attributes:
        id: the version's own id.
        relation: the relation's id, as ``memory.graph`` knows it. It is the ``id`` of what is believed now.
        subject: the id of an entity.
        predicate: what the one is or does to the other, in snake case.
        object: the id of an entity.
        negated: whether it is denied.
        status: ``superseded`` is no longer believed, ``denied`` is said not to be, ``ended`` was true, ``planned``
            becomes true, and ``holds`` is true now, at the time of mirroring.
        fact: the relation in words.
        confidence: in (0, 1], when it was last confirmed; ``memory.graph`` lets it fade from then on.
        confirmed_at: when that was.
        valid_from: when it became true, as far as anybody said.
        valid_until: when it ended, as far as anybody said.
        recorded_at: since when it is believed.
        superseded_at: until when it was believed.
        evidence: where it was said, newest first, by citations without words.
    """

    id: str
    relation: str
    subject: str
    predicate: str
    object: str
    negated: bool
    status: Status
    fact: str
    confidence: float
    confirmed_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class SinkIds:
    """Ids of entities, episodes and relations."""

    entities: frozenset[str] = frozenset()
    episodes: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """Changes that a sink applies: what is ``removed`` first, then entities, episodes and relations, each whole.

    ``graph`` is an id of letters and digits that stands for one scope of one store, so that several may share an
    engine; ``scope`` is the name of the scope, such as ``user/42``.
    """

    graph: str
    scope: str
    removed: SinkIds = SinkIds()
    entities: tuple[SinkEntity, ...] = ()
    episodes: tuple[SinkEpisode, ...] = ()
    relations: tuple[SinkRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The result of mirroring a graph: how much was written, new or changed, how much was removed, and what stayed."""

    entities: int = 0
    episodes: int = 0
    relations: int = 0
    removed: int = 0
    unchanged: int = 0

    def __str__(self) -> str:
        wrote = f"{self.entities:,} entities, {self.episodes:,} episodes and {self.relations:,} relations written"
        return f"{wrote}, {self.removed:,} removed, {self.unchanged:,} unchanged"
