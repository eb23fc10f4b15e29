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
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from textwrap import indent

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.story import Story, load
from benchmarks.story_asking import TYPES
from benchmarks.story_life import Outcome, live

WIDTH = 140

Outcomes = Mapping[str, Sequence[Outcome]]
"""What came of the checks, by the name of the story."""


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
    console = Console(width=max(WIDTH, Console().width))
    if args.fails:
        for name, outcomes in found.items():
            show_fails(name, outcomes, console)
    console.print(table(found, types))
    if compressions := _compressions(found):
        console.print(f"Characters of memory for each of a capsule's: {compressions}")
    console.print(f"Lived in {time.perf_counter() - start:.0f} s ({args.embedder}).")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=given, required=not given, help="stories (or TIDAL_BENCH_DATA)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this story only; may be given again")
    parser.add_argument("--type", action="append", choices=TYPES, help="checks of this type only; may be given again")
    parser.add_argument("--fails", action="store_true", help="print each failing check, with what it was given")
    add_embedder(parser)
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes, one story in each")
    return parser.parse_args(argv)


def lived(stories: Sequence[Story], embedder: str, types: Sequence[str], jobs: int) -> Outcomes:
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


def table(found: Outcomes, types: Sequence[str]) -> Table:
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


def _row(found: Outcomes) -> list[str]:
    return [*map(_passed, found.values()), _passed(each for outcomes in found.values() for each in outcomes)]


def _passed(outcomes: Iterable[Outcome]) -> str:
    passed = [outcome.passed for outcome in outcomes]
    return f"{sum(passed)}/{len(passed)}" if passed else ""


def _compressions(found: Outcomes) -> str:
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


if __name__ == "__main__":
    main()
