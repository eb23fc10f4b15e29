"""Whether the memory speaks first as the source says, and what it would say over weeks of a story.

    python benchmarks/presence.py                                  the source's figures, and how long ticks take
    python benchmarks/presence.py --data folder --talks file       with stories and conversations that are lived through
    python benchmarks/presence.py --month file --zone Europe/Berlin    what it would have said, when, and why
    python benchmarks/presence.py --month --plot                   the same, and the gate of each day drawn

A month is a story (``benchmarks/story.py`` has the format) or a file that ``benchmarks/conversations.py`` reads.
Without one, that of ``benchmarks/data/month.json``. Nothing is called but the embedder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.presence.ticks import PresenceTuning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks import conversations, story
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.story import Document, Story, Turn, load
from benchmarks.tables import options, wide
from tidal_plugins import Affect, ProactiveMessage, Settings, TidalMemory
from tidal_plugins.model.presence import Attention, Decision, PresenceState, PresenceStep
from tidal_plugins.presence.ticks import mood, tick
from tidal_plugins.protocols import Embedder
from tidal_plugins.scoring.salience import gate
from tidal_plugins.testing import NOON, FrozenClock

TUNING = Settings()
OWN = Path(__file__).with_name("data") / "month.json"
OWN_ZONE = "Europe/Berlin"
CASE: dict[str, Any] = {"threads": 4, "seeds": 2, "arousal": 0.48, "absence": 255}
"""The source's case [Tidal §5]. Its gate gave .515."""
TICKS, THREADS = 10_000, 1_000
UPSET = Affect(-0.6, 0.8)
"""A mood at the end of a bad evening, from which the curve begins."""
HOURS = 72
BAR, SCORE = 60, 45
"""Characters of the curve, and of a score of 1."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or a month."""
    args = arguments(argv)
    console = wide(100)
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    if args.month:
        stories = read(args.month)
        for one in stories if args.only is None else [stories[number] for number in args.only]:
            month = live(one, args.zone, embedder)
            print_month(month, console)
            if args.plot:
                console.print(plot(month))
        return
    console.print(case())
    console.print(curve())
    console.print(ticking())
    lived = [live(one, args.zone, embedder) for one in (load(args.data) if args.data else read(OWN))]
    lived += [live(one, args.zone, embedder, steps=False) for path in args.talks for one in read(path)[:2]]
    console.print(figures(lived))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options(__doc__)
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=given, help="a folder of stories (or TIDAL_BENCH_DATA)")
    parser.add_argument(
        "--talks", type=Path, action="append", default=[], help="conversations, two of each file, for what people feel"
    )
    parser.add_argument("--month", type=Path, nargs="?", const=OWN, metavar="FILE", help="print a month instead")
    parser.add_argument("--plot", action="store_true", help="draw the gate of each day of the month")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="the N-th conversation of that file")
    parser.add_argument("--zone", default=OWN_ZONE, help=f"the person's time zone ({OWN_ZONE})")
    add_embedder(parser)
    return parser.parse_args(argv)


def case() -> Table:
    """Return the source's case: what each part adds to the score."""
    limits = TUNING[PresenceTuning]
    parts = gate(
        **CASE,
        by_threads=limits.by_threads,
        full_threads=limits.full_threads,
        by_seeds=limits.by_seeds,
        full_seeds=limits.full_seeds,
        by_arousal=limits.by_arousal,
        by_absence=limits.by_absence,
        half_absence=limits.half_absence,
    )
    shown = Table("", *parts, "score", "threshold", title="The gate, in the source's case", title_justify="left")
    shown.add_row("given", *(f"{CASE[name]:g}" for name in parts), "", "")
    shown.add_row(
        "adds", *(f"{part:.3f}" for part in parts.values()), f"{sum(parts.values()):.3f}", f"{limits.threshold:g}"
    )
    return shown


