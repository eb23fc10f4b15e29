"""The memory as a whole: ``init``, upkeep, ``stats``, ``forget``, and the ways out of it and into it."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps import cut, embedder_of, with_tag, write_whole
from tidal_plugins.apps.cli.command import LISTED, Exit, Failed, Run, command, counted, local, more, replacing

if TYPE_CHECKING:
    from tidal_plugins import Consolidation, Entry, TidalMemory
    from tidal_plugins.graph.portable import Format


PACKAGES = ("tidal-plugins", "apsw", "sqlite-vec", "numpy", "onnxruntime", "tokenizers", "pydantic", "typer", "rich")
"""The packages whose versions the doctor tells."""

PAGE = 256
"""Entries that are read at once to be counted: a page of long documents takes a few MB."""

TURNS = 1000
"""The newest turns that the hit rate is of."""

BLOCKS = " ▁▂▃▄▅▆▇█"

FORMATS: dict[str, Format] = {".graphml": "graphml", ".jsonld": "json-ld", ".cypher": "cypher"}
"""The formats by the endings of files."""

WIDTH = 30
"""Characters of the longest bar."""


@command("init")
def init(run: Run) -> None:
    """Make a memory: an empty file. One that is there is left as it is."""
    path = run.file
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


@command("consolidate")
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


@command("backup")
def backup(
    run: Run,
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that is there.")] = False,
) -> None:
    """Write a verified copy of the memory.

    The copy has all scopes. The memory stays in use meanwhile."""
    with run.memory(writes=os.access(run.db, os.W_OK)) as memory, replacing(path):
        made = memory.backup(path, replace=replace)
    rows = ", ".join(f"{count:,} {name}" for name, count in made.rows.items())
    run.show(made, f"{made.path}: {size(made.size)}, as of {local(made.at)} ({rows})")


@command("reembed")
def reembed(run: Run, name: Annotated[str, typer.Argument(help="minilm, hashing, or a model's name.")]) -> None:
    """Give the memory another embedder's vectors.

    When it was interrupted, the same command goes on."""
    with run.memory(writes=True) as memory, run.progress("embedding") as bar:
        count = memory.reembed(embedder_of(name), progress=bar)
    run.show({"embedded": count, "embedder": name}, f"{counted(count, 'passage')} embedded with {name}")
    if name != run.embedder and not run.as_json:
        run.note(f"from now on, say so with every command: export TIDAL_EMBEDDER={name}")


@command("doctor")
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
    advice += [_log_advice(stats.log_readers)] if stats.log_bytes > LONG_LOG else []
    advice += ["tidal consolidate reads the turns that wait"] if waiting else []
    versions = {name: _version(name) for name in PACKAGES}
    where = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "system": platform.platform()}
    lines = [
        f"file      {run.place} ({size(stats.file_bytes)}, log {size(stats.log_bytes)})",
        f"embedder  {report.embedder or 'none yet'} (opened with {run.embedder})",
        f"waiting   {counted(waiting, 'turn')}",
        f"versions  {', '.join(f'{name} {number}' for name, number in (versions | where).items())}",
        f"check     {report}",
        *(f"advice    {line}" for line in advice),
    ]
    data = {"ok": report.ok, "check": report, "stats": stats, "versions": versions | where, "advice": advice}
    run.show(data, "\n".join(lines))
    if not report.ok:
        raise typer.Exit(Exit.PARTLY)


LONG_LOG = 64 * 1024 * 1024
"""Bytes of a log that somebody keeps from beginning anew."""


def _log_advice(readers: Sequence[str]) -> str:
    """Return what to do about a log that is too long."""
    known = f"; reading now: {', '.join(readers)}" if readers else "; which one cannot be told here"
    return f"the log is long because somebody goes on reading an earlier state: end that snapshot or process{known}"


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


@command("stats")
def stats(
    run: Run,
    days: Annotated[int, typer.Option(min=1, max=120, help="Days of growth to plot.")] = 30,
) -> None:
    """Show sizes, kinds, tiers, growth and hit rates."""
    with run.memory() as memory:
        figures, growth = memory.stats(), memory.entries.growth(days)
        turns = memory.episodes.list(limit=TURNS, newest_first=True)
        surfaced = [len(turn.surfaced) for turn in turns]
    kinds = {kind: count for kind, count in figures.kinds.items() if kind != "episode"}
    rate = sum(map(bool, surfaced)) / len(turns) if turns else 0.0
    hits = {"turns": len(turns), "with_memories": rate, "memories": sum(surfaced)}
    data = {"figures": figures, "kinds": kinds, "tiers": figures.tiers, "growth": growth, "hits": hits}
    file = f"{size(figures.file_bytes)}, log {size(figures.log_bytes)}"
    waiting, grown = counted(figures.waiting, "turn"), counted(sum(growth.values()), "entry", "entries")
    run.show(
        data,
        "\n".join(
            [
                f"{counted(figures.entries, 'entry', 'entries')} with the turns, {waiting} waiting, file {file}",
                *_bars("kinds", kinds),
                *_bars("tiers", figures.tiers),
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


@command("correct")
def correct(
    run: Run,
    id: Annotated[str, typer.Argument(help="The id or citation of a memory; tidal recall --json has the ids.")],
    text: Annotated[str, typer.Argument(help="What it says from now on.")],
) -> None:
    """Give a memory another text, which supersedes the earlier one.

    The earlier text leaves recall, and a turn keeps the words that were said in it."""
    with run.memory(writes=True) as memory:
        entry = memory.entries.correct(id, text)
    run.show({"id": entry.id, "citation": entry.citation, "text": entry.text}, f"[{entry.citation}] {entry.text}")


@command("forget")
def forget(
    run: Run,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids or citations of memories.")] = None,
    thread: Annotated[str | None, typer.Option(help="A whole conversation.")] = None,
    source: Annotated[str | None, typer.Option(help="Everything from a source, such as a file.")] = None,
    tag: Annotated[str | None, typer.Option(help="Everything that was given this tag.")] = None,
    query: Annotated[str | None, typer.Option(help="What this brings up; look first with --dry-run.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits of the query.")] = 1,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="The same texts wherever they stand.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove memories for good.

    They go from every index, and the file is rewritten so that no byte stays."""
    if not (ids or thread or source or tag or query):
        raise Failed("say what to forget: ids, --thread, --source, --tag or --query", Exit.USAGE)
    with run.memory(writes=not dry_run) as memory:
        found = _chosen(memory, ids or [], thread, source, tag, query, limit)
        known = source is not None and memory.documents.get(source) is not None
        if not found and (dry_run or not known):
            raise Failed("nothing is stored that fits", Exit.NOTHING)
        lines = [f"{each.id} {each.kind} {local(each.occurred_at)}: {cut(each.text, 100)}" for each in found]
        lines = [*lines[:LISTED], *more(len(found))]
        if dry_run:
            going = [{"id": each.id, "citation": each.citation, "kind": each.kind, "text": each.text} for each in found]
            run.show({"would_go": going}, "\n".join(["would go:", *lines]))
            return
        if not yes:
            run.note("\n".join(lines))
            if not typer.confirm(f"Forget {_count(len(found)) if found else source} for good?", err=True):
                raise Failed("nothing was forgotten", Exit.REFUSED)
        named = [each.id for each in found]
        receipt = memory.forget(*named, source=source, thread=thread, everywhere=everywhere)
    run.show(receipt, str(receipt))
    if not receipt:
        raise typer.Exit(Exit.NOTHING)


