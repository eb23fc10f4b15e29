"""Commands: functions whose first argument is a :class:`Run`: the settings, the memory, and a way to print."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps.cli.errors import Exit, Failed, reported

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rich.console import RenderableType

    from tidal_plugins import TidalMemory
    from tidal_plugins.apps.cli.settings import CommandLine
    from tidal_plugins.protocols import Embedder

WAIT = 600.0
"""Seconds for which a command that writes waits at its end for the reading that it caused: for the graph and for what
later statements replace. What is left then is done by the next command that writes."""


Db = Annotated[str | None, typer.Option("--db", help="The file of the memory, or its URL [TIDAL_DB, else tidal.db].")]

Scope = Annotated[str | None, typer.Option("--scope", help="Whose memories, such as user/42 [TIDAL_SCOPE].")]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

COMMON = {"db": (Db, None), "scope": (Scope, None), "as_json": (Json, False)}
"""The options of every command, with their defaults."""


@dataclass(frozen=True)
class Run:
    """One run of a command. ``as_json`` says whether it prints JSON."""

    settings: CommandLine
    as_json: bool

    def at(self, place: str | None) -> Run:
        """Return the same run with the memory in another file, or at another URL, if one is named."""
        if place is None:
            return self
        return replace(self, settings=type(self.settings)(**{**self.settings.model_dump(), "db": place}))

    @contextmanager
    def memory(self, *, make: bool = False, writes: bool = False) -> Iterator[TidalMemory]:
        """Open the memory, and close it at the end. Raises ``Failed`` if there is none.

        ``make`` makes the file if it is not there. Without ``writes`` the file is only read.
        """
        from tidal_plugins import ReadOnly, TidalMemory

        path, place = self.settings.db, self.settings.place
        if not make and not isinstance(path, str) and not path.exists():
            raise Failed(f"there is no memory at {place}: make one with tidal init, or name it with --db", Exit.NOTHING)
        reads, chosen = not (make or writes), embedder(self.settings.embedder)
        try:
            memory = TidalMemory(path, read_only=reads, embedder=chosen, scope=self.settings.owner)
        except ReadOnly:
            if not reads:
                raise
            reason = "the program that made it was killed before it was done"
            raise Failed(f"{place} is no memory yet, {reason}: complete it with tidal init", Exit.NOTHING) from None
        try:
            yield memory
            if not reads:
                with self._busy("reading what was recorded; what is interrupted goes on at the next command"):
                    memory.close(timeout=WAIT)
        finally:
            memory.close()

    def show(self, value: Any, shown: str | RenderableType | Iterable[RenderableType] = "") -> None:
        """Print a result: ``value`` as JSON if that is asked for, else what is ``shown``."""
        if self.as_json:
            typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))
        elif isinstance(shown, str):
            if shown:
                typer.echo(shown)
        else:
            console().print(shown)

    def note(self, text: str) -> None:
        """Print a remark on standard error, where it does not mix with results."""
        typer.echo(text, err=True)

    @contextmanager
    def _busy(self, what: str) -> Iterator[None]:
        """Show on standard error that something takes a while."""
        from rich.console import Console

        screen = Console(stderr=True)
        with screen.status(what) if screen.is_terminal else nullcontext():
            yield

    @contextmanager
    def progress(self, what: str) -> Iterator[Any]:
        """Show a progress bar if standard error is a terminal; the block calls ``bar(done, total)``."""
        from rich.console import Console
        from rich.progress import Progress

        screen = Console(stderr=True)
        if not screen.is_terminal:  # where some versions of rich would end a bar that is disabled with an empty line
            yield lambda *_: None
            return
        with Progress(console=screen, transient=True) as bars:
            task = bars.add_task(what, total=None)

            def bar(done: int, total: int | None = None, text: str = what) -> None:
                bars.update(task, completed=done, total=total, description=text)

            yield bar


def console() -> Any:
    """Return a console that marks nothing in texts: what was said is data."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=True)


def embedder(name: str) -> Embedder:
    """Return an embedder by its name."""
    from tidal_plugins import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder

    if name == "minilm":
        return OnnxEmbedder()
    return HashingEmbedder() if name == "hashing" else SentenceTransformerEmbedder(name)


def plain(value: Any) -> Any:
    """Return a value as strings, numbers, lists and dictionaries."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def local(time: datetime | None) -> str:
    """Return a time in the zone of this machine, to the minute."""
    return "" if time is None else f"{time.astimezone():%Y-%m-%d %H:%M}"


def counted(count: int, one: str, more: str = "") -> str:
    """Return a number of things in words; ``more`` is what several are called, if it is not ``one`` with an s."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def cut(text: str, most: int = 160) -> str:
    """Return a text on one line, of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function to the commands under ``name``."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            with reported():
                from tidal_plugins.apps.cli.settings import CommandLine

                settings = CommandLine.of(db=values.pop("db"), scope=values.pop("scope"))
                function(Run(settings, values.pop("as_json")), **values)

        common = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in COMMON.items()
        ]
        mine = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        run.__signature__ = inspect.Signature([*mine, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in [*mine, *common]}
        del run.__wrapped__  # what typer reads is the signature above
        app.command(name)(run)
        return function

    return added