def moods(hours: int = HOURS) -> Iterator[Affect]:
    """Yield the mood of each hour of an absence."""
    for hour in range(hours + 1):
        state = PresenceState(NOON + timedelta(hours=hour), heard=NOON, felt=UPSET)
        yield mood(state, TUNING[AffectTuning].half_life, TUNING[PresenceTuning])


def curve() -> Table:
    """Return the mood over an absence, every six hours, with a bar for valence from −1 to 1."""
    shown = Table("hours", "valence", "arousal", "valence from −1 to 1", title="Mood over an absence")
    shown.title_justify = "left"
    for hour, one in enumerate(moods()):
        if hour % 6 == 0:
            place = round((one.valence + 1) / 2 * BAR)
            drawn = "".join("●" if n == place else "│" if n == BAR // 2 else "·" for n in range(BAR + 1))
            shown.add_row(f"{hour}", f"{one.valence:+.2f}", f"{one.arousal:.2f}", drawn)
    return shown


def ticking() -> str:
    """Return how long ticks take, all at once and one by one."""
    at = NOON + timedelta(days=3)
    threads = tuple(
        Attention(str(n), str(n), "task", n % 10 / 10, at if n % 3 == 0 else None, None) for n in range(THREADS)
    )
    links = tuple((n, (7 * n + 1) % THREADS, 1.0) for n in range(THREADS) if (7 * n + 1) % THREADS != n)
    state = PresenceState(NOON, threads=threads, links=links)
    start = time.perf_counter()
    at_once = tick(state, TUNING[PresenceTuning], TICKS)
    between = time.perf_counter()
    for _ in range(TICKS):
        state = tick(state, TUNING[PresenceTuning])
    end = time.perf_counter()
    same = "the same state" if state == at_once else "another state"
    return (
        f"{TICKS:,} ticks with {THREADS:,} threads: {between - start:.1f} s at once, {end - between:.1f} s one by one, "
        f"with {same}"
    )


def figures(lived: Sequence[Month]) -> Table:
    """Return the figures of the source over what was lived through."""
    shown = Table("", *(month.story.name for month in lived), title="Lived through", title_justify="left")
    half_life = TUNING[PresenceTuning].arousal_half_life
    feelings = [[one.arousal for one in month.felt] or [0.0] for month in lived]
    left = 2 ** -(CASE["absence"] / 60 / half_life)
    shown.add_row("turns", *(str(len(month.story.turns)) for month in lived))
    shown.add_row("arousal right after a turn, median", *(f"{statistics.median(each):.2f}" for each in feelings))
    shown.add_row("most", *(f"{max(each):.2f}" for each in feelings))
    shown.add_row("most, 255 minutes later", *(f"{left * max(each):.2f}" for each in feelings))
    shown.add_row("turns after which .48 is left then", *(_above(each, CASE["arousal"] / left) for each in feelings))
    shown.add_row("looks that left associations", *(f"{len(month.thoughts)}/{month.looks}" for month in lived))
    shown.add_row("associations held then", *(_range(month.thoughts) for month in lived))
    shown.add_row("new ones, all in all", *(str(sum(month.new)) for month in lived))
    shown.add_row("characters of memory for each of a capsule's", *(_range(month.ratios.values()) for month in lived))
    shown.add_row("messages", *(str(len(month.said)) for month in lived))
    return shown


def _above(values: Sequence[float], least: float) -> str:
    return f"{sum(value >= least for value in values)}/{len(values)}"


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{found[0]:.3g} to {found[-1]:.3g}" if found else "none"


def print_month(month: Month, console: Console) -> None:
    """Print what was said, when and why, and the silences by reason."""
    console.rule(month.story.name)
    for said in month.said:
        local = said.at.astimezone(ZoneInfo(month.zone))
        whose = f" to {said.scope}" if len(month.story.scopes) > 1 else ""
        console.print(f"{local:%a %d %b %H:%M}{whose}: {said.message.text}", markup=False, highlight=False)
        console.print(f"    {said.message.why}", markup=False, highlight=False, style="dim")
    console.print(f"{len(month.said)} messages. Silent, in steps of two hours by day:")
    for reason, times in month.silences.most_common():
        console.print(f"  {times:5} {reason}", markup=False, highlight=False)


def plot(month: Month) -> Table:
    """Return the month, a row for each day: the highest score of its gate, drawn by its parts, and what was said."""
    zone, said = ZoneInfo(month.zone), Counter(one.at.astimezone(ZoneInfo(month.zone)).date() for one in month.said)
    best: dict[date, Decision] = {}
    for one in month.decisions:
        day = one.at.astimezone(zone).date()
        best[day] = max(best.get(day, one), one, key=lambda each: each.score)
    shown = Table(
        "day", "score", "Threads Seeds Arousal aBsence", "said", "threads", "seeds", title="The gate, open from │ on"
    )
    for day, one in best.items():
        bar = "".join(_PARTS[name] * round(part * SCORE) for name, part in one.parts.items()).ljust(
            round(0.9 * SCORE), "·"
        )
        place = round(one.threshold * SCORE)
        counts = (f"{one.counts[name]:g}" for name in ("threads", "seeds"))
        shown.add_row(f"{day:%a %d %b}", f"{one.score:.2f}", f"{bar[:place]}│{bar[place:]}", "●" * said[day], *counts)
    return shown


_PARTS = {"threads": "T", "seeds": "S", "arousal": "A", "absence": "B"}


# a life with a presence that steps by the story's time


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

    ``felt`` is what the person felt at each turn, ``thoughts`` how many pairs of entries were held after each look at
    the memory that left any, ``new`` how many of them were new, ``looks`` how many looks there were, and ``ratios`` how
    many characters of memory there are for each of the capsule's, by scope.
    """

    story: Story
    zone: str
    said: list[Said] = field(default_factory=list)
    silences: Counter[str] = field(default_factory=Counter)
    decisions: list[Decision] = field(default_factory=list)
    felt: list[Affect] = field(default_factory=list)
    thoughts: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    looks: int = 0
    ratios: dict[str, float] = field(default_factory=dict)


def read(path: str | Path) -> list[Story]:
    """Read a story, or each conversation of a file that ``benchmarks.conversations`` reads as a story."""
    path = Path(path)
    try:
        given = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    if isinstance(given, dict) and isinstance(given.get("sessions"), list):
        return [story.parsed(given)]
    return [_of_conversation(one) for one in conversations.load(path).conversations]


def _of_conversation(conversation: conversations.Conversation) -> Story:
    """Return a conversation as a story. The one who speaks first counts as the user, the other one as the agent."""
    own = conversation.turns[0]
    turns = [
        Turn(session.id, number, "user", user, agent, (), at, at + conversations.PACE, number == len(pairs))
        for session in conversation.sessions
        for pairs in [list(_pairs(session.turns, own))]
        for number, (at, user, agent) in enumerate(pairs, 1)
    ]
    return Story(conversation.name, "", ("user",), (), tuple(turns), (), {})


def _pairs(turns: Sequence[conversations.Turn], own: conversations.Turn) -> Iterator[tuple[datetime, str, str]]:
    said: list[conversations.Turn] = []
    for turn in turns:
        is_own = (turn.role, turn.speaker) == (own.role, own.speaker)
        if is_own and any((one.role, one.speaker) != (own.role, own.speaker) for one in said):
            yield _pair(said, own)
            said = []
        said.append(turn)
    if said:
        yield _pair(said, own)


def _pair(said: Sequence[conversations.Turn], own: conversations.Turn) -> tuple[datetime, str, str]:
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
        if pairs:
            self.month.thoughts.append(len(pairs))
        self.month.new += [len(new)] if (new := pairs - known) else []
        self.month.decisions.append(step.decision)
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


if __name__ == "__main__":
    main()
