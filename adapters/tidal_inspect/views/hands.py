"""Hands: one entry with what can be done to it, and everything that changes the memory. Each act is audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from tidal_inspect.page import Page, View
from tidal_plugins import InvalidInput, Receipt, TidalMemory
from tidal_plugins.model.session import Action

AGENT = "inspect"
"""The agent that the sessions of the inspector name."""

NOTES = ("skill", "kb", "fact")
"""Kinds that are remembered as notes."""

WRITTEN = ("user", "agent", "tool", "document")
"""Channels of what was said or written, and not made of other memories."""

Act = Callable[[TidalMemory, Page], object]


def entry(page: Page) -> Response:
    """Show one entry as it is stored, with its state and with the acts that fit it."""
    found = page.memory.get(page.given["id"])
    state = found.tier.state(page.memory.now()) if found.tier else "permanent"
    pinned = found.tier is not None and found.tier.cold_at is None and state == "warm"
    acts = [("unpin", "Let it fade")] if pinned else [("pin", "Pin it")] if found.tier else []
    acts += [("restore", "Restore it")] if state in ("archived", "expired") else []
    correctable = found.kind in (*NOTES, "conversation") and found.channel in WRITTEN
    return page.show("entry.html", entry=found, state="pinned" if pinned else state, acts=acts, correctable=correctable)


def hands(page: Page) -> Response:
    """Show the form by which memories are forgotten."""
    return page.show("hands.html", receipt=None, asked={})


def look(page: Page) -> Response:
    """Show what a forgetting would take, and the form that does it."""
    asked = {name: page.text(name) for name in ("ids", "source", "thread", "everywhere")}
    return page.show("hands.html", receipt=_forgotten(page, dry_run=True), asked=asked)


def forget(page: Page) -> Response:
    """Forget what was looked at."""
    _audited(page, "forget", page.text("ids") or page.text("source") or page.text("thread"))
    return page.done(f"{_forgotten(page, dry_run=False)}.", "/hands")


def correct(page: Page) -> Response:
    """Remember a corrected text in place of one, which is forgotten."""
    memory, text, old = page.memory, page.text("text"), page.memory.get(page.text("id"))
    if not text or text == old.text:
        raise InvalidInput("give another text than it has")
    if old.kind not in (*NOTES, "conversation") or old.channel not in WRITTEN:
        raise InvalidInput(f"what is of kind {old.kind} by {old.channel} is made of other memories: correct those")
    _audited(page, "forget", old.id)
    kept = ("source", "speaker", "role", "thread", "occurred_at", "valid_until", "channel", "trust", "metadata")
    fields: Any = {name: getattr(old, name) for name in kept}
    new = memory.remember(text, kind=old.kind if old.kind in NOTES else "fact", **fields)
    memory.forget(old.id)
    return page.done("Corrected. The earlier text is forgotten.", f"/entry/{new.id}")


def repair(page: Page) -> Response:
    """Rebuild what can be rebuilt."""
    _audited(page, "remember", "")
    return page.show("check.html", check=page.memory.check(repair=True))


def _forgotten(page: Page, *, dry_run: bool) -> Receipt:
    return page.memory.forget(
        *page.text("ids").split(),
        source=page.text("source") or None,
        thread=page.text("thread") or None,
        everywhere=page.text("everywhere") == "yes",
        dry_run=dry_run,
    )


def _audited(page: Page, action: Action, subject: str) -> None:
    """Write down who does what to which thing, in the session of the inspector. Raises ``PolicyViolation``."""
    about = f"{page.path.removeprefix('/hands/')} {subject}".strip()[:200]
    page.memory.sessions.open(agent=AGENT, thread=AGENT).permit(action, about)


def _hand(about: str, act: Act, told: str, back: str) -> Callable[[Page], Response]:
    """Return a hand that does one thing to what the field ``about`` names, says so and leads back."""

    def hand(page: Page) -> Response:
        _audited(page, "remember", page.text(about))
        act(page.memory, page)
        return page.done(told, back.format(page.text(about)))

    return hand


def _set(memory: TidalMemory, page: Page) -> object:
    """Set a fact: to a JSON value if the text is one, else to the text."""
    text = page.text("value")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return memory.facts.set(page.text("key"), value, source=AGENT)


def _keep(memory: TidalMemory, page: Page) -> object:
    keep: Any = page.choice("keep", ("fact", "claim"))
    return memory.facts.resolve(page.text("id"), keep)


def _unsupersede(memory: TidalMemory, page: Page) -> object:
    return memory.supersessions.undo(page.text("later"), page.text("earlier"))


def _write(memory: TidalMemory, page: Page) -> object:
    return memory.capsule.write(page.given.get("text", "").replace("\r\n", "\n"))


HANDS: dict[str, tuple[str, Act, str, str]] = {
    "pin": ("id", lambda m, p: m.entries.pin(p.text("id")), "It fades no more.", "/entry/{}"),
    "unpin": ("id", lambda m, p: m.entries.unpin(p.text("id")), "It fades from now on.", "/entry/{}"),
    "restore": ("id", lambda m, p: m.entries.restore(p.text("id")), "Recall finds it again.", "/entry/{}"),
    "merge": ("keep", lambda m, p: m.graph.merge(p.text("keep"), p.text("absorb")), "They are one.", "/graph?name={}"),
    "unmerge": ("merge", lambda m, p: m.graph.undo(p.text("merge")), "They are two again.", "/graph"),
    "fact": ("key", _set, "The fact is set.", "/knowledge"),
    "end": ("key", lambda m, p: m.facts.end(p.text("key")), "It holds no more; its history stays.", "/knowledge"),
    "resolve": ("id", _keep, "The conflict is closed.", "/knowledge"),
    "unsupersede": ("later", _unsupersede, "Both hold.", "/knowledge"),
    "capsule": ("", _write, "The capsule is kept.", "/capsule"),
}  # fmt: skip
"""What is done by one call, by path: the field that names the thing, the call, the words for it, and the way back."""

VIEW = View(
    "/hands",
    "Hands",
    {"/hands": hands, "/entry/{id}": entry},
    {
        **{f"/hands/{name}": _hand(*parts) for name, parts in HANDS.items()},
        "/hands/look": look,
        "/hands/forget": forget,
        "/hands/correct": correct,
        "/hands/repair": repair,
    },
)
