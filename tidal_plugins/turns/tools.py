"""Tools that a model calls to search, look up and write: their names, descriptions and arguments, and what they do.

The adapters declare them to their frameworks. The tools that go through a history are those of
:mod:`tidal_plugins.turns.answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.invalidation import SupersessionTuning
from tidal_plugins.graph.render import Aspect, tell
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.graph import Relation
from tidal_plugins.model.recall import Whisper
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.retrieval.whisper import LINE, compose
from tidal_plugins.sessions.session import Session, annotate, meant, reward
from tidal_plugins.turns import searching
from tidal_plugins.turns.answers import HISTORY_TOOLS, ReadTool, checked
from tidal_plugins.turns.answers.answer import (
    RELATE,
    REMEMBER_FACT,
    Answer,
    Arguments,
    FactArguments,
    RelateArguments,
    SaveArguments,
    Time,
)
from tidal_plugins.turns.place import Place, SessionConfig

MAX_FOUND = 20
"""Memories that one search returns at most."""

SOURCE = "agent"
"""The source of the model's own notes: ``memory.forget(source="agent")`` takes them back."""

NOTHING_FOUND = "Nothing found."


Reply = str | Whisper | Answer[Any]
"""What a tool answers: a sentence, memories that were found, or an answer with data."""


CITED = Field(
    min_length=1,
    max_length=100,
    description="The citation of the memory, such as [ep:6k1m] or [mem:2q7z], or the id in it.",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool in a run.

    ``rules`` are those of the session in which it searches or writes. ``turn`` is the id that the episode of the turn
    in hand will have, ``shown`` are the ids of what surfaced in it; both may be unknown.
    """

    place: Place
    rules: SessionConfig | None = None
    turn: str | None = None
    shown: Sequence[str] = ()

    @property
    def memory(self) -> TidalMemory:
        return self.place.memory

    @property
    def session(self) -> Session | None:
        """Return the session of the run's thread, opened if need be; ``None`` without rules."""
        return self.rules.session(self.place) if self.rules else None


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool of an agent. ``act`` carries out a call with checked arguments."""

    name: str
    description: str
    arguments: type[Arguments]
    act: Callable[[Call, Any], Reply]

    def run(self, call: Call, arguments: Mapping[str, Any]) -> Reply:
        """Carry out a call. Raises ``REFUSALS``: ``InvalidInput`` for arguments that do not fit."""
        return self.act(call, checked(self.arguments, arguments))


def reply_text(reply: Reply, memory: TidalMemory) -> str:
    """Return a reply in words, for the model."""
    if isinstance(reply, Answer):
        return reply.told(memory.delimiters)
    return reply if isinstance(reply, str) else reply.text or NOTHING_FOUND


class SearchArguments(Arguments):
    query: str = Field(min_length=1, max_length=2_000, description="What to look for, in plain words.")
    limit: int = Field(5, ge=1, le=MAX_FOUND, description="How many memories to return at most.")
    kind: Literal["conversation", "skill", "kb", "fact"] | None = Field(None, description="Only memories of this kind.")
    since: Time | None = Field(None, description="Only what happened at or after this time, ISO 8601, UTC.")
    until: Time | None = Field(None, description="Only what happened before this time, ISO 8601, UTC.")
    include_archived: bool = Field(False, description="Also search old memories that have faded, if nothing was found.")
    everything: bool = Field(False, description=searching.EVERYTHING)


class ReadArguments(Arguments):
    citation: str = Field(min_length=1, max_length=100, description="A citation such as [ep:6k1m], or the id in it.")
    page: int = Field(1, ge=1, description="Which page of it, from 1.")


class GraphArguments(Arguments):
    entity: str = Field(
        min_length=1, max_length=500, description="Its name, such as a function, file, person or term; or a question."
    )
    aspect: Aspect = Field(
        "relations",
        description="relations: how it is related. dependents: what a change of it would affect. history: what was "
        "believed of it, and when.",
    )
    at: Time | None = Field(None, description="What was believed and true at this time, ISO 8601, UTC.")
    limit: int = Field(10, ge=1, le=20, description="How many lines to return at most.")


class RewardArguments(Arguments):
    citation: str = CITED
    weight: float = Field(1.0, ge=0, description="How useful it was: 1 for plainly useful.")
    note: str | None = Field(None, description="Keywords of what it was useful for: what has them ranks higher, too.")


class AnnotateArguments(Arguments):
    citation: str = CITED
    note: str = Field(min_length=1, description="What to note of it, in keywords: what has them ranks higher.")


def _related(call: Call, asked: FactArguments | RelateArguments) -> str:
    """State a relation, if the session's rules admit it. Its evidence is the agent, in the turn in hand."""
    if session := call.session:
        session.permit("remember")
    return relate(call.memory, **asked.model_dump(), turn=call.turn, thread=call.place.thread)


def _cited(call: Call, citation: str) -> tuple[Session, Sequence[str]]:
    """Return the session of a call, and the entries that a citation means there."""
    if (session := call.session) is None:
        raise InvalidInput("an agent rewards and annotates under a policy: give one")
    return session, meant(call.memory.episodes.entry_ids(citation), call.shown)


def _asking(question: ReadTool) -> AgentTool:
    return AgentTool(
        question.name, question.description, question.arguments, lambda call, asked: question.ask(call.memory, asked)
    )


SEARCH_MEMORY = AgentTool(
    "search_memory",
    "Search the memory of earlier conversations, skills, documents and facts. Returns the best matches, each on one "
    "line with a citation, its age, its source and the chance that it helps, and says so if nothing is close.",
    SearchArguments,
    lambda call, asked: search(call.memory, session=call.session, **asked.model_dump()),
)
SAVE_MEMORY = AgentTool(
    "save_memory",
    "Save a fact, a skill or a document to memory, for later conversations. What is said in this conversation is "
    "remembered anyway: save what was worked out, or what the user asks to be remembered.",
    SaveArguments,
    lambda call, asked: save(call.memory, **asked.model_dump()),
)
READ_EPISODE = AgentTool(
    "read_episode",
    "Read an earlier turn of the conversation verbatim: what was said, which tools ran, and what they returned. Use it "
    "when a summary or a memory cites [ep:ID] and its exact words matter. The first line names the turns before and "
    "after it, too.",
    ReadArguments,
    lambda call, asked: call.memory.episodes.page(asked.citation, asked.page),
)
SEARCH_GRAPH = AgentTool(
    "search_graph",
    "Look up what is known of something by name (code, files, packages, people, decisions …): how it is related to "
    "others, what depends on it, or what was believed of it at some time. Each line cites the turn that says so.",
    GraphArguments,
    lambda call, asked: search_graph(call.memory, **asked.model_dump()),
)
FACT_TOOL = AgentTool("remember_fact", REMEMBER_FACT, FactArguments, _related)
RELATE_TOOL = AgentTool("relate", RELATE, RelateArguments, _related)
REWARD_MEMORY = AgentTool(
    "reward_memory",
    "Say that a memory was useful, by the citation that it was shown with. In this conversation it ranks higher from "
    "then on; nobody else sees it. There are rules: a refusal comes with its reason.",
    RewardArguments,
    lambda call, asked: reward(*_cited(call, asked.citation), asked.weight, asked.note),
)
ANNOTATE_MEMORY = AgentTool(
    "annotate_memory",
    "Note something about a memory, by the citation that it was shown with. In this conversation whatever speaks of "
    "the same ranks higher from then on; nobody else sees it. There are rules: a refusal comes with its reason.",
    AnnotateArguments,
    lambda call, asked: annotate(*_cited(call, asked.citation), asked.note),
)
HISTORY = tuple(map(_asking, HISTORY_TOOLS))


def search(
    memory: TidalMemory,
    query: str,
    *,
    limit: int = 5,
    kind: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    include_archived: bool = False,
    everything: bool = False,
    session: Session | None = None,
) -> Whisper:
    """Return the memories that a query brings up: one line for each, fenced like a whisper, with its confidence.

    ``include_archived`` searches what has faded, too, and ``everything`` turns that tell nothing. Where nothing is
    close, a sentence ahead says so. The text is empty if nothing is found.
    """
    recall = searching.recall(
        memory,
        query,
        limit=limit,
        everything=everything,
        session=session,
        kinds=None if kind is None else {kind},
        since=since,
        until=until,
        include_archived=include_archived,
    )
    room = replace(memory.settings[WhisperTuning], max_entries=MAX_FOUND, max_chars=LINE * max(1, len(recall)))
    now = memory.now().astimezone(memory.settings.zone)
    found = compose(recall, now, room, memory.settings[SupersessionTuning].sure, memory.delimiters)
    if not found:
        return found
    lines = map(searching.with_confidence, found.text.splitlines()[2:-1], found.hits)
    confidence = searching.closeness(recall)
    far = "" if confidence >= searching.LEAST else f"{searching.nothing_close(confidence)}\n"
    return replace(found, text=far + memory.delimiters.memories(list(lines)))


def search_graph(
    memory: TidalMemory, entity: str, aspect: Aspect = "relations", at: datetime | None = None, limit: int = 10
) -> str:
    """Return the known relations of an entity: one line for each, with its evidence, fenced like a whisper."""
    return tell(memory.graph, memory.delimiters, entity, aspect, at=at, limit=limit) or "Nothing known."


def save(memory: TidalMemory, text: str, **fields: Any) -> str:
    """Store a note of the model's, and return a sentence with its citation. ``fields`` are those of ``remember``."""
    return saved_as(remember(memory, text, **fields))


def remember(memory: TidalMemory, text: str, **fields: Any) -> Entry:
    """Store a note of the model's, and return it."""
    note: Entry = memory.remember(text, source=SOURCE, channel="agent", **fields)
    return note


def saved_as(entry: Entry) -> str:
    """Return a sentence with the citation of a note."""
    return f"Saved as [{entry.citation}]."


PROPOSED = 100
"""Pairs that may be one, the likeliest, among which those of a name are looked for."""


def same_entity(memory: TidalMemory, name: str, other: str | None, *, same: bool = True) -> str:
    """Make two entities one, or two again, and return a sentence; without ``other``, the names that may be the same."""
    graph = memory.graph
    kept = graph.entity(name)
    if other is None:
        pairs = [(one.first, one.second) for one in graph.proposals(PROPOSED) if kept in (one.first, one.second)]
        named = [inert(b.name if a == kept else a.name) for a, b in pairs]
        return f"{inert(kept.name)} may be: {', '.join(named)}." if named else f"No name is like {inert(kept.name)}."
    if same:
        graph.merge(kept.id, graph.entity(other).id)
        return f"{inert(other)} is {inert(kept.name)} from now on."
    graph.split(kept.id, other)
    return f"{inert(kept.name)} and {inert(other)} are two again."


def relate(memory: TidalMemory, subject: str, predicate: str, object: str, **fields: Any) -> str:
    """State a relation of the model's, and return a sentence with what it ended. ``fields`` are those of
    ``graph.relate``."""
    graph = memory.graph
    made: Relation = graph.relate(subject, predicate, object, **fields)
    known = [one for one in graph.timeline(made.subject) if one.predicate == made.predicate and one.id != made.id]
    over = [one for one in known if one.superseded_at is None and one.valid_until == made.valid_from]
    told = f"Kept: {inert(graph.sentence(made))}."
    if not over:
        return told
    when = "Until then" if made.valid_from and made.valid_from > memory.now() else "No longer"
    return f"{told} {when}: {'; '.join(inert(graph.sentence(one)) for one in over)}."
