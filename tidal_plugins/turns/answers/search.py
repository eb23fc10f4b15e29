"""Search: the memories that a query brings up, a page at a time."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from tidal_plugins.memory import TidalMemory
from tidal_plugins.model.recall import Hit
from tidal_plugins.retrieval.whisper import when
from tidal_plugins.turns.answers.answer import SUMMARY_CHARS, Answer, Asked, Result, name, paged, summary
from tidal_plugins.turns.answers.arguments import Arguments, Cursor, Flag, Kind, Limit, Name, Query, Time

MAX_DEPTH = 500
"""Memories of one search, on all of its pages: nobody reads on for so long, and recall finds at most 1,000."""


class SearchArguments(Arguments):
    query: Query = Field(description="What to look for, in plain words.")
    limit: Limit = Field(10, description="How many memories to return at most.")
    kind: Kind | None = Field(None, description="Only memories of this kind.")
    thread: Name | None = Field(None, description="Only this conversation, by the name that thread_history returns.")
    since: Time | None = Field(None, description="Only what happened at or after this time, ISO 8601, UTC.")
    until: Time | None = Field(None, description="Only what happened before this time, ISO 8601, UTC.")
    include_archived: Flag = Field(False, description="Also search old memories that have faded.")
    cursor: Cursor | None = Field(None, description="The next_cursor of an answer, for what follows.")


class Found(Result):
    """A memory that was found."""

    citation: str = Field(description="The id to read it by, and to cite it with.")
    kind: str
    at: datetime = Field(description="When it happened.")
    said_by: str | None = Field(description="Who said it, or where it comes from.")
    thread: str | None
    summary: str = Field(description="The part that matches, at most 300 characters.")
    confidence: float = Field(description="The chance that it helps, from 0 to 1.")
    age: str

    @property
    def line(self) -> str:
        said_by = f", {self.said_by}" if self.said_by else ""
        return f"- [{self.citation}] {self.age}{said_by}: {self.summary}"


def search(memory: TidalMemory, asked: SearchArguments) -> Answer[Found]:
    """Return the memories that a query brings up, best first. Nothing is written."""
    question = Asked("memory_search", asked, memory.scope)
    (first,) = question.place(asked.cursor, 0)
    first = max(0, min(first, MAX_DEPTH))
    found = memory.recall(
        asked.query,
        limit=min(first + asked.limit + 1, MAX_DEPTH),
        kinds=None if asked.kind is None else {asked.kind},
        threads=None if asked.thread is None else {asked.thread},
        since=asked.since,
        until=asked.until,
        include_archived=asked.include_archived,
    )
    now = memory.now().astimezone(memory.settings.zone)
    return paged(
        [_found(hit, now, memory.tuning.supersession.sure) for hit in found], asked.limit, question, first=first
    )


def _found(hit: Hit, now: datetime, sure: float) -> Found:
    entry = hit.entry
    was = f" (was {older})" if (older := hit.older_value(sure)) and older not in hit.text else ""
    said = summary(hit.answer + was) if len(hit.answer) + len(was) <= SUMMARY_CHARS else summary(hit.answer)
    return Found(
        citation=entry.citation,
        kind=entry.kind,
        at=entry.occurred_at.replace(microsecond=0),  # the messages of a turn differ in them
        said_by=name(entry.speaker or entry.source or entry.role),
        thread=name(entry.thread),
        summary=said,
        confidence=round(hit.confidence, 3),
        age=when(entry.occurred_at, now),
    )
