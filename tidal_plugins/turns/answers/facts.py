"""What is known: of a thing by its name, and as facts, now, at a time, or with what they replaced."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tidal_plugins.errors import NotFound
from tidal_plugins.facts.versions import KEY
from tidal_plugins.graph.card import Note
from tidal_plugins.graph.render import related, seeds
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.entry import FACT
from tidal_plugins.model.fact import Fact
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.model.recall import Hit
from tidal_plugins.secrets.finding import masked_value
from tidal_plugins.turns.answers.answer import (
    MAX_NAME,
    Answer,
    Arguments,
    Asked,
    Cursor,
    Flag,
    Limit,
    Name,
    Number,
    Query,
    Result,
    Time,
    name,
    paged,
    summary,
)
from tidal_plugins.turns.searching import LEAST

CANDIDATES = 200
"""Entities with a word of the name that are looked through."""

RELATIONS = 6
"""Sentences of each part of a card, and relations that a summary tells: more do not fit into it."""

SENTENCE_CHARS = 160
"""Characters of a sentence of a card. A plan of twelve words has some 90."""

MAX_ALIASES, MAX_EPISODES = 10, 5
"""Other names and episodes of an entity that are given."""


MAX_FOUND = 200
"""Facts of one question, on all of its pages."""


class EntityArguments(Arguments):
    name: Name = Field(description="Its name or id: a person, place, file, function, package, term …")
    type: Name | None = Field(None, description="Only entities of this type, such as person or file.")
    limit: Limit = Field(5, description="How many entities to return at most.")
    cursor: Cursor | None = Field(None, description="The next_cursor of an answer, for what follows.")


class Noted(BaseModel):
    """A sentence of a card."""

    model_config = ConfigDict(frozen=True)

    text: str
    since: datetime | None = Field(None, description="From when it is so.")
    until: datetime | None = Field(None, description="Until when it was so.")
    citation: str | None = Field(None, description="The newest turn that says so, to read with memory_get.")

    @property
    def line(self) -> str:
        since = f"since {self.since:%Y-%m-%d}" if self.since else ""
        until = f"until {self.until:%Y-%m-%d}" if self.until else ""
        dates = ", ".join(filter(None, (since, until)))
        return f"{self.text}{f' ({dates})' if dates else ''}{f' [{self.citation}]' if self.citation else ''}"


class Known(Result):
    """An entity, as a card: its names, what is so, what is planned, and what was."""

    id: str = Field(description="Its id, for fact_search.")
    name: str
    type: str
    aliases: list[str]
    first_seen: datetime
    last_seen: datetime
    episodes: list[str] = Field(description="The newest turns that name it, to read with memory_get.")
    summary: str = Field(description="How it is related to others, at most 300 characters.")
    current: list[Noted] = Field(description="What is so, learned last first, six sentences at most.")
    planned: list[Noted] = Field(description="What is planned, wanted, promised or due.")
    past: list[Noted] = Field(description="What was so and is no more.")

    @property
    def line(self) -> str:
        also = f", also {', '.join(self.aliases)}" if self.aliases else ""
        cited = f"[{self.episodes[0]}] " if self.episodes else ""
        parts = (("", self.current), ("planned: ", self.planned), ("before: ", self.past))
        told = ". ".join(f"{title}{'; '.join(note.line for note in notes)}" for title, notes in parts if notes)
        return f"- {cited}{self.name} ({self.type}{also}, id {self.id}): {told or 'no relations known'}"


def entity_lookup(memory: TidalMemory, asked: EntityArguments) -> Answer[Known]:
    """Return the entities of a name, and those that share words with it."""
    question = Asked("entity_lookup", asked, memory.scope)
    (first,) = question.place(asked.cursor, 0)
    graph, found = memory.graph, dict[str, Entity]()
    try:
        exact = graph.entity(asked.name, type=asked.type)
        found[exact.id] = exact
    except NotFound:
        pass
    for entity in graph.search(asked.name, CANDIDATES):
        if asked.type in (None, entity.type):
            found.setdefault(entity.id, entity)
    first = max(0, min(first, len(found)))
    shown = list(found.values())[first : first + asked.limit + 1]
    page = paged([_known(memory, entity) for entity in shown], asked.limit, question)
    more = first + len(page.results) < len(found)
    cursor = question.cursor(first + len(page.results)) if more else None
    return Answer(results=page.results, next_cursor=cursor, truncated=more)


def _known(memory: TidalMemory, entity: Entity) -> Known:
    relations = memory.graph.relations(about=entity.id, limit=RELATIONS)
    said = "; ".join(memory.graph.sentences(relations).values())
    card = memory.graph.card(entity.id)
    return Known(
        id=entity.id,
        name=summary(entity.name, MAX_NAME),
        type=entity.type,
        aliases=[summary(alias, MAX_NAME) for alias in entity.aliases if alias != entity.name][:MAX_ALIASES],
        first_seen=entity.first_seen,
        last_seen=entity.last_seen,
        episodes=[f"ep:{id_}" for id_ in entity.episodes[:MAX_EPISODES]],
        summary=summary(said),
        current=_noted(card.current),
        planned=_noted(card.planned),
        past=_noted(card.past),
    )


def _noted(notes: Iterable[Note]) -> list[Noted]:
    return [
        Noted(text=summary(note.text, SENTENCE_CHARS), since=note.since, until=note.until, citation=note.said_in)
        for note in islice(notes, RELATIONS)
    ]


Depth = Annotated[Literal[1, 2], Number]


class FactArguments(Arguments):
    query: Query | None = Field(
        None, description="What to know, in plain words. Without it: all facts, or an entity's."
    )
    entity: Name | None = Field(None, description="Only relations of this entity, by its id or name.")
    depth: Depth = Field(1, description="2 also returns relations of the entities that it is related to.")
    predicate: Name | None = Field(None, description="Only relations of this kind, such as depends_on or works_at.")
    valid_at: Time | None = Field(None, description="What was true at this time, ISO 8601, UTC. Default: now.")
    include_superseded: Flag = Field(False, description="Also return what held before and does not any more.")
    limit: Limit = Field(10, description="How many facts to return at most.")
    cursor: Cursor | None = Field(None, description="The next_cursor of an answer, for what follows.")


class Statement(Result):
    """A named fact, a note of a fact, or a relation that was read from what was said."""

    kind: Literal["fact", "note", "relation"]
    id: str = Field(description="The key of the fact, or the id of the note or the relation.")
    summary: str = Field(description="What it states, and the words that say so, at most 300 characters.")
    citation: str | None = Field(description="The turn or the source that says so.")
    confidence: float = Field(description="From 0 to 1. A named fact was set by somebody and has 1.")
    valid_from: datetime | None
    valid_until: datetime | None
    superseded_at: datetime | None = Field(None, description="When it was no longer believed.")

    @property
    def line(self) -> str:
        cited = f"[{self.citation}] " if self.citation and self.citation.startswith(("ep:", "mem:")) else ""
        ends = [
            f"{word} {time:%Y-%m-%d}"
            for word, time in (("since", self.valid_from), ("until", self.valid_until or self.superseded_at))
            if time
        ]
        return f"- {cited}{self.summary}" + (f" ({', '.join(ends)})" if ends else "")


def fact_search(memory: TidalMemory, asked: FactArguments) -> Answer[Statement]:
    """Return named facts, notes of facts and relations: what the question's meaning brings up, then the graph's."""
    question = Asked("fact_search", asked, memory.scope)
    (first,) = question.place(asked.cursor, 0)
    first = max(0, min(first, MAX_FOUND))
    wanted = min(first + asked.limit + 1, MAX_FOUND)
    told: dict[tuple[str, str, datetime | None], Statement] = {}
    for statement in chain(_by_meaning(memory, asked, wanted), _by_graph(memory, asked, wanted)):
        told.setdefault((statement.kind, statement.id, statement.valid_from), statement)
        if len(told) == wanted:
            break
    return paged(list(told.values()), asked.limit, question, first=first)


def _by_meaning(memory: TidalMemory, asked: FactArguments, limit: int) -> Iterator[Statement]:
    """Yield the facts that a question brings up; without one, all named facts."""
    if asked.entity is not None or asked.predicate is not None:
        return
    if asked.query is None:
        for key in memory.facts:
            yield from _versions(memory, asked, key)
        return
    for hit in memory.recall(asked.query, kinds={FACT}, limit=limit):
        metadata = hit.entry.metadata
        if hit.confidence < LEAST or "entity" in metadata:
            continue
        if KEY in metadata:
            yield from _versions(memory, asked, metadata[KEY])
        elif "relation" not in metadata:
            if asked.valid_at is None or hit.entry.occurred_at <= asked.valid_at:
                yield _note(hit)
        elif asked.valid_at is None:
            yield from _found(memory, metadata["relation"])


def _versions(memory: TidalMemory, asked: FactArguments, key: str) -> Iterator[Statement]:
    """Yield the value that a fact has at the time in question, and its others if they are asked for."""
    for fact in memory.facts.history(key):
        holds = fact.until is None
        if asked.valid_at is not None:
            holds = fact.since <= asked.valid_at and (fact.until is None or asked.valid_at < fact.until)
        if holds or asked.include_superseded:
            yield _fact(fact)


def _found(memory: TidalMemory, id: str) -> Iterator[Statement]:
    """Yield the relation with an id, if it is still there."""
    with suppress(NotFound):
        relation = memory.graph.relation(id)
        yield _statement(memory, relation, memory.graph.sentence(relation))


def _by_graph(memory: TidalMemory, asked: FactArguments, limit: int) -> Iterator[Statement]:
    """Yield the relations around an entity or what a question names, or the surest of all; then earlier ones."""
    graph, at = memory.graph, asked.valid_at
    if asked.entity is None and asked.query is None:
        surest = graph.relations(predicate=asked.predicate, valid_at=at, limit=limit)
        yield from _statements(memory, surest)
        return
    about = seeds(graph, asked.query or "") if asked.entity is None else [graph.entity(asked.entity)]
    question = asked.query or ""
    found = related(
        graph, question, about=about, limit=limit, depth=asked.depth, predicate=asked.predicate, valid_at=at
    )
    for each in found:
        yield _statement(memory, each.relation, each.sentence)
    for entity in about if asked.include_superseded else ():
        earlier = [one for one in graph.timeline(entity.id) if asked.predicate in (None, one.predicate)]
        yield from _statements(memory, earlier[::-1])


def _statements(memory: TidalMemory, relations: Sequence[Relation]) -> Iterator[Statement]:
    sentences = memory.graph.sentences(relations)
    for relation in relations:
        if relation.id in sentences:
            yield _statement(memory, relation, sentences[relation.id])


def _fact(fact: Fact) -> Statement:
    value = masked_value(fact.value, fact.key)
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Statement(
        kind="fact",
        id=summary(fact.key),
        summary=summary(f"{fact.key}: {said}"),
        citation=name(fact.source),
        confidence=1.0,
        valid_from=fact.since,
        valid_until=fact.until,
    )


def _note(hit: Hit) -> Statement:
    return Statement(
        kind="note",
        id=hit.entry.id,
        summary=summary(hit.answer),
        citation=hit.entry.citation,
        confidence=round(hit.entry.trust, 2),
        valid_from=hit.entry.occurred_at,
        valid_until=hit.entry.valid_until,
    )


def _statement(memory: TidalMemory, relation: Relation, sentence: str) -> Statement:
    try:
        newest = next(iter(memory.graph.evidence(relation)), None)
    except NotFound:  # forgotten meanwhile
        newest = None
    quote = f" «{newest.quote}»" if newest and newest.quote else ""
    return Statement(
        kind="relation",
        id=relation.id,
        summary=summary(sentence + quote),
        citation=f"ep:{newest.episode}" if newest and newest.quote else None,
        confidence=round(relation.confidence, 2),
        valid_from=relation.valid_from or relation.recorded_at,
        valid_until=relation.valid_until,
        superseded_at=relation.superseded_at,
    )
