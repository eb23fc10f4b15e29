"""``export`` and ``load``: a whole memory as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidal_cli.command import command
from tidal_cli.commands.keeping import size
from tidal_cli.errors import replacing
from tidal_cli.session import Run, counted


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "export")(export)
    command(app, "load")(load)


def export(
    run: Run,
    path: Annotated[Path, typer.Argument(help="The file to write: JSON lines, compressed if it ends with .gz.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that is there.")] = False,
) -> None:
    """Write the whole memory to one file.

    It has all scopes, ids, vectors and tombstones, in clear. The same memory gives the same bytes.
    """
    with run.memory() as memory, replacing(path):
        lines = memory.export(path, replace=replace)
    bytes_ = path.stat().st_size
    run.show({"path": path, "lines": lines, "bytes": bytes_}, f"{path}: {counted(lines, 'line')}, {size(bytes_)}")


def load(run: Run, path: Annotated[Path, typer.Argument(help="A file that tidal export wrote.")]) -> None:
    """Fill a new memory with an exported one.

    All of it is loaded, or nothing. The memory must be new: name a file that is not there with --db.
    """
    new = not run.settings.db.exists()
    try:
        with run.memory(make=True) as memory:
            lines = memory.load(path)
            place = memory.path
    except BaseException:
        if new:  # nothing was loaded, so the file that was made for it goes
            for ending in ("", "-wal", "-shm"):
                Path(f"{run.settings.db}{ending}").unlink(missing_ok=True)
        raise
    run.show({"path": place, "lines": lines}, f"{place}: loaded {counted(lines, 'line')}")
