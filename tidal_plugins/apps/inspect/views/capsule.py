"""The capsule: its sections, of which those that people write can be edited."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from tidal_plugins import InvalidInput
from tidal_plugins.apps.inspect.page import Page
from tidal_plugins.apps.inspect.views.acting import audited
from tidal_plugins.model.capsule import GENERATED, Capsule, Section

FIELD = "section "
"""Begins the name of the field of a section."""


def capsule(page: Page) -> Response:
    """Show the capsule as it was last made. None is made."""
    return _shown(page, page.memory.capsule.stored())


def make(page: Page) -> Response:
    """Make the capsule anew."""
    audited(page, "remember", "capsule")
    page.memory.capsule.read()
    return page.done("The capsule is made anew.", "/capsule")


def keep(page: Page) -> Response:
    """Keep the sections that were edited, unless somebody wrote the capsule since the form was shown."""
    standing = page.memory.capsule.stored()
    if standing is None:
        raise InvalidInput("there is no capsule any more: make it anew, and edit that")
    given = {name: _plain(page.given[FIELD + name]) for name in _editable(standing) if FIELD + name in page.given}
    if page.text("written") != str(standing.written):
        told = "Somebody wrote the capsule since you opened it. Nothing was kept: both texts are shown."
        return _shown(page, standing, given, told, 409)
    changed = {name: text for name, text in given.items() if text != standing[name]}
    if not changed:
        raise InvalidInput("no section was changed")
    edited = _edited(standing, changed)
    Capsule.parse(str(edited))
    audited(page, "remember", f"capsule: {', '.join(changed)}")
    kept = page.memory.capsule.write(edited)
    there = {section.name: _plain(section.body) for section in kept.sections}
    lost = [name for name, text in changed.items() if text and there.get(name, "") != text]
    told = f"The capsule is kept. Other words than you gave stand in: {', '.join(lost)}." if lost else ""
    return page.done(told or "The capsule is kept.", "/capsule")


def _shown(
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


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
