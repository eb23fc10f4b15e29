"""Knowledge: facts, conflicts, superseded values, dossiers, the capsule, and sessions with their decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tidal_plugins import NotFound
from tidal_plugins.apps.inspect.page import Page, View
from tidal_plugins.apps.inspect.views import capsule
from tidal_plugins.apps.inspect.views.acting import texts_of

FEW = 10
"""Rows of one of several lists on a page."""


def knowledge(page: Page) -> Response:
    """Show facts, open conflicts, superseded statements and dossiers, a page of each."""
    memory = page.memory
    superseded = page.listed(
        lambda limit, after: memory.supersessions.list(limit=limit, after=after, newest_first=True), FEW, "superseded"
    )
    return page.show(
        "knowledge.html",
        facts=page.listed(lambda limit, after: memory.facts.list(limit=limit, after=after), FEW, "facts"),
        conflicts=page.listed(lambda limit, after: memory.facts.conflicts(limit=limit, after=after), FEW, "conflicts"),
        superseded=superseded,
        texts=texts_of(memory, (id_ for one in superseded.rows for id_ in (one.earlier, one.later))),
        dossiers=page.listed(lambda limit, after: memory.dossiers.list(limit=limit, after=after), FEW, "dossiers"),
    )


def fact(page: Page) -> Response:
    """Show every value that a fact had."""
    key, history = page.text("key"), page.memory.facts.history(page.text("key"))
    if not history:
        raise NotFound("no such fact was ever set")
    rows = page.listed(lambda limit, after: history[::-1][after : after + limit])
    current = history[-1].until is None and key in page.memory.facts
    return page.show("fact.html", key=key, history=rows, current=current, newest=history[-1].value)


def dossier(page: Page) -> Response:
    """Show a dossier as it stands, with its sources."""
    found = page.memory.dossiers[page.text("topic")]
    rows = page.listed(lambda limit, after: found.findings[after : after + limit])
    texts = texts_of(page.memory, (id_ for one in rows.rows for id_ in one.sources))
    return page.show("dossier.html", dossier=found, findings=rows, texts=texts)


def sessions(page: Page) -> Response:
    """Show sessions, those opened last first, with the policies and the signals of the scope."""
    memory = page.memory
    rows = page.listed(lambda limit, after: memory.sessions.list(limit=limit, after=after, newest_first=True))
    names = list(memory.sessions.policies)
    named = page.listed(lambda limit, after: names[after : after + limit], FEW, "policies")
    policies = [(name, memory.sessions.policies[name]) for name in named.rows]
    tally = memory.signals.tally()
    shown: dict[str, Any] = {"sessions": rows, "named": named, "policies": policies, "counts": tally.counts}
    return page.show("sessions.html", **shown, **_scores(page, tally.scores))


def session(page: Page) -> Response:
    """Show what a session is, its signals and notes, and every decision on it, the newest first."""
    memory, id_ = page.memory, page.number("id", 0, 0)
    rows = page.listed(lambda n, after: memory.sessions.audit(id_, limit=n, after=after, newest_first=True))
    held = memory.sessions.snapshot(id_)
    notes = page.listed(lambda limit, after: held.annotations[::-1][after : after + limit], FEW, "notes")
    return page.show("session.html", held=held, audit=rows, notes=notes, **_scores(page, held.scores))


def _scores(page: Page, scores: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return a page of signals, the strongest first, with the texts of what they are on."""
    found = [(type_, id_, score) for type_, by_entry in scores.items() for id_, score in by_entry.items()]
    found.sort(key=lambda one: -abs(one[2]))
    rows = page.listed(lambda limit, after: found[after : after + limit], FEW, "signals")
    return {"scores": rows, "texts": texts_of(page.memory, (id_ for _, id_, _ in rows.rows))}


VIEW = View(
    "/knowledge",
    "Knowledge",
    {
        "/knowledge": knowledge,
        "/fact": fact,
        "/dossier": dossier,
        "/capsule": capsule.capsule,
        "/sessions": sessions,
        "/session/{id}": session,
    },
)
