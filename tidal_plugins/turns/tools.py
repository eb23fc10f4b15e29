"""Actions of a model's tools on a memory, with their answers in words. The adapters declare the tools."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tidal_plugins.graph.render import Aspect, tell
from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import inert
from tidal_plugins.model.graph import Relation
from tidal_plugins.model.recall import Whisper
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.sessions.session import Session
from tidal_plugins.tuning import WhisperTuning

MAX_FOUND = 20
"""Memories that one search returns at most."""

LINE_CHARS = 300
"""Characters that a found memory may take, with its citation, age and source."""

FRAME_CHARS = 100

SOURCE = "agent"
"""The source of the model's own notes: ``memory.forget(source="agent")`` takes them back."""

NOTHING_FOUND = "Nothing found."


def search(
    memory: TidalMemory,
    query: str,
    *,
    limit: int = 5,
    kind: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    include_archived: bool = False,
    session: Session | None = None,
) -> Whisper:
    """Return the memories that a query brings up: one line for each, fenced like a whisper.

    Times without a zone are UTC. ``include_archived`` searches what has faded, too. The text is empty if nothing is
    found.
    """
    recall = memory.recall(
        query,
        limit=limit,
        session=session,
        kinds=None if kind is None else {kind},
        since=aware(since),
        until=aware(until),
        include_archived=include_archived,
    )
    room = WhisperTuning(max_entries=MAX_FOUND, max_chars=FRAME_CHARS + LINE_CHARS * max(1, len(recall)))
    now = memory.now().astimezone(memory.settings.zone)
    return compose(recall, now, room, memory.settings.supersession.sure, memory.frames)


def search_graph(
    memory: TidalMemory, entity: str, aspect: Aspect = "relations", at: datetime | None = None, limit: int = 10
) -> str:
    """Return the known relations of an entity: one line for each, with its evidence, fenced like a whisper."""
    return tell(memory.graph, memory.frames, entity, aspect, at=aware(at), limit=limit) or "Nothing known."


def save(memory: TidalMemory, text: str, **fields: Any) -> str:
    """Store a note of the model's, and return a sentence with its citation. ``fields`` are those of ``remember``."""
    return saved_as(remember(memory, text, **fields))


def remember(memory: TidalMemory, text: str, **fields: Any) -> Entry:
    """Store a note of the model's, and return it."""
    note: Entry = memory.remember(text, source=SOURCE, channel="agent", **fields)
    return note


def saved_as(entry: Entry) -> str:
    """Return a sentence with the citation of a note."""
    return f"Saved as [{entry.citation}]."


def relate(memory: TidalMemory, subject: str, predicate: str, object: str, **fields: Any) -> str:
    """State a relation of the model's, and return a sentence with what it ended. ``fields`` are those of
    ``graph.relate``."""
    graph = memory.graph
    made: Relation = graph.relate(subject, predicate, object, **fields)
    known = [one for one in graph.timeline(made.subject) if one.predicate == made.predicate and one.id != made.id]
    over = [one for one in known if one.superseded_at is None and one.valid_until == made.valid_from]
    told = f"Kept: {inert(graph.sentence(made))}."
    if not over:
        return told
    when = "Until then" if made.valid_from and made.valid_from > memory.now() else "No longer"
    return f"{told} {when}: {'; '.join(inert(graph.sentence(one)) for one in over)}."


def aware(time: datetime | None) -> datetime | None:
    """Return a time with a zone; one without is UTC."""
    return time if time is None or time.tzinfo else time.replace(tzinfo=UTC)
