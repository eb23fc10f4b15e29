"""The semantic graph in words: what a text names and says, what is known of it, and from where [SIYA §3.3]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

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
        "stepson_of stepdaughter_of brother_in_law_of sister_in_law_of relative_of"
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
