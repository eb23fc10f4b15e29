"""Commands: functions whose first argument is a :class:`Run`: the memory, a way to print, and how a command ends.

An error ends a command with one sentence on standard error instead of a traceback.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import IntEnum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps import embedder_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from rich.console import RenderableType

    from tidal_plugins import Settings, TidalMemory

WAIT = 600.0
"""Seconds for which a command that writes waits at its end for the reading that it caused: for the graph and for what
later statements replace. What is left then is done by the next command that writes."""

LISTED = 20
"""Things that are named in a list; of the rest the number is told."""

app = typer.Typer(
    name="tidal",
    epilog="Exit codes: 0 done, 1 refused, 2 written wrongly, 3 nothing found, 4 done in part, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help takes half the time, and can be copied
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tidal-plugins {metadata.version('tidal-plugins')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A memory for agents, in one local file: recall with the reasons why."""


Db = Annotated[str, typer.Option("--db", envvar="TIDAL_DB", help="The file of the memory, or its URL.")]
Scope = Annotated[str, typer.Option("--scope", envvar="TIDAL_SCOPE", help="Whose memories, such as user/42.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Zone = Annotated[
    str, typer.Option("--time-zone", envvar="TIDAL_TIME_ZONE", help="Whose days count, such as America/Los_Angeles.")
]

COMMON = {"db": (Db, "tidal.db"), "scope": (Scope, "default"), "as_json": (Json, False), "time_zone": (Zone, "")}
"""The options of every command, with their defaults. A variable that is set to nothing counts as not set."""


class Exit(IntEnum):
    """The exit codes of every command. Typer's own for a command that is written wrongly is 2."""

    DONE = 0
    REFUSED = 1
    """The memory refused the request or failed. The message says why and what to do."""
    USAGE = 2
    """The command was written wrongly, or one of its values cannot be used."""
    NOTHING = 3
    """There is no such memory, entry, thread or topic, or no hit."""
    PARTLY = 4
    """Some files or conversations were skipped because of errors, or the doctor found something wrong."""
    INTERRUPTED = 130


class Failed(Exception):
    """Ends a command with a message and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.REFUSED) -> None:
        super().__init__(message)
        self.code = code


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function to the commands under ``name``."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            with reported(), shown_in(values["time_zone"]):
                function(Run(*(values.pop(name) for name in COMMON)), **values)

        common = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in COMMON.items()
        ]
        mine = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        run.__signature__ = inspect.Signature([*mine, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in [*mine, *common]}
        del run.__wrapped__  # what typer reads is the signature above
        group.command(name)(run)
        return function

    return added


@dataclass(frozen=True)
class Run:
    """One run of a command: a memory and a scope as they were named, and whether it prints JSON."""

    db: str
    scope: str
    as_json: bool
    time_zone: str = ""

    @property
    def file(self) -> Path:
        """Return the file of the memory. Raises ``Failed`` for one on a server."""
        if "://" in self.db:
            raise Failed(f"this command needs the file of a memory, and {self.place} is a URL", Exit.USAGE)
        return Path(self.db)

    @property
    def place(self) -> str:
        """Return where the memory is, as it may be shown: without a password."""
        scheme, url, rest = self.db.partition("://")
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}" if url else str(Path(self.db))

    @property
    def embedder(self) -> str:
        """Return ``minilm``, ``hashing`` (words only, no model), or the name of a sentence-transformers model."""
        return os.environ.get("TIDAL_EMBEDDER") or "minilm"

    def at(self, place: str | None) -> Run:
        """Return the same run with the memory in another file, or at another URL, if one is named."""
        return self if place is None else replace(self, db=place)

    @contextmanager
    def memory(self, *, make: bool = False, writes: bool = False) -> Iterator[TidalMemory]:
        """Open the memory, and close it at the end. Raises ``Failed`` if there is none.

        ``make`` makes the file if it is not there. Without ``writes`` the file is only read.
        """
        from tidal_plugins import ReadOnly, TidalMemory

        place, url = self.place, "://" in self.db
        if not make and not url and not self.file.exists():
            raise Failed(f"there is no memory at {place}: make one with tidal init, or name it with --db", Exit.NOTHING)
        reads, owner = not (make or writes), tuple(self.scope.split("/"))
        if not all(owner):
            raise Failed(f"a scope is names separated by slashes, such as user/42, got {self.scope!r}", Exit.USAGE)
        try:
            memory = TidalMemory(
                self.db if url else self.file,
                read_only=reads,
                embedder=embedder_of(self.embedder),
                settings=settings_in(self.time_zone),
                scope=owner,
            )
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


def settings_in(time_zone: str) -> Settings:
    """Return the settings of a memory with the days of a time zone, or of UTC if none is named.

    Raises ``Failed`` if there is no such zone.
    """
    from pydantic import ValidationError

    from tidal_plugins import InvalidInput, Settings

    try:
        return Settings(time_zone=time_zone or "UTC")
    except (ValidationError, InvalidInput):
        raise Failed(f"{time_zone!r} is no time zone: name one such as America/Los_Angeles", Exit.USAGE) from None


def console() -> Any:
    """Return a console that marks nothing in texts: what was said is data."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=True)


@dataclass
class Account:
    """The account of a command that takes files in: what was skipped, each with the reason."""

    skipped: list[tuple[str, str]] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the account as plain data."""
        return {**vars(self), "skipped": [{"file": file, "reason": reason} for file, reason in self.skipped]}

    def skips(self) -> list[str]:
        """Return a line for each of the first that were skipped."""
        return [*(f"skipped {file}: {reason}" for file, reason in self.skipped[:LISTED]), *more(len(self.skipped))]


@contextmanager
def reported() -> Iterator[None]:
    """Let an error of the library, or of a file, end the command with its message."""
    from tidal_plugins import EmbedderMismatch, InvalidInput, NotFound, TidalError

    try:
        yield
    except Failed as error:
        raise _end(str(error), error.code) from None
    except NotFound as error:
        raise _end(str(error), Exit.NOTHING) from None
    except EmbedderMismatch as error:
        hint = "name the embedder of this memory in TIDAL_EMBEDDER, or give it another one with tidal reembed"
        raise _end(f"{error}. Here: {hint}", Exit.REFUSED) from None
    except InvalidInput as error:
        raise _end(str(error), Exit.USAGE) from None
    except TidalError as error:
        raise _end(str(error), Exit.REFUSED) from None
    except ModuleNotFoundError:
        raise
    except ImportError as error:  # it names the package that is missing
        raise _end(str(error), Exit.REFUSED) from None
    except KeyboardInterrupt:
        raise _end("interrupted; what was stored stays", Exit.INTERRUPTED) from None
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Exit.DONE) from None
    except OSError as error:
        raise _end(f"{error.filename or 'the system'}: {error.strerror or error}", Exit.REFUSED) from None


@contextmanager
def replacing(path: Path) -> Iterator[None]:
    """Say how to replace a file that is there already, in words of the command line."""
    from tidal_plugins import Conflict

    try:
        yield
    except Conflict:
        raise Failed(f"there is a file at {path} already: name another one, or give --replace") from None


def _end(message: str, code: Exit) -> typer.Exit:
    typer.echo(f"tidal: {message}", err=True)
    return typer.Exit(code)


def plain(value: Any) -> Any:
    """Return a value as strings, numbers, lists and dictionaries."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


_zone: ContextVar[tzinfo | None] = ContextVar("tidal_time_zone", default=None)
"""The zone of the times that a command shows and is given; ``None`` for that of this machine."""


@contextmanager
def shown_in(time_zone: str) -> Iterator[None]:
    """Show times in this zone, or in that of this machine if none is named. Raises ``Failed`` for no time zone."""
    before = _zone.set(settings_in(time_zone).zone if time_zone else None)
    try:
        yield
    finally:
        _zone.reset(before)


def local(time: datetime | None) -> str:
    """Return a time as it is shown, to the minute."""
    return "" if time is None else f"{time.astimezone(_zone.get()):%Y-%m-%d %H:%M}"


def meant(time: datetime | None) -> datetime | None:
    """Return a time that was given, in the zone in which times are shown if it names none."""
    zone = _zone.get()
    return time if time is None or time.tzinfo else time.replace(tzinfo=zone) if zone else time.astimezone()


def counted(count: int, one: str, more: str = "") -> str:
    """Return a number of things in words; ``more`` is what several are called, if it is not ``one`` with an s."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def more(count: int, most: int = LISTED) -> list[str]:
    """Return a line that says how many of ``count`` things are not in a list of the first ones, if there are any."""
    return [f"… and {count - most:,} more"] if count > most else []
