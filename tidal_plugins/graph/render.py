"""Rendering: the relations that answer a question, ranked, and as lines for a model, each with its evidence.

The adapters' retrievers and tools use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from tidal_plugins.errors import NotFound
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.records.entities import IMPORT
from tidal_plugins.model.delimiters import Delimiters, inert
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.graph import Entity, Evidence, Relation
from tidal_plugins.scoring.text import terms

Aspect = Literal["relations", "dependents", "history"]
"""The part of the knowledge to tell: ``relations``, ``dependents`` that a change would affect, or ``history``."""

MAX_LINES = 20
"""Lines that are told at once."""

SEEDS = 3
"""Entities that a question is taken to name, at most."""

QUOTES = 3
"""The newest quotations that are given."""

MAX_LINE_CHARS = 300
"""Characters of a line beside its citation."""

CONSIDERED = 10
"""Relations that are considered for each one that is told."""


class Times(TypedDict):
    """The times at which something was true, and was believed."""

    valid_at: datetime | None
    believed_at: datetime | None


@dataclass(frozen=True, slots=True)
class RankedRelation:
    """A relation that answers a question, its distance from the named entity, its sentence, and a score in (0, 1]."""

    relation: Relation
    distance: int
    sentence: str
    score: float


def seeds(graph: KnowledgeGraph, question: str) -> list[Entity]:
    """Return the entities that a question names, or else those whose names share most words with it."""
    return graph.named(question, SEEDS) or graph.search(question, SEEDS)


def related(
    graph: KnowledgeGraph,
    question: str,
    *,
    about: Sequence[Entity] | None = None,
    limit: int = 10,
    depth: int = 1,
    predicate: str | None = None,
    valid_at: datetime | None = None,
    believed_at: datetime | None = None,
) -> list[RankedRelation]:
    """Return the relations around some entities, by default those that a question names, best first.

    A score is the confidence divided by the distance, and higher the more words of the question the relation has.
    """
    near: dict[str, tuple[Relation, int]] = {}
    times: Times = {"valid_at": valid_at, "believed_at": believed_at}
    for entity in seeds(graph, question) if about is None else about:
        for distance, relation in _relations_near(graph, entity, depth, predicate, CONSIDERED * limit, times):
            if relation.id not in near or distance < near[relation.id][1]:
                near[relation.id] = relation, distance
    sentences, asked = graph.sentences([relation for relation, _ in near.values()]), set(terms(question))
    told = [
        RankedRelation(*near[id_], sentence=said, score=near[id_][0].confidence * _fit(asked, said) / near[id_][1])
        for id_, said in sentences.items()
    ]
    return sorted(told, key=lambda each: (-each.score, each.distance, each.relation.id))[:limit]


def tell(
    graph: KnowledgeGraph,
    delimiters: Delimiters,
    question: str,
    aspect: Aspect = "relations",
    *,
    at: datetime | None = None,
    limit: int = 10,
) -> str:
    """Return what the graph knows as fenced lines, each with the episode that says so, or an empty text.

    ``at`` is the time at which it was true and believed.
    """
    limit = min(limit, MAX_LINES)
    if aspect == "relations":
        found = related(graph, question, limit=limit, valid_at=at, believed_at=at)
        return delimiters.memories([_line(graph, each.relation, each.sentence) for each in found])
    told = _history if aspect == "history" else _dependents
    return delimiters.memories(
        [line for entity in seeds(graph, question)[:1] for line in told(graph, entity, at, limit)]
    )


def evidence_of(graph: KnowledgeGraph, entry: Entry) -> list[Evidence]:
    """Return the three newest pieces of evidence for an entry that stands for a relation or an entity."""
    try:
        if relation := entry.metadata.get("relation"):
            return graph.evidence(relation)[:QUOTES]
        return graph.mentions(entry.metadata["entity"])[:QUOTES]
    except NotFound:  # forgotten meanwhile
        return []


def quoted(evidence: Evidence) -> str:
    """Return the words of a piece of evidence with their citation, or the name of the graph it was loaded from."""
    return f"{evidence.citation} «{evidence.quote}»" if evidence.quote else _imported(evidence)


def _relations_near(
    graph: KnowledgeGraph, entity: Entity, depth: int, predicate: str | None, limit: int, times: Times
) -> Iterator[tuple[int, Relation]]:
    """Yield the relations of an entity, including denials, and those on the paths to further entities."""
    for relation in graph.relations(about=entity.id, predicate=predicate, limit=limit, **times):
        yield 1, relation
    if depth != 1:
        for neighbour in graph.neighbours(entity.id, depth, predicate, limit=limit, **times):
            yield from enumerate(neighbour.path, 1)


def _fit(asked: set[str], sentence: str) -> float:
    return (1 + len(asked.intersection(terms(sentence)))) / (1 + len(asked))


def _history(graph: KnowledgeGraph, entity: Entity, at: datetime | None, limit: int) -> Iterator[str]:
    known = [each for each in graph.timeline(entity.id) if at is None or each.recorded_at <= at]
    last = {
        each.id: each for each in sorted(known, key=lambda each: each.recorded_at)
    }  # not what it says of itself before
    versions = [each for each in known if each is last[each.id]][-limit:]
    sentences = graph.sentences(versions)
    for relation in versions:
        yield _line(graph, relation, f"{_span(relation, at)}: {sentences[relation.id]}")


def _dependents(graph: KnowledgeGraph, entity: Entity, at: datetime | None, limit: int) -> Iterator[str]:
    affected = graph.impact(entity.id, valid_at=at, believed_at=at, limit=limit)
    sentences = graph.sentences(relation for each in affected for relation in each.path)
    for each in affected:
        way = ", and ".join(sentences[relation.id] for relation in reversed(each.path))
        yield _line(graph, each.path[-1], f"{each.entity.name}: {way}")


def _span(relation: Relation, at: datetime | None) -> str:
    """Return when a relation was true, as far as was known at that time."""
    since, until = relation.valid_from or relation.recorded_at, relation.valid_until
    if until is None and relation.superseded_at and (at is None or relation.superseded_at <= at):
        until = relation.superseded_at
    return f"{since:%Y-%m-%d %H:%M} to {f'{until:%Y-%m-%d %H:%M}' if until else 'now'}"


def _line(graph: KnowledgeGraph, relation: Relation, sentence: str) -> str:
    said = f"{sentence} ({relation.confidence:.2f})"
    newest = next(iter(graph.evidence(relation)), None)
    if newest is None or not newest.quote:
        return f"- {inert(f'{said} {_imported(newest)}' if newest else said)[:MAX_LINE_CHARS]}"
    return f"- {newest.citation} {inert(f'{said} «{newest.quote}»')[:MAX_LINE_CHARS]}"


def _imported(evidence: Evidence) -> str:
    return f"from {evidence.episode.removeprefix(IMPORT)}"
