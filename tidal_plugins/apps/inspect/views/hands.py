"""Hands: one entry with what can be done to it, and everything that changes the memory.

Each act is checked, then written down in the audit, then done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.responses import Response

from tidal_plugins import Conflict, InvalidInput, NotFound, Receipt, TidalMemory
from tidal_plugins.apps import texts_of
from tidal_plugins.apps.inspect.page import AGENT, Page, View, audited, digest, parsed, type_of
from tidal_plugins.model.entry import bare_id
from tidal_plugins.model.fact import CORRECTED

NOTES = ("skill", "kb", "fact")
"""Kinds that are remembered as notes."""

WRITTEN = ("user", "agent", "tool", "document")
"""Channels of what was said or written, and not made of other memories."""

WORDINGS = 25
"""Links of an entry that are looked through for its earlier wordings."""


MOST_SHOWN = 50
"""Things that would go whose first words are shown."""


class Act(NamedTuple):
    """What a hand does: its words in the audit, the call, and the words when it is done, with a link back."""

    subject: str
    call: Callable[[], object]
    told: str
    back: str


def entry(page: Page) -> Response:
    """Show one entry as it is stored, with its state, its earlier wordings, and the acts that fit it."""
    memory = page.memory
    found = memory.get(page.given["id"])
    state = found.tier.state(memory.now()) if found.tier else "permanent"
    pinned = found.tier is not None and found.tier.cold_at is None and state == "warm"
    acts = [("unpin", "Let it fade")] if pinned else [("pin", "Pin it")] if found.tier else []
    acts += [("restore", "Restore it")] if state in ("archived", "expired") else []
    links = memory.supersessions.list(found.id, limit=WORDINGS, newest_first=True)
    return page.show(
        "entry.html",
        entry=found,
        state="pinned" if pinned else state,
        acts=acts,
        correctable=found.kind in (*NOTES, "conversation") and found.channel in WRITTEN,
        corrections=[link for link in links if link.replacement.reason == CORRECTED],
        seen=digest(found.text),
    )


def hands(page: Page) -> Response:
    """Show the form by which memories are forgotten."""
    return page.show("hands.html", receipt=None, asked={})


def look(page: Page) -> Response:
    """Show what a forgetting would take, and the form that does it."""
    return _looked(page, _forgotten(page, dry_run=True))


def forget(page: Page) -> Response:
    """Forget what was looked at, and no more than that."""
    now = _forgotten(page, dry_run=True)
    if page.text("seen") != _seen(now):
        more = len(now.ids) - int(before) if (before := page.text("count")).isdecimal() and len(before) < 9 else 0
        came = f"{more} more came since you looked" if more > 0 else "What would go has changed since you looked"
        return _looked(page, now, f"{came}, and nothing was forgotten. Look again.", 409)
    named = (("", page.text("ids")), ("source ", page.text("source")), ("thread ", page.text("thread")))
    everywhere = " everywhere" if page.text("everywhere") == "yes" else ""
    audited(page, "forget", "forget " + ", ".join(word + name for word, name in named if name) + everywhere)
    return page.done(f"{_forgotten(page, dry_run=False)}.", "/hands")


def correct(page: Page) -> Response:
    """Give an entry another text, unless it has another one by now than was shown."""
    memory, old = page.memory, page.memory.get(page.text("id"))
    text = page.given.get("text", "").replace("\r\n", "\n").strip()
    if page.text("seen") != digest(old.text):
        raise Conflict("this memory was corrected since you opened it, and nothing was changed: open it again")
    if not text or text == old.text:
        raise InvalidInput("give another text than it has")
    if old.kind not in (*NOTES, "conversation") or old.channel not in WRITTEN:
        raise InvalidInput(f"what is of kind {old.kind} by {old.channel} is made of other memories: correct those")
    audited(page, "remember", f"correct {old.id}")
    memory.entries.correct(old.id, text, expected=old.text)
    told = "Corrected. What was learned from the earlier text is read anew; that text is kept as superseded."
    return page.done(told, f"/entry/{old.id}")


def repair(page: Page) -> Response:
    """Rebuild what can be rebuilt."""
    audited(page, "remember", "repair")
    return page.show("check.html", check=page.memory.check(repair=True))


def _looked(page: Page, receipt: Receipt, told: str = "", status: int = 200) -> Response:
    asked = {name: page.text(name) for name in ("ids", "source", "thread", "everywhere")}
    asked |= {"seen": _seen(receipt), "count": str(len(receipt.ids))}
    gone = set(receipt.ids)
    unknown = [id_ for id_ in page.text("ids").split() if bare_id(id_) not in gone]
    texts = texts_of(page.memory, receipt.ids[:MOST_SHOWN])
    return page.show("hands.html", status, receipt=receipt, asked=asked, told=told, texts=texts, unknown=unknown)


def _seen(receipt: Receipt) -> str:
    return digest(*sorted(receipt.ids), "and", *sorted(receipt.blanked))


def _forgotten(page: Page, *, dry_run: bool) -> Receipt:
    return page.memory.forget(
        *page.text("ids").split(),
        source=page.text("source") or None,
        thread=page.text("thread") or None,
        everywhere=page.text("everywhere") == "yes",
        dry_run=dry_run,
    )


def _hand(prepare: Callable[[TidalMemory, Page], Act]) -> Callable[[Page], Response]:
    """Return a hand that prepares one act, which raises if it cannot be done, writes it down and does it."""

    def hand(page: Page) -> Response:
        act = prepare(page.memory, page)
        audited(page, "remember", act.subject)
        act.call()
        return page.done(act.told, act.back)

    return hand


def _tier(name: str, told: str) -> Callable[[TidalMemory, Page], Act]:
    def prepare(memory: TidalMemory, page: Page) -> Act:
        found = memory.get(page.text("id"))
        return Act(f"{name} {found.id}", lambda: getattr(memory.entries, name)(found.id), told, f"/entry/{found.id}")

    return prepare


def _merge(memory: TidalMemory, page: Page) -> Act:
    keep, absorb = memory.graph.entity(page.text("keep")), memory.graph.entity(page.text("absorb"))
    if keep.id == absorb.id:
        raise InvalidInput(f"«{page.text('absorb')}» is a name of it already")
    subject = f"merge {keep.name} ← {absorb.name}"
    return Act(subject, lambda: memory.graph.merge(keep.id, absorb.id), "They are one.", f"/graph?name={keep.id}")


def _unmerge(memory: TidalMemory, page: Page) -> Act:
    found = next((one for one in memory.graph.merges() if one.id == page.text("merge")), None)
    if found is None:
        raise NotFound("there is no such merge")
    subject = f"unmerge {memory.graph.entity(found.kept).name} (merge {found.id})"
    return Act(subject, lambda: memory.graph.undo(found.id), "They are two again.", "/graph")


def _set(memory: TidalMemory, page: Page) -> Act:
    key, value = page.text("key"), parsed(page.text("value"))
    if not key:
        raise InvalidInput("give the fact a key")
    told = f"The fact is set, to {type_of(value)}."
    return Act(f"set {key}", lambda: memory.facts.set(key, value, source=AGENT), told, "/knowledge")


def _end(memory: TidalMemory, page: Page) -> Act:
    key = memory.facts.fact(page.text("key")).key
    return Act(f"end {key}", lambda: memory.facts.end(key), "It holds no more; its history stays.", "/knowledge")


def _keep(memory: TidalMemory, page: Page) -> Act:
    keep: Any = page.choice("keep", ("fact", "claim"))
    found = next((one for one in memory.facts.conflicts() if one.id == page.text("id")), None)
    if found is None:
        raise NotFound("this conflict is not open any more")
    if keep == "claim" and found.negated and found.against is None and not isinstance(found.fact, bool):
        raise InvalidInput(f"it was only said that {found.key} is not this: set the fact to the value that it has")
    subject = f"resolve {found.key} keep={keep}"
    return Act(subject, lambda: memory.facts.resolve(found.id, keep), "The conflict is closed.", "/knowledge")


def _unsupersede(memory: TidalMemory, page: Page) -> Act:
    later, earlier = page.text("later"), page.text("earlier")
    if not any(one.earlier == earlier for one in memory.supersessions.list(later)):
        raise NotFound("the one does not supersede the other any more")
    call = lambda: memory.supersessions.undo(later, earlier)  # noqa: E731
    return Act(f"unsupersede {later} {earlier}", call, "Both hold.", "/knowledge")


HANDS: dict[str, Callable[[TidalMemory, Page], Act]] = {
    "pin": _tier("pin", "It fades no more."),
    "unpin": _tier("unpin", "It fades from now on."),
    "restore": _tier("restore", "Recall finds it again."),
    "merge": _merge,
    "unmerge": _unmerge,
    "fact": _set,
    "end": _end,
    "resolve": _keep,
    "unsupersede": _unsupersede,
}
"""What is done by one call, by path."""

VIEW = View(
    "/hands",
    "Hands",
    {"/hands": hands, "/entry/{id}": entry},
    {
        **{f"/hands/{name}": _hand(prepare) for name, prepare in HANDS.items()},
        "/hands/look": look,
        "/hands/forget": forget,
        "/hands/correct": correct,
        "/hands/repair": repair,
    },
)
