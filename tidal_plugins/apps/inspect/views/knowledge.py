"""Knowledge: facts, conflicts, superseded values, dossiers, the capsule, and sessions with their decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from tidal_plugins import InvalidInput, NotFound
from tidal_plugins.apps import texts_of
from tidal_plugins.apps.inspect.page import Page, View, audited
from tidal_plugins.model.capsule import GENERATED, Capsule, Section

FEW = 10
"""Rows of one of several lists on a page."""

FIELD = "section "
"""Begins the name of the field of a section."""


def knowledge(page: Page) -> Response:
    """Show facts, open conflicts, superseded statements and dossiers, a page of each."""
    memory = page.memory
    superseded = page.listed(memory.supersessions.list, FEW, "superseded", newest_first=True)
    return page.show(
        "knowledge.html",
        facts=page.listed(memory.facts.list, FEW, "facts"),
        conflicts=page.listed(memory.facts.conflicts, FEW, "conflicts"),
        superseded=superseded,
        texts=texts_of(memory, (id_ for one in superseded.rows for id_ in (one.earlier, one.later))),
        dossiers=page.listed(memory.dossiers.list, FEW, "dossiers"),
    )


def fact(page: Page) -> Response:
    """Show every value that a fact had."""
    key, history = page.text("key"), page.memory.facts.history(page.text("key"))
    if not history:
        raise NotFound("no such fact was ever set")
    rows = page.listed(history[::-1])
    current = history[-1].until is None and key in page.memory.facts
    return page.show("fact.html", key=key, history=rows, current=current, newest=history[-1].value)


def dossier(page: Page) -> Response:
    """Show a dossier as it stands, with its sources."""
    found = page.memory.dossiers[page.text("topic")]
    rows = page.listed(found.findings)
    texts = texts_of(page.memory, (id_ for one in rows.rows for id_ in one.sources))
    return page.show("dossier.html", dossier=found, findings=rows, texts=texts)


def sessions(page: Page) -> Response:
    """Show sessions, those opened last first, with the policies and the signals of the scope."""
    memory = page.memory
    rows = page.listed(memory.sessions.list, newest_first=True)
    names = list(memory.sessions.policies)
    named = page.listed(names, FEW, "policies")
    policies = [(name, memory.sessions.policies[name]) for name in named.rows]
    tally = memory.signals.tally()
    shown: dict[str, Any] = {"sessions": rows, "named": named, "policies": policies, "counts": tally.counts}
    return page.show("sessions.html", **shown, **_scores(page, tally.scores))


def session(page: Page) -> Response:
    """Show what a session is, its signals and notes, and every decision on it, the newest first."""
    memory, id_ = page.memory, page.number("id", 0, 0)
    rows = page.listed(partial(memory.sessions.audit, id_), newest_first=True)
    held = memory.sessions.snapshot(id_)
    notes = page.listed(held.annotations[::-1], FEW, "notes")
    return page.show("session.html", held=held, audit=rows, notes=notes, **_scores(page, held.scores))


def _scores(page: Page, scores: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return a page of signals, the strongest first, with the texts of what they are on."""
    found = [(type_, id_, score) for type_, by_entry in scores.items() for id_, score in by_entry.items()]
    found.sort(key=lambda one: -abs(one[2]))
    rows = page.listed(found, FEW, "signals")
    return {"scores": rows, "texts": texts_of(page.memory, (id_ for _, id_, _ in rows.rows))}


def capsule(page: Page) -> Response:
    """Show the capsule as it was last made. None is made."""
    return _capsule_shown(page, page.memory.capsule.stored())


def make_capsule(page: Page) -> Response:
    """Make the capsule anew."""
    audited(page, "remember", "capsule")
    page.memory.capsule.read()
    return page.done("The capsule is made anew.", "/capsule")


def keep_capsule(page: Page) -> Response:
    """Keep the sections that were edited, unless somebody wrote the capsule since the form was shown."""
    standing = page.memory.capsule.stored()
    if standing is None:
        raise InvalidInput("there is no capsule any more: make it anew, and edit that")
    given = {name: _plain_text(page.given[FIELD + name]) for name in _editable(standing) if FIELD + name in page.given}
    if page.text("written") != str(standing.written):
        told = "Somebody wrote the capsule since you opened it. Nothing was kept: both texts are shown."
        return _capsule_shown(page, standing, given, told, 409)
    changed = {name: text for name, text in given.items() if text != standing[name]}
    if not changed:
        raise InvalidInput("no section was changed")
    edited = _edited(standing, changed)
    Capsule.parse(str(edited))
    audited(page, "remember", f"capsule: {', '.join(changed)}")
    kept = page.memory.capsule.write(edited)
    there = {section.name: _plain_text(section.body) for section in kept.sections}
    lost = [name for name, text in changed.items() if text and there.get(name, "") != text]
    told = f"The capsule is kept. Other words than you gave stand in: {', '.join(lost)}." if lost else ""
    return page.done(told or "The capsule is kept.", "/capsule")


def _capsule_shown(
    page: Page, found: Capsule | None, given: dict[str, str] | None = None, told: str = "", status: int = 200
) -> Response:
    sections = () if found is None else found.sections
    editable = _editable(found) if found else []
    shown = {"capsule": found, "sections": sections, "editable": editable, "given": given or {}, "told": told}
    return page.show("capsule.html", status, field=FIELD, **shown)


def _editable(found: Capsule) -> list[str]:
    """Return the names of the sections that people write, and of those that they added."""
    return [section.name for section in found.sections if section.name not in GENERATED]


def _edited(found: Capsule, changed: dict[str, str]) -> Capsule:
    def body(section: Section) -> Section:
        heading = section.heading.rstrip()
        return (
            replace(section, text=f"{heading}\n\n{changed[section.name]}\n\n") if section.name in changed else section
        )

    return replace(found, sections=tuple(map(body, found.sections)))


def _plain_text(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


VIEW = View(
    "/knowledge",
    "Knowledge",
    {
        "/knowledge": knowledge,
        "/fact": fact,
        "/dossier": dossier,
        "/capsule": capsule,
        "/sessions": sessions,
        "/session/{id}": session,
    },
    {"/hands/capsule": keep_capsule, "/hands/make": make_capsule},
)
