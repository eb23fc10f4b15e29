"""``ingest``: files and folders are remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Exit, Failed
from tidal_plugins.apps.cli.session import Run

if TYPE_CHECKING:
    from tidal_plugins.apps.cli.ingesting import Summary

KINDS = ("kb", "skill", "fact")
"""The kinds that a document may be remembered as."""

LISTED = 20
"""Files that are named in a list; of the rest the number is told."""


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "ingest")(ingest)


def ingest(
    run: Run,
    paths: Annotated[list[Path], typer.Argument(help="Files or folders: Markdown, text, HTML, PDF.")],
    kind: Annotated[str | None, typer.Option(help="kb, skill or fact [SKILL.md: skill, else kb].")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what is remembered of files that are gone.")] = False,
) -> None:
    """Remember documents: files and folders.

    Unchanged files are passed over, and changed ones replace what was remembered of them. After an interruption the
    same command goes on. Folders that begin with a dot, and those of tools such as node_modules, are passed over.
    """
    from tidal_plugins.apps.cli.ingesting import ingest as ingest_all

    if kind is not None and kind not in KINDS:
        raise Failed(f"--kind is one of {', '.join(KINDS)}", Exit.USAGE)

    with run.memory(make=True) as memory, run.progress("reading") as bar:
        summary = ingest_all(memory, paths, bar, kind=kind, prune=prune)
    run.show(summary.as_data(), "\n".join(_lines(summary, prune)))
    if summary.skipped:
        raise typer.Exit(Exit.PARTLY)


def _lines(summary: Summary, pruned: bool) -> list[str]:
    counts = f"{summary.new:,} new, {summary.changed:,} changed, {summary.unchanged:,} unchanged"
    lines = [f"files: {counts}, {len(summary.skipped):,} skipped", f"parts: {summary.parts:,} remembered"]
    if summary.removed:
        lines[1] += f", {summary.removed:,} that were replaced removed"
    lines += [f"skipped {file}: {reason}" for file, reason in summary.skipped[:LISTED]]
    lines += [f"… and {len(summary.skipped) - LISTED:,} more"] if len(summary.skipped) > LISTED else []
    if summary.passed_over:
        common = ", ".join(f"{count:,} {suffix}" for suffix, count in summary.passed_over.most_common(8))
        lines.append(f"no documents, passed over: {common}")
    if summary.gone:
        state = "no longer remembered" if pruned else "still remembered (--prune removes them)"
        lines.append(f"files that are gone, {state}: {', '.join(summary.gone[:LISTED])}")
    return lines
