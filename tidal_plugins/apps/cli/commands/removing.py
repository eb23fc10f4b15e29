"""``forget``: memories go for good, by id, thread, source or query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.commands.stats import every_entry
from tidal_plugins.apps.cli.errors import Exit, Failed
from tidal_plugins.apps.cli.session import Run, cut, local

if TYPE_CHECKING:
    from tidal_plugins import Entry, TidalMemory

LISTED = 20
"""Memories that are shown before they go; of the rest the number is told."""


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "forget")(forget)


def forget(
    run: Run,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids or citations of memories.")] = None,
    thread: Annotated[str | None, typer.Option(help="A whole conversation.")] = None,
    source: Annotated[str | None, typer.Option(help="Everything from a source, such as a file.")] = None,
    query: Annotated[str | None, typer.Option(help="What this brings up; look first with --dry-run.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits of the query.")] = 1,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="The same texts wherever they stand.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove memories for good.

    They go from every index, and the file is rewritten so that no byte stays."""
    if not (ids or thread or source or query):
        raise Failed("say what to forget: ids, --thread, --source or --query", Exit.USAGE)
    with run.memory(writes=not dry_run) as memory:
        found = _chosen(memory, ids or [], thread, source, query, limit)
        known = source is not None and memory.documents.get(source) is not None
        if not found and (dry_run or not known):
            raise Failed("nothing is stored that fits", Exit.NOTHING)
        lines = [f"{each.id} {each.kind} {local(each.occurred_at)}: {cut(each.text, 100)}" for each in found]
        more = [f"… and {len(found) - LISTED:,} more"] if len(found) > LISTED else []
        if dry_run:
            going = [{"id": each.id, "citation": each.citation, "kind": each.kind, "text": each.text} for each in found]
            run.show({"would_go": going}, "\n".join(["would go:", *lines[:LISTED], *more]))
            return
        if not yes:
            run.note("\n".join([*lines[:LISTED], *more]))
            if not typer.confirm(f"Forget {_count(len(found)) if found else source} for good?", err=True):
                raise Failed("nothing was forgotten", Exit.REFUSED)
        named = [each.id for each in found]
        receipt = memory.forget(*named, source=source, thread=thread, everywhere=everywhere)
    run.show(receipt, str(receipt))
    if not receipt:
        raise typer.Exit(Exit.NOTHING)


def _chosen(
    memory: TidalMemory, ids: list[str], thread: str | None, source: str | None, query: str | None, limit: int
) -> list[Entry]:
    """Return the entries that would go, each once. Raises ``NotFound`` for an id that is not there."""
    found = [memory.get(id_) for id_ in ids]
    for episode in [each.id for each in found if each.kind == "episode"]:
        found += [memory.get(id_) for id_ in memory.episodes.entry_ids(episode) if id_ != episode]
    if thread is not None:
        found += every_entry(memory, threads={thread})
    if source is not None:
        found += every_entry(memory, sources={source})
    if query is not None:
        found += [hit.entry for hit in memory.recall(query, limit=limit)]
    return list({each.id: each for each in found}.values())


def _count(entries: int) -> str:
    return "this memory" if entries == 1 else f"these {entries:,} memories"
