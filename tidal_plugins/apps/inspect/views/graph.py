"""Graph: what is known of one thing, at any date, with the evidence; and what comes up together with a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from urllib.parse import quote

from starlette.responses import Response

from tidal_plugins import NotFound, TidalMemory
from tidal_plugins.apps.inspect.drawing import Node, drawn
from tidal_plugins.apps.inspect.page import Listed, Page, View
from tidal_plugins.model.graph import Entity, Neighbour, Relation

AROUND = 24
"""Things that are drawn around one."""

DATES = 200
"""The first relations of a thing whose dates the slider has."""

DAY = timedelta(days=1, microseconds=-1)

LATELY = 8
"""The newest turns whose entities are offered."""


def graph(page: Page) -> Response:
    """Show one entity, or those whose names are like what was typed, or those that were spoken of lately."""
    memory, name = page.memory, page.text("name")
    if not name:
        return page.show("graph.html", entity=None, found=Listed(_lately(memory), 1), name="")
    try:
        entity = memory.graph.entity(name)
    except NotFound:
        found = page.listed(lambda limit, after: memory.graph.search(name, limit=limit + after)[after:])
        return page.show("graph.html", entity=None, found=found, name=name)
    return _shown(page, entity)


def _shown(page: Page, entity: Entity) -> Response:
    memory, known, at = page.memory, page.memory.graph, page.time("at")
    if day := page.number("day", 0, 0, date.max.toordinal()):
        at = datetime.combine(date.fromordinal(day), time.min, memory.settings.zone)
    if at and (day or len(page.text("at")) == len("2026-05-01")):
        at += DAY  # at its end: what began on that day is shown
    relations = page.listed(known.relations, about=entity.id, valid_at=at)
    around = known.neighbours(entity.id, depth=2, valid_at=at, limit=AROUND)
    words = known.sentences(one.path[-1] for one in around)
    nodes = [Node(entity.id, entity.name, _link(entity)), *(_node(one, words) for one in around)]
    history = page.listed(partial(known.timeline, entity.id), name="history")
    told = known.timeline(entity.id, limit=DATES)
    dates = {when.astimezone(memory.settings.zone).date() for one in told for when in _times(one)}
    return page.show(
        "graph.html",
        entity=entity,
        name=entity.name,
        at=at,
        relations=relations,
        sentences=known.sentences([*relations.rows, *history.rows]),
        drawing=drawn(nodes) if around else None,
        around=AROUND,
        impact=page.listed(
            lambda limit, after: known.impact(entity.id, valid_at=at, limit=limit + after)[after:], name="impact"
        ),
        history=history,
        dates=sorted(dates),
        alike=_alike(memory, entity),
        merges=[merge for merge in known.merges() if merge.undone_at is None and merge.kept == entity.id],
    )


PROPOSED = 100
"""Pairs that may be one, the likeliest, among which those of an entity are looked for."""


def _alike(memory: TidalMemory, entity: Entity) -> list[Entity]:
    """Return the entities that may be the same."""
    pairs = [(one.first, one.second) for one in memory.graph.proposals(PROPOSED)]
    return [other for pair in pairs for one, other in (pair, pair[::-1]) if one.id == entity.id]


def _node(one: Neighbour, words: Mapping[str, str]) -> Node:
    last = one.path[-1]
    inward = last.object != one.entity.id
    told = last.predicate.replace("_", " "), words.get(last.id, "")
    parent = last.object if inward else last.subject
    return Node(one.entity.id, one.entity.name, _link(one.entity), parent, last.confidence, told, inward)


def _times(one: Relation) -> list[datetime]:
    return [time for time in (one.valid_from, one.valid_until) if time]


def relation(page: Page) -> Response:
    """Show where one relation was said, in the words of the turns."""
    known = page.memory.graph
    found = known.relation(page.given["id"])
    return page.show("relation.html", relation=found, sentence=known.sentence(found), evidence=_evidence(page, found))


def _evidence(page: Page, found: Relation) -> object:
    return page.listed(partial(page.memory.graph.evidence, found))


def web(page: Page) -> Response:
    """Show what comes up together with one memory, or the memories that a question finds to begin with."""
    memory, id_, query = page.memory, page.text("entry"), page.text("query")
    if not id_:
        hits = memory.recall(query, limit=LATELY) if query else ()
        return page.show("web.html", entry=None, query=query, hits=hits)
    entry = memory.get(id_)
    reached = memory.associations.spread(entry.id, limit=AROUND)
    texts = {one.id: memory.get(one.id).text for one in reached}
    nodes = [Node(entry.id, entry.text, f"/entry/{entry.id}")]
    nodes += [Node(one.id, texts[one.id], f"/web?entry={one.id}", one.path[-2], one.activation) for one in reached]
    drawing = drawn(nodes) if reached else None
    return page.show("web.html", entry=entry, query=query, reached=reached, texts=texts, drawing=drawing, around=AROUND)


def _lately(memory: TidalMemory) -> Sequence[Entity]:
    """Return the entities that the newest turns name, each once."""
    turns = memory.episodes.list(limit=LATELY, newest_first=True)
    found = [entity for turn in turns for entity in memory.graph.entities(episode=turn.id)]
    return list({entity.id: entity for entity in found}.values())


def _link(entity: Entity) -> str:
    return f"/graph?name={quote(entity.id)}"


VIEW = View("/graph", "Graph", {"/graph": graph, "/relation/{id}": relation, "/web": web})
