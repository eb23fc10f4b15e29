"""Lives through a story with a memory, by the story's clock and through the public API, and asks its checks on the way.

Before each turn the memory whispers, after it the turn is recorded with what surfaced, and what waits to be read into
the graph is read, as it would be in the minutes until the next. Maintenance ends each session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.story import Check, Document, Story, Turn
from benchmarks.story_asking import SETTINGS, Asking
from tidal_plugins import Embedder, TidalError, TidalMemory
from tidal_plugins.testing import FrozenClock

FIRST, LAST = ("dossier", "brief"), ("remembered",)
"""Types of checks that are asked before the others of the same time, and after them."""

MAKING = ("dossier",)
"""Types of checks that leave something in the memory: asked in every life, so that no other check depends on the
types that are chosen."""

Event = Document | Turn | Check


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check, the answer that the memory gave, and what is wrong with it.

    ``ratio`` is how many characters of memory there are for each of the capsule's, if it asked for a capsule.
    """

    check: Check
    text: str
    faults: tuple[str, ...]
    ratio: float | None = None

    @property
    def passed(self) -> bool:
        return not self.faults


def live(story: Story, embedder: Embedder, types: Collection[str]) -> list[Outcome]:
    """Live through a story in a new memory, and return the outcomes of its checks of these types."""
    with TemporaryDirectory(prefix="tidal-story-") as folder:
        clock, path = FrozenClock(story.start), Path(folder, "story.db")
        with TidalMemory(path, embedder=embedder, settings=SETTINGS, clock=clock) as memory:
            asked = [check for check in story.checks if check.type in {*types, *MAKING}]
            life = _Life(story, memory, clock, Asking(story, memory, embedder, path), asked)
            return [outcome for outcome in life.run() if outcome.check.type in types]


@dataclass(frozen=True, slots=True)
class _Life:
    story: Story
    memory: TidalMemory
    clock: FrozenClock
    asking: Asking
    checks: list[Check]

    def run(self) -> Iterator[Outcome]:
        for check in self.story.checks:
            if check.type == "conflict":
                self.memory.scoped(check.scope).facts.set(check.fields["key"], check.fields["value"])
        for event in sorted(self._events(), key=_when):
            if isinstance(event, Document):
                self._read(event)
            elif isinstance(event, Turn):
                yield from self._live(event)
            else:
                self.clock.set(_when(event)[0])
                yield self._ask(event)

    def _events(self) -> Iterator[Event]:
        yield from self.story.documents
        yield from (check for check in self.checks if check.at)
        yield from self.story.turns

    def _read(self, document: Document) -> None:
        self.clock.set(document.at)
        for scope in self.story.scopes:
            self.memory.scoped(scope).remember(document.text, kind=document.kind, source=document.source)

    def _live(self, turn: Turn) -> Iterator[Outcome]:
        memory = self.memory.scoped(turn.scope)
        self.clock.set(turn.start)
        whisper = memory.whisper(turn.user)
        self.asking.whispers[turn.scope, turn.user] = str(whisper)
        self.clock.set(turn.end)
        memory.record(turn.user, turn.agent, tools=turn.tools, thread=turn.session, id=turn.key, surfaced=whisper.ids)
        memory.graph.index_pending()
        memory.supersessions.find()
        yield from (self._ask(check) for check in self.checks if check.after == (turn.session, turn.number))
        if turn.last:
            memory.maintenance.run()

    def _ask(self, check: Check) -> Outcome:
        try:
            text, faults = self.asking.answer(check)
        except TidalError as error:
            text, faults = "", [f"{type(error).__name__}: {error}"]
        ratio = self.memory.scoped(check.scope).capsule.read().ratio if check.type == "capsule" else None
        return Outcome(check, text, tuple(faults), ratio)


def _when(event: Event) -> tuple[datetime, int]:
    """Return the time of an event and its place among those of the same time: documents, checks, turns."""
    if isinstance(event, Document):
        return event.at, 0
    if isinstance(event, Turn):
        return event.start, 4
    assert event.at  # a check that follows a turn is no event of its own
    return event.at, 1 if event.type in FIRST else 3 if event.type in LAST else 2
