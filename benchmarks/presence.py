"""Whether the memory speaks first as the source says, and what it would say over weeks of a story.

    python benchmarks/presence.py                                  the source's figures, and how long ticks take
    python benchmarks/presence.py --data folder --talks file       with stories and conversations that are lived through
    python benchmarks/presence.py --month file --zone Europe/Berlin    what it would have said, when, and why

A month is a story (``benchmarks/story.py`` has the format) or a file that ``benchmarks/locomo.py`` reads. Without one,
that of ``benchmarks/data/month.json``. Nothing is called but the embedder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.presence_crash import lost_turns
from benchmarks.presence_month import Month, live, read
from benchmarks.story import load
from tidal_plugins import Affect
from tidal_plugins.model.presence import Attention, PresenceState
from tidal_plugins.presence.ticks import mood, tick
from tidal_plugins.scoring.salience import gate
from tidal_plugins.testing import NOON
from tidal_plugins.tuning import Tuning

TUNING = Tuning()
OWN = Path(__file__).with_name("data") / "month.json"
OWN_ZONE = "Europe/Berlin"
CASE: dict[str, Any] = {"threads": 4, "seeds": 2, "arousal": 0.48, "absence": 255}
"""The source's case [Tidal §5]. Its gate gave .515."""
TICKS, THREADS = 10_000, 1_000
UPSET = Affect(-0.6, 0.8)
"""A mood at the end of a bad evening, from which the curve begins."""
HOURS = 72
BAR = 60


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or a month."""
    args = arguments(argv)
    console = Console(width=max(100, Console().width))
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    if args.month:
        stories = read(args.month)
        for one in stories if args.only is None else [stories[number] for number in args.only]:
            print_month(live(one, args.zone, embedder), console)
        return
    console.print(case())
    console.print(curve())
    if args.plot:
        plot(args.plot)
    console.print(ticking())
    console.print(f"Turns lost when the process is killed right after each of five was recorded: {lost_turns()}")
    lived = [live(one, args.zone, embedder) for one in (load(args.data) if args.data else read(OWN))]
    lived += [live(one, args.zone, embedder, steps=False) for path in args.talks for one in read(path)[:2]]
    console.print(figures(lived))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=given, help="a folder of stories (or TIDAL_BENCH_DATA)")
    parser.add_argument(
        "--talks", type=Path, action="append", default=[], help="conversations, two of each file, for what people feel"
    )
    parser.add_argument("--month", type=Path, nargs="?", const=OWN, metavar="FILE", help="print a month instead")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="the N-th conversation of that file")
    parser.add_argument("--zone", default=OWN_ZONE, help=f"the person's time zone ({OWN_ZONE})")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the mood over an absence (needs matplotlib)")
    add_embedder(parser)
    return parser.parse_args(argv)


def case() -> Table:
    """Return the source's case: what each part adds to the score."""
    limits = TUNING.presence
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
        yield mood(state, TUNING.affect.half_life, TUNING.presence.baseline)


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


def plot(path: Path) -> None:
    """Draw the mood over an absence into a file, or leave with a message."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install 'tidal-plugins[plot]'") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    found = list(moods())
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    axes.axhspan(0.5, 0.75, alpha=0.15, label="valence that the source reports")
    axes.plot([one.valence for one in found], label="valence")
    axes.plot([one.arousal for one in found], label="arousal")
    axes.set(xlabel="hours since somebody spoke", ylim=(-1, 1))
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


def ticking() -> str:
    """Return how long ticks take, all at once and one by one."""
    at = NOON + timedelta(days=3)
    threads = tuple(
        Attention(str(n), str(n), "task", n % 10 / 10, at if n % 3 == 0 else None, None) for n in range(THREADS)
    )
    links = tuple((n, (7 * n + 1) % THREADS, 1.0) for n in range(THREADS) if (7 * n + 1) % THREADS != n)
    state = PresenceState(NOON, threads=threads, links=links)
    start = time.perf_counter()
    at_once = tick(state, TUNING.presence, TICKS)
    between = time.perf_counter()
    for _ in range(TICKS):
        state = tick(state, TUNING.presence)
    end = time.perf_counter()
    same = "the same state" if state == at_once else "another state"
    return (
        f"{TICKS:,} ticks with {THREADS:,} threads: {between - start:.1f} s at once, {end - between:.1f} s one by one, "
        f"with {same}"
    )


def figures(lived: Sequence[Month]) -> Table:
    """Return the figures of the source over what was lived through."""
    shown = Table("", *(month.story.name for month in lived), title="Lived through", title_justify="left")
    half_life = TUNING.affect.half_life
    feelings = [[one.arousal for one in month.felt] or [0.0] for month in lived]
    left = 2 ** -(CASE["absence"] / 60 / half_life)
    shown.add_row("turns", *(str(len(month.story.turns)) for month in lived))
    shown.add_row("arousal right after a turn, median", *(f"{statistics.median(each):.2f}" for each in feelings))
    shown.add_row("most", *(f"{max(each):.2f}" for each in feelings))
    shown.add_row("most, 255 minutes later", *(f"{left * max(each):.2f}" for each in feelings))
    shown.add_row("turns after which .48 is left then", *(_above(each, CASE["arousal"] / left) for each in feelings))
    shown.add_row("looks that found associations", *(f"{len(month.thoughts)}/{month.looks}" for month in lived))
    shown.add_row("associations found by these", *(_range(month.thoughts) for month in lived))
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


if __name__ == "__main__":
    main()
