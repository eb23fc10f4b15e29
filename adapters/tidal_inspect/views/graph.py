"""Graph: what is known of one thing, at any date, with the evidence; and what comes up together with a memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import quote

from starlette.responses import Response

from tidal_inspect.page import Page, View
from tidal_inspect.rings import Node, drawn
from tidal_plugins import NotFound, TidalMemory
from tidal_plugins.model.graph import Entity, Relation

AROUND = 24
"""Things that are drawn around one."""

MOST = 50
"""Relations, and things that depend on one, that are listed."""

DAY = timedelta(days=1, microseconds=-1)

LATELY = 8
"""The newest turns whose entities are offered."""


def graph(page: Page) -> Response:
    """Show one entity, or those whose names are like what was typed, or those that were spoken of lately."""
    memory, name = page.memory, page.text("name")
    if not name:
        return page.show("graph.html", entity=None, found=_lately(memory), name="")
    try:
        entity = memory.graph.entity(name)
    except NotFound:
        return page.show("graph.html", entity=None, found=memory.graph.search(name, limit=MOST), name=name)
    return _shown(page, entity)


def _shown(page: Page, entity: Entity) -> Response:
    known, at = page.memory.graph, page.time("at")
    if at and len(page.text("at")) == len("2026-05-01"):
        at += DAY  # at its end: what began on that day is shown
    relations = known.relations(about=entity.id, valid_at=at, limit=MOST)
    around = known.neighbours(entity.id, depth=2, valid_at=at, limit=AROUND)
    nodes = [Node(entity.id, entity.name, _link(entity))]
    for one in around:
        last = one.path[-1]
        nodes.append(
            Node(
                one.entity.id,
                one.entity.name,
                _link(one.entity),
                last.subject if last.object == one.entity.id else last.object,
                last.confidence,
            )
        )
    history = page.listed(lambda limit, after: known.timeline(entity.id, limit=limit, after=after))
    times = {time.date() for one in history.rows for time in (one.valid_from, one.valid_until) if time}
    return page.show(
        "graph.html",
        entity=entity,
        name=entity.name,
        relations=relations,
        sentences=known.sentences([*relations, *history.rows]),
        drawing=drawn(nodes) if around else None,
        impact=known.impact(entity.id, valid_at=at, limit=MOST),
        history=history,
        dates=sorted(times),
        merges=[merge for merge in known.merges() if merge.undone_at is None and merge.kept == entity.id],
    )


def relation(page: Page) -> Response:
    """Show where one relation was said, in the words of the turns."""
    known = page.memory.graph
    found = known.relation(page.given["id"])
    return page.show("relation.html", relation=found, sentence=known.sentence(found), evidence=_evidence(page, found))


def _evidence(page: Page, found: Relation) -> object:
    evidence = page.memory.graph.evidence(found)
    return page.listed(lambda limit, after: evidence[after : after + limit])


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
    return page.show("web.html", entry=entry, query=query, reached=reached, texts=texts, drawing=drawing)


def _lately(memory: TidalMemory) -> Sequence[Entity]:
    """Return the entities that the newest turns name, each once."""
    turns = memory.episodes.list(limit=LATELY, newest_first=True)
    found = [entity for turn in turns for entity in memory.graph.entities(episode=turn.id)]
    return list({entity.id: entity for entity in found}.values())


def _link(entity: Entity) -> str:
    return f"/graph?name={quote(entity.id)}"


VIEW = View("/graph", "Graph", {"/graph": graph, "/relation/{id}": relation, "/web": web})
