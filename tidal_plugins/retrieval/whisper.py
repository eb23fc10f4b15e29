"""The whisper buffer: the hits of a whisper as a text of at most 500 characters [Tidal §2.3]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.entry import CONVERSATION, FACT, SYNTHESIS, Entry
from tidal_plugins.model.fence import frame, inert
from tidal_plugins.model.recall import OWN, Dropped, Hit, Recall, Whisper, counted
from tidal_plugins.scoring.text import terms
from tidal_plugins.tuning import WhisperTuning

LEAST_TEXT = 24
"""Characters of text below which a line is not worth showing."""

HIDDEN = " (hidden here; the citation leads to it)"
"""Note behind a line that shows a mask in place of a secret."""

STAGE = "whisper"
"""The stage at which rendering drops hits."""

_HEADING = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_AGES = (("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400), ("hour", 3600))


def compose(recall: Recall, now: datetime, settings: WhisperTuning) -> Whisper:
    """Return a whisper that shows the hits of a recall, each on one line in the frame, within the budget.

    A line has a citation, the age, the speaker or the source, and the text cut around the sentence that matches best.
    Room that a short memory leaves goes to the next ones. A fact that memory made is left out beside an entry that it
    was made from, which says the same. The whisper's recall has the reasons for every hit that is left out.
    """
    chosen = recall.hits[: settings.max_entries]
    doubled = _doubled(chosen)
    news = [hit for hit in chosen if hit.id not in doubled]
    shown, lines, left = [], [], [Dropped(id_, STAGE, reason) for id_, reason in doubled.items()]
    room = settings.max_chars - len(frame([""]))
    for places, hit in zip(range(len(news), 0, -1), news, strict=True):
        line = _line(hit, recall.query, now, room // places - 1)
        if line is None:
            left.append(Dropped(hit.id, STAGE, "no room for it", hit.origin))
            continue
        shown.append(hit)
        lines.append(line)
        room -= len(line) + 1
    left += (Dropped(hit.id, STAGE, "beyond what is shown", hit.origin) for hit in recall.hits[len(chosen) :])
    if left:
        dropped, peers = (*left, *recall.dropped), counted(recall.peers, shown)
        recall = replace(recall, hits=tuple(shown), dropped=dropped, peers=peers)
    return Whisper(frame(lines), tuple(shown), recall)


def _doubled(hits: Sequence[Hit]) -> dict[str, str]:
    """Return by id why facts that memory made of other hits are not shown."""
    ids = {hit.id for hit in hits}
    made = {hit.id: [id_ for id_ in _sources(hit.entry) if id_ in ids] for hit in hits if _made(hit.entry)}
    return {id_: f"was made from {sources[0]}, which is shown" for id_, sources in made.items() if sources}


def _made(entry: Entry) -> bool:
    """Return whether it is a fact that memory made of other entries: people tell facts, too."""
    return entry.kind == FACT and entry.channel == SYNTHESIS


def _sources(entry: Entry) -> list[Any]:
    """Return the ids that an entry was made from. Metadata of an entry that was not made here may be anything."""
    sources = entry.metadata.get("sources")
    return [id_ for id_ in sources if isinstance(id_, str)] if isinstance(sources, list | tuple) else []


def _line(hit: Hit, query: str, now: datetime, room: int) -> str | None:
    head = f"- [{hit.entry.citation}] {age(hit.entry.occurred_at, now)}, {_source(hit)}: "
    if room - len(head) < min(LEAST_TEXT, len(hit.passage)):
        return None
    said, room = inert(_HEADING.sub("", hit.passage)), room - len(head)
    if any(f"[{kind}]" in hit.passage for kind in hit.hidden) and room - len(HIDDEN) >= min(LEAST_TEXT, len(said)):
        return head + excerpt(said, query, room - len(HIDDEN)) + HIDDEN
    return head + excerpt(said, query, room)


def _source(hit: Hit) -> str:
    """Return the speaker or the source of a hit, and its peer. Names are cut short, since the text matters more."""
    entry, own = hit.entry, hit.origin == OWN
    if entry.kind == CONVERSATION:
        roles = {"user": "user", "assistant": "you" if own else "assistant"}  # a peer's assistant is somebody else
        source = entry.speaker or roles.get(entry.role or "", "conversation")
    else:
        source = entry.source or entry.kind
    return _short(source) if own else f"{_short(source)} in {_short(hit.origin)}"


def _short(name: str, most: int = 24) -> str:
    name = inert(name).replace(": ", " ")  # a name must not look like somebody's words
    return name if len(name) <= most else "…" + name[-(most - 1) :]


def age(then: datetime, now: datetime) -> str:
    """Return how long ago a time is, in one unit."""
    seconds = (now - then).total_seconds()
    for unit, length in _AGES:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now" if seconds > -60 else "ahead"


def excerpt(text: str, query: str, room: int) -> str:
    """Return ``text`` cut to ``room`` characters at words, around the sentence that shares most words with a query."""
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
    """Return where the best sentence begins, or an earlier one from which all of the rest fits."""
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
