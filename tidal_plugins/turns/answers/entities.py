"""Entities: what is known of a thing by its name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from pydantic import BaseModel, ConfigDict, Field

from tidal_plugins.errors import NotFound
from tidal_plugins.graph.card import Note
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.graph import Entity
from tidal_plugins.turns.answers.answer import MAX_NAME, Answer, Asked, Result, paged, summary
from tidal_plugins.turns.answers.arguments import Arguments, Cursor, Limit, Name

CANDIDATES = 200
"""Entities with a word of the name that are looked through."""

RELATIONS = 6
"""Sentences of each part of a card, and relations that a summary tells: more do not fit into it."""

SENTENCE_CHARS = 160
"""Characters of a sentence of a card. A plan of twelve words has some 90."""

MAX_ALIASES, MAX_EPISODES = 10, 5
"""Other names and episodes of an entity that are given."""


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
