"""What a memory gives its reader: each story is lived through, and its checks of every capability are counted.

    python benchmarks/stories.py --data folder --fails --type whisper

A story tells weeks of an agent's work, and what a thoughtful person would expect its memory to give then: in whispers,
in recall, in the capsule, in dossiers, in the graph, after a compaction. ``benchmarks/story.py`` has the format. Every
story is lived in a memory of its own, with the defaults; no model is called but the embedder. Checks that need
knowledge of the world are marked as hard and counted apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.story import Check, Document, Story, Turn, load
from benchmarks.story_checks import SETTINGS, TYPES, Asking
from benchmarks.tables import options, wide
from tidal_plugins import TidalError, TidalMemory
from tidal_plugins.protocols import Embedder
from tidal_plugins.testing import FrozenClock


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, and with ``--fails`` each failing check."""
    args = arguments(argv)
    stories, start = load(args.data), time.perf_counter()
    if args.only:
        stories = [story for story in stories if story.name in args.only]
    if not stories:
        raise SystemExit(f"{args.data} holds no story of these names: {', '.join(args.only)}")
    types = args.type or TYPES
    found = lived(stories, args.embedder, types, args.jobs)
    console = wide(140)
    if args.fails:
        for name, outcomes in found.items():
            show_fails(name, outcomes, console)
    console.print(table(found, types))
    if compressions := _compressions(found):
        console.print(f"Characters of memory for each of a capsule's: {compressions}")
    console.print(f"Lived in {time.perf_counter() - start:.0f} s ({args.embedder}).")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options(__doc__)
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=given, required=not given, help="stories (or TIDAL_BENCH_DATA)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this story only; may be given again")
    parser.add_argument("--type", action="append", choices=TYPES, help="checks of this type only; may be given again")
    parser.add_argument("--fails", action="store_true", help="print each failing check, with what it was given")
    add_embedder(parser)
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes, one story in each")
    return parser.parse_args(argv)


def lived(stories: Sequence[Story], embedder: str, types: Sequence[str], jobs: int) -> Mapping[str, Sequence[Outcome]]:
    """Live through stories, in so many processes at once, and return what came of their checks."""
    one = partial(_lived, embedder=embedder, types=types)
    names = [story.name for story in stories]
    if jobs == 1:
        return dict(zip(names, map(one, stories), strict=True))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return dict(zip(names, pool.map(one, stories), strict=True))


def _lived(story: Story, embedder: str, types: Sequence[str]) -> list[Outcome]:
    return live(story, CachedEmbedder(EMBEDDERS[embedder]()), types)


# showing


def table(found: Mapping[str, Sequence[Outcome]], types: Sequence[str]) -> Table:
    """Return how many checks passed of all, by type and story, and hard ones apart."""
    shown = Table("", *found, "all", title="Checks passed", title_justify="left")
    easy = {name: [each for each in outcomes if not each.check.hard] for name, outcomes in found.items()}
    hard = {name: [each for each in outcomes if each.check.hard] for name, outcomes in found.items()}
    for type in types:
        of_type = {name: [each for each in outcomes if each.check.type == type] for name, outcomes in easy.items()}
        shown.add_row(type, *_row(of_type))
    shown.add_section()
    shown.add_row("all", *_row(easy))
    shown.add_row("hard", *_row(hard))
    return shown


def _row(found: Mapping[str, Sequence[Outcome]]) -> list[str]:
    return [*map(_passed, found.values()), _passed(each for outcomes in found.values() for each in outcomes)]


def _passed(outcomes: Iterable[Outcome]) -> str:
    passed = [outcome.passed for outcome in outcomes]
    return f"{sum(passed)}/{len(passed)}" if passed else ""


def _compressions(found: Mapping[str, Sequence[Outcome]]) -> str:
    """Return by story how far its capsules compress: the least and the most that its checks saw."""
    ratios = {name: [each.ratio for each in outcomes if each.ratio] for name, outcomes in found.items()}
    return ", ".join(f"{name} {min(each):.1f} to {max(each):.1f}" for name, each in ratios.items() if each)


def show_fails(name: str, outcomes: Sequence[Outcome], console: Console) -> None:
    """Print each failing check of a story: what was asked, what is wrong, and the text that came."""
    console.rule(f"{name}")
    for outcome in outcomes:
        if not outcome.passed:
            console.print(failed(outcome), markup=False, highlight=False)


def failed(outcome: Outcome) -> str:
    """Return a failing check in words."""
    check = outcome.check
    head = f"{check.id} ({check.type}{', hard' if check.hard else ''}): {check.why}"
    faults = "\n".join(f"✗ {fault}" for fault in outcome.faults)
    return "\n".join(
        [head, indent(f"{_asked(outcome)}\n{faults}", "  "), indent(outcome.text or "(nothing)", "  | "), ""]
    )


def _asked(outcome: Outcome) -> str:
    """Return the fields of a check that say what is asked, not what is expected."""
    expected = {"shows", "hides", "order", "restored", "not_restored", "stale", "holds", "expect", "valence"}
    return ", ".join(f"{name}: {value}" for name, value in outcome.check.fields.items() if name not in expected)


# living
#
# Before each turn the memory whispers, after it the turn is recorded with what surfaced, and what waits to be read into
# the graph is read, as it would be in the minutes until the next. Maintenance ends each session.


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


if __name__ == "__main__":
    main()
