"""``init``, ``consolidate``, ``backup``, ``reembed`` and ``doctor``: a memory is made and kept in order."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Exit, replacing
from tidal_plugins.apps.cli.session import Run, counted, embedder, local

if TYPE_CHECKING:
    from tidal_plugins import Consolidation, TidalMemory

PACKAGES = ("tidal-plugins", "apsw", "sqlite-vec", "numpy", "onnxruntime", "tokenizers", "pydantic", "typer", "rich")
"""The packages whose versions the doctor tells."""


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "init")(init)
    command(app, "consolidate")(consolidate)
    command(app, "backup")(backup)
    command(app, "reembed")(reembed)
    command(app, "doctor")(doctor)


def init(run: Run) -> None:
    """Make a memory: an empty file. One that is there is left as it is."""
    path = run.settings.file
    new = not path.exists()
    with run.memory(make=True) as memory:
        place, entries = memory.path, memory.stats().entries
    state = "made" if new else "is there already, with"
    run.show(
        {"path": place, "new": new, "entries": entries},
        f"{place}: {state} {'an empty memory' if new else counted(entries, 'entry', 'entries')}",
    )
    if new and not run.as_json:
        run.note(f"next: tidal ingest FOLDER --db {path}, tidal import HISTORY --db {path}, tidal chat --db {path}")


def consolidate(
    run: Run,
    undo: Annotated[str | None, typer.Option(help="Put back what this run changed.")] = None,
) -> None:
    """Settle what fades, make facts of what recurs.

    It also reads the turns that wait into the graph, and refreshes dossiers that are due."""
    with run.memory(writes=True) as memory:
        if undo is not None:
            count = memory.maintenance.undo(undo)
            run.show({"undone": count}, f"put back: {counted(count, 'change')}")
            return
        done = memory.maintenance.run()
    run.show(done, "\n".join(_consolidated(done)))
    if done.errors:
        raise typer.Exit(Exit.PARTLY)


def backup(
    run: Run,
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that is there.")] = False,
) -> None:
    """Write a verified copy of the memory.

    The copy has all scopes. The memory stays in use meanwhile."""
    with run.memory(writes=True) as memory, replacing(path):
        made = memory.backup(path, replace=replace)
    rows = ", ".join(f"{count:,} {name}" for name, count in made.rows.items())
    run.show(made, f"{made.path}: {size(made.size)}, as of {local(made.at)} ({rows})")


def reembed(run: Run, name: Annotated[str, typer.Argument(help="minilm, hashing, or a model's name.")]) -> None:
    """Give the memory another embedder's vectors.

    When it was interrupted, the same command goes on."""
    with run.memory(writes=True) as memory, run.progress("embedding") as bar:
        count = memory.reembed(embedder(name), progress=bar)
    run.show({"embedded": count, "embedder": name}, f"{counted(count, 'passage')} embedded with {name}")
    if name != run.settings.embedder and not run.as_json:
        run.note(f"from now on, say so with every command: export TIDAL_EMBEDDER={name}")


def doctor(
    run: Run,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt.")] = False,
) -> None:
    """Check the file, say what is wrong and what to do.

    It reads every row of all scopes, tries the embedder, and tells the versions."""
    with run.memory(writes=repair) as memory:
        report = memory.check(repair=repair)
        stats = memory.stats()
        waiting, advice = stats.waiting, _embedder_advice(memory)
    lost = [fault for fault in report.lost if fault.table != "embedder"]
    repairable = [fault for fault in report.faults if fault.repairable]
    advice += ["tidal doctor --repair rebuilds what can be rebuilt"] if repairable else []
    advice += ["restore a backup for what is lost, or go on without it"] if lost else []
    advice += ["tidal consolidate reads the turns that wait"] if waiting else []
    versions = {name: _version(name) for name in PACKAGES}
    where = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "system": platform.platform()}
    lines = [
        f"file      {run.settings.place} ({size(stats.file_bytes)}, log {size(stats.log_bytes)})",
        f"embedder  {report.embedder or 'none yet'} (opened with {run.settings.embedder})",
        f"waiting   {counted(waiting, 'turn')}",
        f"versions  {', '.join(f'{name} {number}' for name, number in (versions | where).items())}",
        f"check     {report}",
        *(f"advice    {line}" for line in advice),
    ]
    data = {"ok": report.ok, "check": report, "stats": stats, "versions": versions | where, "advice": advice}
    run.show(data, "\n".join(lines))
    if not report.ok:
        raise typer.Exit(Exit.PARTLY)


def size(count: int) -> str:
    """Return a number of bytes in words."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def _embedder_advice(memory: TidalMemory) -> list[str]:
    """Return what to do if the embedder does not work, or is not the one that wrote the vectors."""
    from tidal_plugins import EmbeddingError

    try:
        memory.warm()
    except EmbeddingError as error:
        return [str(error), "TIDAL_EMBEDDER names the embedder of a memory, tidal reembed gives it another one"]
    return []


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _consolidated(done: Consolidation) -> list[str]:
    run = f"run {done.run} (tidal consolidate --undo {done.run} takes it back)" if done.run else "nothing to take back"
    counts = {
        "turns read into the graph": done.learned,
        "entries settled": done.settled,
        "associations pruned": done.pruned,
        "facts made": len(done.facts),
        "dossiers checked": len(done.dossiers),
    }
    seeds = [f"seed: {one.text} ({one.why})" for one in done.seeds]
    kept = [f"retention: {done.retention}"] if done.retention else []
    errors = [f"failed: {error}" for error in done.errors]
    return [f"{local(done.at)}: {run}", *(f"{n:>6,} {what}" for what, n in counts.items()), *kept, *seeds, *errors]
