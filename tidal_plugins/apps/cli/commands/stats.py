"""``stats``: sizes, tiers, growth and hit rates, with small plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.commands.keeping import size
from tidal_plugins.apps.cli.session import Run, counted

if TYPE_CHECKING:
    from tidal_plugins import Entry, TidalMemory

PAGE = 256
"""Entries that are read at once to be counted: a page of long documents takes a few MB."""

TURNS = 1000
"""The newest turns that the hit rate is of."""

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 30
"""Characters of the longest bar."""


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "stats")(stats)


def stats(
    run: Run,
    days: Annotated[int, typer.Option(min=1, max=120, help="Days of growth to plot.")] = 30,
) -> None:
    """Show sizes, kinds, tiers, growth and hit rates."""
    kinds, tiers, stored = Counter[str](), Counter[str](), Counter[date]()
    with run.memory() as memory:
        figures, now = memory.stats(), memory.now()
        for entry in every_entry(memory):
            kinds[entry.kind] += 1
            tiers[entry.tier.state(now) if entry.tier else "permanent"] += 1
            stored[entry.recorded_at.astimezone().date()] += 1
        turns = memory.episodes.list(limit=TURNS, newest_first=True)
        surfaced = [len(turn.surfaced) for turn in turns]
    today = now.astimezone().date()
    growth = {day: stored[day] for day in (today - timedelta(days=back) for back in range(days - 1, -1, -1))}
    rate = sum(map(bool, surfaced)) / len(turns) if turns else 0.0
    hits = {"turns": len(turns), "with_memories": rate, "memories": sum(surfaced)}
    data = {"figures": figures, "kinds": kinds, "tiers": tiers, "growth": growth, "hits": hits}
    file = f"{size(figures.file_bytes)}, log {size(figures.log_bytes)}"
    waiting, grown = counted(figures.waiting, "turn"), counted(sum(growth.values()), "entry", "entries")
    run.show(
        data,
        "\n".join(
            [
                f"{counted(figures.entries, 'entry', 'entries')} with the turns, {waiting} waiting, file {file}",
                *_bars("kinds", kinds),
                *_bars("tiers", tiers),
                f"growth  {spark(list(growth.values()))}  {grown} in {counted(days, 'day')}",
                f"hits    {rate:.0%} of the last {counted(len(turns), 'turn')} had memories ({sum(surfaced):,} in all)",
                *([f"slow    {figures.slow} questions, {figures.timeouts} timeouts"] if figures.slow else []),
            ]
        ),
    )


def every_entry(memory: TidalMemory, **filter: Any) -> Iterator[Entry]:
    """Yield every entry that a filter lets through but the turns themselves, a page at a time."""
    after = 0
    while page := memory.entries.list(limit=PAGE, after=after, include_archived=True, **filter):
        yield from page
        after += len(page)


def spark(values: list[int]) -> str:
    """Return a plot of numbers in one line."""
    most = max(values, default=0) or 1
    return "".join(BLOCKS[-(-value * (len(BLOCKS) - 1) // most)] for value in values)


def _bars(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    most = max(counts.values(), default=0) or 1
    for place, (name, count) in enumerate(sorted(counts.items(), key=lambda item: -item[1])):
        bar = "█" * max(1, count * WIDTH // most)
        yield f"{title if not place else '':<7} {name:<13} {count:>8,}  {bar}"
