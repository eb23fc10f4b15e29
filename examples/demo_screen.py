"""What the demo prints. Without a terminal it is the same text without colours and moving bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from textwrap import shorten

from demo_agent import Turn
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tidal_plugins import Affect, Entry, Hit, Recall, TidalMemory

WIDTH = 112

if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(errors="replace")  # a console that lacks « shows a question mark, and goes on
console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def heading(text: str, note: str) -> None:
    console.print()
    console.rule(f"[bold]{escape(text)}", align="left")
    console.print(f"[dim]{escape(note)}")


def say(text: str, style: str = "dim") -> None:
    console.print(escape(text), style=style)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar; call what it gives with how many are done and how many there are."""
    columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=None)

        def step(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        yield step


def turn(memory: TidalMemory, spoken: Turn, speaker: str) -> None:
    """Show a turn: the words, what surfaced, from where and why, and the answer."""
    budget = memory.settings.whisper.most_chars
    console.print(f"\n[bold cyan]{escape(speaker)}[/]  {escape(spoken.question)}")
    if spoken.ids:
        console.print(_surfaced(memory, spoken))
    size = f"whisper {len(spoken.whisper)}/{budget} characters"
    if not spoken.whisper:
        size += ": nothing surfaces, the model call is unchanged"
    console.print(f"[dim]{size} · afterwards the agent feels {feeling(memory.affect.state())}")
    console.print(f"[bold green]agent[/]  {escape(spoken.answer)}")


def side_by_side(memory: TidalMemory, recalls: Sequence[Recall]) -> None:
    """Show what one question brings up in several moods, one column each."""
    table = Table(expand=True, show_lines=True)
    for recall in recalls:
        table.add_column(feeling(recall.affect), ratio=1)
    for hits in zip_longest(*recalls):
        table.add_row(*(_hit(hit, memory.now()) if hit else "" for hit in hits))
    console.print(table)


def source(entry: Entry, now: datetime) -> str:
    """Return the origin of an entry: document or thread, speaker and age."""
    days = (now - entry.occurred_at).days
    age = "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"
    origin = entry.source or f"{entry.thread}, {entry.speaker or entry.role}"
    return f"{entry.kind} · {origin} · {age}"


def feeling(affect: Affect) -> str:
    mood = "calm" if affect.intensity < 0.2 else "stirred" if affect.intensity <= 0.5 else "agitated"
    words = f"; {affect.in_words()}" if affect.in_words() else ""
    return f"{mood} (valence {_signed(affect.valence)}, arousal {affect.arousal:.2f}{words})"


def _surfaced(memory: TidalMemory, spoken: Turn) -> Table:
    table = Table(expand=True, show_lines=True)
    table.add_column("surfaced", ratio=5)
    table.add_column("from", ratio=3)
    table.add_column("why", ratio=4, style="dim")
    lines = [line for line in spoken.whisper.splitlines() if line.startswith("- [")]
    for line, id_, why in zip(lines, spoken.ids, spoken.why, strict=True):
        entry = memory.get(id_)
        text = line.partition(": ")[2]
        table.add_row(escape(text), escape(f"[{entry.citation}]\n{source(entry, memory.now())}"), escape(why))
    return table


def _hit(hit: Hit, now: datetime) -> str:
    felt = f"valence {_signed(hit.entry.affect.valence)}" if hit.entry.affect else "no feeling"
    why = f"relevance {hit.why.relevance:.2f}, feeling {_signed(hit.why.factors.get('feeling', 0.0))}"
    text = escape(shorten(hit.passage, 90, placeholder="…"))
    return f"{text}\n[dim]{escape(source(hit.entry, now))} · {felt}\n{why}, score {hit.score:.2f}"


def _signed(number: float) -> str:
    return f"{round(number, 2) + 0.0:+.2f}"  # + 0.0: no «-0.00»