def _chosen(
    memory: TidalMemory,
    ids: list[str],
    thread: str | None,
    source: str | None,
    tag: str | None,
    query: str | None,
    limit: int,
) -> list[Entry]:
    """Return the entries that would go, each once. Raises ``NotFound`` for an id that is not there."""
    found = [memory.get(id_) for id_ in ids]
    for episode in [each.id for each in found if each.kind == "episode"]:
        found += [memory.get(id_) for id_ in memory.episodes.entry_ids(episode) if id_ != episode]
    if thread is not None:
        found += every_entry(memory, threads={thread})
    if source is not None:
        found += every_entry(memory, sources={source})
    if tag is not None:
        found += with_tag(memory, tag)
    if query is not None:
        found += [hit.entry for hit in memory.recall(query, limit=limit)]
    return list({each.id: each for each in found}.values())


def _count(entries: int) -> str:
    return "this memory" if entries == 1 else f"these {entries:,} memories"


@command("export")
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


@command("load")
def load(run: Run, path: Annotated[Path, typer.Argument(help="A file that tidal export wrote.")]) -> None:
    """Fill a new memory with an exported one.

    All of it is loaded, or nothing. The memory must be new: name a file that is not there with --db.
    """
    new = not run.file.exists()
    try:
        with run.memory(make=True) as memory:
            lines = memory.load(path)
            place = memory.path
    except BaseException:
        if new:  # nothing was loaded, so the file that was made for it goes
            for ending in ("", "-wal", "-shm"):
                Path(f"{run.file}{ending}").unlink(missing_ok=True)
        raise
    run.show({"path": place, "lines": lines}, f"{place}: loaded {counted(lines, 'line')}")


def is_engine(target: str) -> bool:
    """Return whether a target is the address of a graph engine, and not a file. A drive such as ``C:`` is a file's."""
    scheme, colon, _ = target.partition(":")
    return bool(colon) and len(scheme) > 1 and Path(target).suffix.lower() not in FORMATS


def graph_file(run: Run, path: Path, *, replace: bool) -> None:
    """Write the graph with its history to a file, in the format of its ending."""
    format_ = FORMATS.get(path.suffix.lower())
    if format_ is None:
        endings = ", ".join(FORMATS)
        raise Failed(
            f"a graph is written to a file that ends with {endings}, or to an engine, not to {path}", Exit.USAGE
        )
    if path.exists() and not replace:
        raise Failed(f"there is a file at {path} already: name another one, or give --replace")
    with run.memory() as memory:
        text = memory.graph.export(format_)
    write_whole(path, text)
    run.show({"path": path, "format": format_}, f"{path}: the graph as {format_}, {counted(len(text), 'character')}")


def mirrored(run: Run, uri: str, *, full: bool) -> None:
    """Let a graph engine have what changed in the graph since the last time."""
    user, password = os.environ.get("NEO4J_USERNAME"), os.environ.get("NEO4J_PASSWORD")
    auth = (user or "neo4j", password) if password else None
    from tidal_plugins.apps.graphs import open_sink

    with run.memory(writes=True) as memory:
        memory.graph.index_pending()
        with open_sink(uri, auth=auth, database=os.environ.get("NEO4J_DATABASE")) as sink:
            done = memory.graph.mirror(sink, full=full)
    run.show({"sink": sink.name, **{name: getattr(done, name) for name in done.__slots__}}, f"{sink.name}: {done}")
