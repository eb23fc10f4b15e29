"""Statements of an agent: what it says by a tool goes into the graph as what was read does, under its own name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.indexing.writing import MessagePart, WriteBatch, apply
from tidal_plugins.graph.reading.mentions import OBJECT_TYPES, PERSONAL
from tidal_plugins.graph.reading.quotes import PERSON, category, snake
from tidal_plugins.graph.records.entities import IMPORT, MAX_NAME, Named, Place, bare, called, entity_id, nodes
from tidal_plugins.graph.records.relations import Triple, chain
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope, bare_id
from tidal_plugins.model.graph import WORD, Assertion, Mention
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.validation import check_flag, label

AGENT = "agent"
"""The speaker of what an agent states, and the source of what it states outside a turn."""

CONFIDENCE = 0.9
"""Confidence of what an agent states: that of the surest forms of the rules. What others said confirms it further."""

_USER = frozenset(("user", "the user", "you"))
_ITSELF = frozenset(("i", "me", "myself", "assistant", "the assistant", "agent"))


@dataclass(frozen=True, slots=True)
class AgentStatement:
    """What an agent states of two things, in the turn ``turn`` (an episode's id) if that is known.

    A type that is not given is that of the entity of this name, or the usual one of the predicate. Raises
    ``InvalidInput`` for a predicate or a type that is no word, and for times out of order.
    """

    subject: str
    predicate: str
    object: str
    subject_type: str | None = None
    object_type: str | None = None
    negated: bool = False
    ended: bool = False
    since: datetime | None = None
    until: datetime | None = None
    turn: str | None = None
    thread: str | None = None

    def __post_init__(self) -> None:
        for name in ("subject_type", "object_type", "turn", "thread"):
            label(getattr(self, name), name)
        for name in ("subject_type", "object_type"):
            if getattr(self, name) is not None and not WORD.fullmatch(snake(getattr(self, name))):
                raise InvalidInput(f"{name} must be a word such as person or place, got {shown(getattr(self, name))}")
        if not WORD.fullmatch(snake(self.predicate)):
            raise InvalidInput(f"a predicate is a verb in snake_case, such as lives_in, got {shown(self.predicate)}")
        since, until = _time(self.since, "since"), _time(self.until, "until")
        if since is not None and until is not None and until <= since:
            raise InvalidInput("until must lie after since")
        check_flag(self.negated, "negated")
        check_flag(self.ended, "ended")

    def times(self, now: datetime) -> tuple[datetime | None, datetime | None, bool]:
        """Return since and until when it is true, and whether it is over: what ended before ``now`` is.

        Raises ``InvalidInput`` for what is called over and begins or ends later.
        """
        since, until = _time(self.since, "since"), _time(self.until, "until")
        if self.ended and any(at is not None and at > now for at in (since, until)):
            raise InvalidInput("what has ended began and ended before now: leave out ended, or mend since and until")
        if self.ended:
            return since, until or now, True
        return since, until, since is None and until is not None and until <= now


def state(storage: Storage, scope: Scope, said: AgentStatement, settings: GraphTuning, now: datetime) -> str:
    """Write a statement into the graph, and return the id of its relation. Joins a transaction that is open.

    It contradicts and confirms what others said as anything that was read does. Raises ``InvalidInput`` for a name that
    is too long, and for a relation of a thing to itself.
    """
    predicate = snake(said.predicate)
    turn = said.turn and bare_id(said.turn)
    source = None if turn else AGENT
    place = Place(turn or IMPORT + AGENT, None, None, said.thread, AGENT, now, source, reader="agent")
    with storage.transaction():
        subject = _mention(storage, scope, said.subject, said.subject_type, _subject_type(predicate), settings)
        object_ = _mention(storage, scope, said.object, said.object_type, OBJECT_TYPES.get(predicate), settings)
        ids = entity_id(scope, subject), entity_id(scope, object_)
        if ids[0] == ids[1]:
            raise InvalidInput("subject and object must be two things")
        triple = Triple(ids[0], predicate, ids[1], said.negated)
        since, until, over = said.times(now)
        told = Assertion(
            subject,
            predicate,
            object_,
            0,
            0,
            CONFIDENCE,
            said.negated,
            since,
            until,
            over,
        )
        named = [
            Named(id_, one.name, one.type, one.category, [(0, 0)])
            for id_, one in zip(ids, (subject, object_), strict=True)
        ]
        parts = [MessagePart(place, named=named), MessagePart(place, said=[(triple, told)])]
        apply(storage, scope, WriteBatch(parts), now, settings)
        return chain(storage, scope, triple)[-1].id


def _mention(
    storage: Storage, scope: Scope, name: str, type_: str | None, usual: str | None, settings: GraphTuning
) -> Mention:
    """Return the entity of a name: the user or the agent, one that is known, or a new one."""
    plain = bare(name)
    if len(plain) > MAX_NAME:
        raise InvalidInput(f"a name has at most {MAX_NAME} characters, got {shown(plain)}")
    if type_ in (None, PERSON) and plain.casefold() in _USER | _ITSELF:
        who = "user" if plain.casefold() in _USER else "assistant"
        return Mention(who, PERSON, category(PERSON), 0, 0)
    wanted = snake(type_) if type_ else None
    known = nodes(storage, scope, called(storage, scope, plain)).values()
    fitting = [node for node in known if wanted in (None, node.type)]
    if fitting:
        best = max(fitting, key=lambda node: (node.name == plain, node.type == usual, node.category == "technical"))
        return Mention(best.name, best.type, best.category, 0, 0)
    chosen = wanted or usual or "concept"
    return Mention(plain, chosen, category(chosen), 0, 0)


def _time(given: datetime | None, name: str) -> datetime | None:
    return None if given is None else aware(given, name)


def _subject_type(predicate: str) -> str | None:
    """Return ``person`` for what people do, and for who is related to whom."""
    return PERSON if (predicate.endswith("_of") and predicate != "member_of") or predicate in PERSONAL else None
