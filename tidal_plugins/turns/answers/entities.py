"""Entities: what is known of a thing by its name."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from tidal_plugins.errors import NotFound
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.graph import Entity
from tidal_plugins.turns.answers.answer import MAX_NAME, Answer, Asked, Result, paged, summary
from tidal_plugins.turns.answers.arguments import Arguments, Cursor, Limit, Name

CANDIDATES = 200
"""Entities with a word of the name that are looked through."""

RELATIONS = 6
"""Relations of an entity that its summary tells: more do not fit into it."""

MAX_ALIASES, MAX_EPISODES = 10, 5
"""Other names and episodes of an entity that are given."""


class EntityArguments(Arguments):
    name: Name = Field(description="Its name or id: a person, place, file, function, package, term …")
    type: Name | None = Field(None, description="Only entities of this type, such as person or file.")
    limit: Limit = Field(5, description="How many entities to return at most.")
    cursor: Cursor | None = Field(None, description="The next_cursor of an answer, for what follows.")


class Known(Result):
    """An entity."""

    id: str = Field(description="Its id, for fact_search.")
    name: str
    type: str
    aliases: list[str]
    first_seen: datetime
    last_seen: datetime
    episodes: list[str] = Field(description="The newest turns that name it, to read with memory_get.")
    summary: str = Field(description="How it is related to others, at most 300 characters.")

    @property
    def line(self) -> str:
        also = f", also {', '.join(self.aliases)}" if self.aliases else ""
        cited = f"[{self.episodes[0]}] " if self.episodes else ""
        return f"- {cited}{self.name} ({self.type}{also}, id {self.id}): {self.summary or 'no relations known'}"


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
    return Known(
        id=entity.id,
        name=summary(entity.name, MAX_NAME),
        type=entity.type,
        aliases=[summary(alias, MAX_NAME) for alias in entity.aliases if alias != entity.name][:MAX_ALIASES],
        first_seen=entity.first_seen,
        last_seen=entity.last_seen,
        episodes=[f"ep:{id_}" for id_ in entity.episodes[:MAX_EPISODES]],
        summary=summary(said),
    )
