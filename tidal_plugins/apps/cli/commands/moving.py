"""``export`` and ``load``: a whole memory as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.commands.keeping import size
from tidal_plugins.apps.cli.errors import Exit, Failed, replacing
from tidal_plugins.apps.cli.graphs import graph_file, is_engine, mirrored
from tidal_plugins.apps.cli.session import Run, counted


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "export")(export)
    command(app, "load")(load)


def export(
    run: Run,
    path: Annotated[
        str,
        typer.Argument(
            help="The file to write: JSON lines, compressed if it ends with .gz. With --graph a .graphml, .jsonld or "
            ".cypher file, or a graph engine: neo4j://host:7687, ladybug:FILE, graphiti+neo4j://host:7687."
        ),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that is there.")] = False,
    graph: Annotated[bool, typer.Option("--graph", help="Write the graph of the scope alone.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Write all of it again to a graph engine.")] = False,
) -> None:
    """Write the whole memory to one file, or its graph to a file or a graph engine.

    The file has all scopes, ids, vectors and tombstones, in clear. The same memory gives the same bytes. A graph engine
    gets what changed since the last time, and loses what was forgotten; user and password are in NEO4J_USERNAME and
    NEO4J_PASSWORD, the database in NEO4J_DATABASE.
    """
    if graph:
        mirrored(run, path, full=full) if is_engine(path) else graph_file(run, Path(path), replace=replace)
        return
    if full or "://" in path or path.startswith(("ladybug:", "graphiti+")):
        raise Failed("a graph engine gets the graph: give --graph, and --full with its address", Exit.USAGE)
    with run.memory() as memory, replacing(Path(path)):
        lines = memory.export(path, replace=replace)
    bytes_ = Path(path).stat().st_size
    run.show({"path": path, "lines": lines, "bytes": bytes_}, f"{path}: {counted(lines, 'line')}, {size(bytes_)}")


def load(run: Run, path: Annotated[Path, typer.Argument(help="A file that tidal export wrote.")]) -> None:
    """Fill a new memory with an exported one.

    All of it is loaded, or nothing. The memory must be new: name a file that is not there with --db.
    """
    new = not run.settings.file.exists()
    try:
        with run.memory(make=True) as memory:
            lines = memory.load(path)
            place = memory.path
    except BaseException:
        if new:  # nothing was loaded, so the file that was made for it goes
            for ending in ("", "-wal", "-shm"):
                Path(f"{run.settings.file}{ending}").unlink(missing_ok=True)
        raise
    run.show({"path": place, "lines": lines}, f"{place}: loaded {counted(lines, 'line')}")
