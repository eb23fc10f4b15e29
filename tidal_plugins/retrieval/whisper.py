"""The whisper buffer: what surfaces before a model call, in at most 500 characters [Tidal §2.3]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tidal_plugins.model.entry import SYNTHESIS, Entry
from tidal_plugins.model.fence import frame, inert
from tidal_plugins.model.recall import Hit, Recall, Whisper
from tidal_plugins.scoring.text import sentences, terms
from tidal_plugins.settings import WhisperSettings

LEAST_TEXT = 24
"""Characters of text under which a line is not worth showing."""

_HEADING = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_AGES = (("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400), ("hour", 3600))


def compose(recall: Recall, now: datetime, settings: WhisperSettings) -> Whisper:
    """Put the hits of a recall into the frame, each on one line, within the budget.

    A line has a citation, the age, who said it or where it stands, and the text cut around the sentence that matches
    best. Room that a short memory leaves goes to the next ones. A fact that memory made is left out beside one that it
    was made from, which says the same.
    """
    shown, lines = _once(recall.hits[: settings.max_entries]), []
    room = settings.max_chars - len(frame([""]))
    for left, hit in zip(range(len(shown), 0, -1), list(shown), strict=True):
        line = _line(hit, recall.query, now, room // left - 1)
        if line is None:
            shown.remove(hit)
            continue
        lines.append(line)
        room -= len(line) + 1
    return Whisper(frame(lines), tuple(shown), recall)


def _once(hits: Sequence[Hit]) -> list[Hit]:
    ids = {hit.id for hit in hits}
    return [hit for hit in hits if not _made(hit.entry) or ids.isdisjoint(_sources(hit.entry))]


def _made(entry: Entry) -> bool:
    """Whether it is a fact that memory made of others: people tell facts too."""
    return entry.kind == "fact" and entry.channel == SYNTHESIS


def _sources(entry: Entry) -> list[Any]:
    """What an entry was made from; metadata of one that was not made here may be anything."""
    sources = entry.metadata.get("sources")
    return [id_ for id_ in sources if isinstance(id_, str)] if isinstance(sources, list | tuple) else []


def _line(hit: Hit, query: str, now: datetime, room: int) -> str | None:
    head = f"- [{hit.entry.citation}] {age(hit.entry.occurred_at, now)}, {_source(hit.entry)}: "
    if room - len(head) < min(LEAST_TEXT, len(hit.passage)):
        return None
    return head + excerpt(inert(_HEADING.sub("", hit.passage)), query, room - len(head))


def _source(entry: Entry) -> str:
    """Who said it, or what it is and where it stands; names are cut short, since the text matters more."""
    if entry.kind == "conversation":
        return _short(entry.speaker or {"user": "user", "assistant": "you"}.get(entry.role or "", "conversation"))
    return _short(entry.source or entry.kind)


def _short(name: str, most: int = 24) -> str:
    name = inert(name).replace(": ", " ")  # a name must not look like somebody's words
    return name if len(name) <= most else "…" + name[-(most - 1) :]


def age(then: datetime, now: datetime) -> str:
    """How long ago, in one unit."""
    seconds = (now - then).total_seconds()
    for unit, length in _AGES:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now" if seconds > -60 else "ahead"


def excerpt(text: str, query: str, room: int) -> str:
    """Cut ``text`` to ``room`` characters at words, around the sentence that shares most words with the query."""
    if len(text) <= room:
        return text
    start = _start(text, set(terms(query)), room)
    lead = "…" if start else ""
    body = text[start:]
    if len(body) + len(lead) <= room:
        return lead + body
    body = body[: room - len(lead) - 1]
    cut = body.rfind(" ")
    return lead + (body[:cut] if cut > len(body) // 2 else body).rstrip() + "…"


def _start(text: str, wanted: set[str], room: int) -> int:
    """Where the best sentence begins; near the end, an earlier sentence's beginning from which all of the rest fits."""
    spans = sentences(text)
    if not spans:
        return 0
    shared = [len(wanted.intersection(terms(text[start:end]))) for start, end in spans]
    best = spans[shared.index(max(shared))][0]
    return (
        min((start for start, _ in spans if len(text) - start < room), default=best)
        if len(text) - best < room
        else best
    )
