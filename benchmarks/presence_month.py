"""Lives through a story with a presence that steps by the story's time, and keeps what it says and why it is silent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

from benchmarks import locomo, story
from benchmarks.story import Document, Story, Turn
from tidal_plugins import Affect, Embedder, PresenceStep, ProactiveMessage, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

STEP = timedelta(hours=2)
"""Time between two steps by day. The source's daemon steps every minute; more often finds nothing else, for what is due
is due by days, and the rest waits for three."""
DAY = (7, 22)
"""Local hours in which it is stepped. The others are quiet."""
AFTER = timedelta(days=7)
"""Time after the last turn in which it may still speak."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message, when it was said, in which scope, and how its silence or its answer was judged."""

    at: datetime
    scope: str
    message: ProactiveMessage


@dataclass(slots=True)
class Month:
    """What came of a story: the messages, the silences by reason, and the figures along the way.

    ``felt`` is what the person felt at each turn, ``thoughts`` how many pairs of entries arose as thoughts at each look
    at the memory that found any, ``looks`` how many looks there were, and ``ratios`` how many characters of memory
    there are for each of the capsule's, by scope.
    """

    story: Story
    zone: str
    said: list[Said] = field(default_factory=list)
    silences: Counter[str] = field(default_factory=Counter)
    felt: list[Affect] = field(default_factory=list)
    thoughts: list[int] = field(default_factory=list)
    looks: int = 0
    ratios: dict[str, float] = field(default_factory=dict)


def read(path: str | Path) -> list[Story]:
    """Read a story, or the conversations of a file in a format that ``benchmarks.locomo`` reads, each as a story."""
    path = Path(path)
    try:
        given = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    if isinstance(given, dict) and isinstance(given.get("sessions"), list):
        return [story.parsed(given)]
    return [_of_conversation(one) for one in locomo.load(path).conversations]


def _of_conversation(conversation: locomo.Conversation) -> Story:
    """Return a conversation as a story. The one who speaks first counts as the user, the other one as the agent."""
    own = conversation.turns[0]
    turns = [
        Turn(session.id, number, "user", user, agent, (), at, at + locomo.PACE, number == len(pairs))
        for session in conversation.sessions
        for pairs in [list(_pairs(session.turns, own))]
        for number, (at, user, agent) in enumerate(pairs, 1)
    ]
    return Story(conversation.name, "", ("user",), (), tuple(turns), (), {})


def _pairs(turns: Sequence[locomo.Turn], own: locomo.Turn) -> Iterator[tuple[datetime, str, str]]:
    said: list[locomo.Turn] = []
    for turn in turns:
        is_own = (turn.role, turn.speaker) == (own.role, own.speaker)
        if is_own and any((one.role, one.speaker) != (own.role, own.speaker) for one in said):
            yield _pair(said, own)
            said = []
        said.append(turn)
    if said:
        yield _pair(said, own)


def _pair(said: Sequence[locomo.Turn], own: locomo.Turn) -> tuple[datetime, str, str]:
    user = [turn.text for turn in said if (turn.role, turn.speaker) == (own.role, own.speaker)]
    agent = [turn.text for turn in said if (turn.role, turn.speaker) != (own.role, own.speaker)]
    return said[0].at, "\n".join(user) or "Hello.", "\n".join(agent) or "I see."


def live(one: Story, zone: str, embedder: Embedder, *, steps: bool = True) -> Month:
    """Live through a story in a new memory that may speak first in every scope, and return what came of it.

    Without ``steps`` the turns are recorded, and nothing is asked between them.
    """
    with TemporaryDirectory(prefix="tidal-month-") as folder:
        clock = FrozenClock(one.start)
        settings = Settings(graph={"background": False})
        with TidalMemory(Path(folder, "m.db"), embedder=embedder, settings=settings, clock=clock) as memory:
            life = _Life(Month(one, zone), memory, clock, steps)
            life.run()
            return life.month


@dataclass(slots=True)
class _Life:
    month: Month
    memory: TidalMemory
    clock: FrozenClock
    steps: bool
    seen: dict[str, set[str]] = field(default_factory=dict)

    def run(self) -> None:
        one = self.month.story
        for scope in one.scopes:
            self.memory.scoped(scope).presence.allow(zone=self.month.zone)
        events: list[Document | Turn] = sorted([*one.documents, *one.turns], key=_when)
        end = _when(events[-1]) + AFTER
        times = [*map(_when, events), end]
        for event, (start, until) in zip(events, pairwise(times), strict=True):
            self._live(event)
            if not self.steps:
                continue
            for at in _steps(max(start, self.clock()), until, self.month.zone):
                self.clock.set(at)
                for scope in one.scopes:
                    self._step(scope)
        self.clock.set(max(end, self.clock()))
        for scope in one.scopes:
            self.month.ratios[scope] = self.memory.scoped(scope).capsule.read().ratio or 0.0

    def _live(self, event: Document | Turn) -> None:
        self.clock.set(max(self.clock(), _when(event)))
        if isinstance(event, Document):
            for scope in self.month.story.scopes:
                self.memory.scoped(scope).remember(event.text, kind=event.kind, source=event.source)
            return
        memory = self.memory.scoped(event.scope)
        whisper = memory.whisper(event.user)
        self.clock.set(max(self.clock(), event.end))
        turn = memory.record(
            event.user, event.agent, tools=event.tools, thread=event.session, id=event.key, surfaced=whisper.ids
        )
        said = [memory.get(id_) for id_ in memory.episodes[turn.id].entries]
        self.month.felt += [entry.affect for entry in said if entry.role == "user" and entry.affect]
        memory.graph.index_pending()
        memory.supersessions.find()
        memory.associations.link_pending()
        if event.last:
            memory.maintenance.run()

    def _step(self, scope: str) -> None:
        presence = self.memory.scoped(scope).presence
        step = presence.step()
        self._count(scope, step)
        if step.message and (message := presence.take()):
            self.month.said.append(Said(self.clock(), scope, message))
        elif not step.decision.speaks:
            self.month.silences[_reason(step.decision.reason)] += 1

    def _count(self, scope: str, step: PresenceStep) -> None:
        known = self.seen.setdefault(scope, set())
        pairs = {one.id for one in step.state.thoughts if len(one.entries) > 1}
        self.month.looks += 1
        if new := pairs - known:
            self.month.thoughts.append(len(new))
        known |= pairs


def _reason(reason: str) -> str:
    """Return a reason without its numbers and times, to be counted."""
    for known in ("these are quiet hours", "it said", "it spoke", "nobody answered the last", "it is paused"):
        if reason.startswith(known):
            return {"it said": "it said enough for a day already"}.get(known, known)
    return reason


def _steps(start: datetime, end: datetime, zone: str) -> Iterator[datetime]:
    """Yield the times between two at which the presence is stepped: by day, on even hours of the person."""
    at = start.astimezone(ZoneInfo(zone)).replace(minute=0, second=0, microsecond=0)
    while (at := _later(at)) < end:
        if at > start and DAY[0] <= at.hour < DAY[1] and (at.hour - DAY[0]) % (STEP // timedelta(hours=1)) == 1:
            yield at


def _later(at: datetime) -> datetime:
    """Return an hour later by the clock on every wall, which no change of it skips or repeats."""
    return (at.astimezone(ZoneInfo("UTC")) + timedelta(hours=1)).astimezone(at.tzinfo)


def _when(event: Document | Turn) -> datetime:
    return event.at if isinstance(event, Document) else event.start
