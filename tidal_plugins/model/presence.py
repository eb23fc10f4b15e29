"""Presence: what is on the memory's mind between conversations, and what it says unprompted [Tidal §4–5]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from tidal_plugins.model.affect import Affect

AttentionKind = Literal["promise", "task", "plan", "question", "stirred"]
Status = Literal["queued", "taken", "answered", "ignored", "expired"]


@dataclass(frozen=True, slots=True)
class Attention:
    """A thread of attention: one thing that is unfinished, or that stirred somebody.

    Attributes:
        id: its id, which says nothing of what it is about.
        entry: the id of the entry that it comes from.
        kind: ``promise`` of the agent, ``task`` or ``plan`` of the person, ``question`` without an answer, or what
            ``stirred`` the person.
        salience: how much it is on the mind, in [0, 1].
        due: the beginning of the day by which it should be done, or on which it happens.
        ends: when it is over by itself: the end of the day of a plan.
    """

    id: str
    entry: str
    kind: AttentionKind
    salience: float
    due: datetime | None = None
    ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class Thought:
    """A thought seed as the presence holds it: the ids of its entries, and when it arose."""

    id: str
    entries: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class PresenceState:
    """What is on the memory's mind at a tick. It holds ids and numbers, and no words.

    Attributes:
        at: the time of the last tick.
        ticks: how many ticks there were.
        heard: when the person last said something; ``None`` for never.
        felt: the mood at that time, from which it relaxes.
        threads: the threads of attention.
        links: pairs of places in ``threads`` that come up together, with the weights of their associations.
        thoughts: the thought seeds.
        said: the ids of the threads of which something was said.
        ignored: messages in a row that nobody answered.
    """

    at: datetime
    ticks: int = 0
    heard: datetime | None = None
    felt: Affect = field(default_factory=Affect)
    threads: tuple[Attention, ...] = ()
    links: tuple[tuple[int, int, float], ...] = ()
    thoughts: tuple[Thought, ...] = ()
    said: tuple[str, ...] = ()
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """When a presence may speak first, as somebody allowed it.

    Attributes:
        zone: the time zone of the person, by its name.
        quiet: the local times between which nothing is said; the night, if the first is the later one.
        per_day: messages in one local day.
        cooldown: time between two messages. Unanswered ones double it for what is not due, to eight times as much.
        paused: whether it is silent until it is resumed.
        until: when a pause ends by itself.
    """

    zone: str
    quiet: tuple[time, time] = (time(21), time(8))
    per_day: int = 1
    cooldown: timedelta = timedelta(hours=12)
    paused: bool = False
    until: datetime | None = None

    def local(self, at: datetime) -> datetime:
        """Return a time in the person's time zone."""
        return at.astimezone(ZoneInfo(self.zone))

    def today(self, at: datetime) -> date:
        """Return the date of a time in the person's time zone."""
        return self.local(at).date()

    def is_quiet(self, at: datetime) -> bool:
        """Return whether a time is in the quiet hours. Equal times mean that there are none."""
        begins, ends = self.quiet
        now = self.local(at).time()
        return begins <= now < ends if begins <= ends else now >= begins or now < ends

    def is_paused(self, at: datetime) -> bool:
        """Return whether speaking first is paused at a time."""
        return self.paused and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class Decision:
    """Why the memory speaks, or why it is silent.

    Attributes:
        at: when it was decided.
        speaks: whether it says something.
        reason: the one thing that decided.
        score: the score of the gate, in [0, 0.9] [Tidal §5].
        threshold: the score from which the gate opens.
        parts: what threads, seeds, arousal and absence add to the score.
        counts: the numbers behind these parts: threads, seeds, the arousal, and the absence in minutes.
    """

    at: datetime
    speaks: bool
    reason: str
    score: float = 0.0
    threshold: float = 0.5
    parts: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = " + ".join(f"{name} {value:.3f}" for name, value in self.parts.items())
        score = f" (score {self.score:.3f} of {self.threshold:g}: {parts})" if parts else ""
        return f"{'speaks' if self.speaks else 'silent'}: {self.reason}{score}"


@dataclass(frozen=True, slots=True)
class ProactiveMessage:
    """Something that the memory says unprompted.

    Attributes:
        id: its id, by which a receiver knows it again.
        text: what it says.
        at: when it was decided.
        until: when it is no longer worth saying.
        kind: what it is about.
        citations: what it rests on, such as ``ep:6k1m…``.
        why: why it is said, with the score of the gate.
        status: ``queued`` until somebody takes it, then ``taken``, and ``answered`` or ``ignored`` once that is known.
            ``expired`` was taken by nobody in time.
        taken_at: when it was taken to be delivered.
        written_by_model: whether a model wrote it.
    """

    id: str
    text: str
    at: datetime
    until: datetime
    kind: AttentionKind
    citations: tuple[str, ...]
    why: str
    status: Status = "queued"
    taken_at: datetime | None = None
    written_by_model: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PresenceStep:
    """One step of a presence: its state, its mood, what it decided, and the message that waits to be delivered."""

    state: PresenceState
    mood: Affect
    decision: Decision
    message: ProactiveMessage | None = None
