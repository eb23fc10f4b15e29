"""``import``: conversations of other programs are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Exit, Failed
from tidal_plugins.apps.cli.session import Run, counted

if TYPE_CHECKING:
    from tidal_plugins.apps.cli.importing import ImportAccount

LISTED = 20
"""Files that are named in a list; of the rest the number is told."""


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "import")(import_)


def import_(
    run: Run,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders; with --format claude-code or codex, where these keep them."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="claude-code, codex, chatgpt, claude-ai, jsonl, locomo or langgraph [told by the file]."),
    ] = None,
) -> None:
    """Record chat histories of other programs.

    Turns keep their times, threads and tool calls. What was imported before is known and not recorded again, and a turn
    that went on since gets its new messages.
    """
    from tidal_plugins.apps.cli.importing import import_all
    from tidal_plugins.apps.histories import FORMATS, HOMES

    if format is not None and format not in FORMATS:
        raise Failed(f"--format is one of {', '.join(FORMATS)}", Exit.USAGE)
    if not paths and format not in HOMES:
        raise Failed("name files or folders to import, or a program: --format claude-code, --format codex", Exit.USAGE)
    chosen = paths or [HOMES[str(format)].expanduser()]
    with run.memory(make=True) as memory, run.progress("importing") as bar:
        account = import_all(memory, chosen, format, bar)
    run.show(account.as_data(), "\n".join(_lines(account)))
    if account.skipped:
        raise typer.Exit(Exit.PARTLY)
    if not account.conversations:
        raise Failed("no conversation was found", Exit.NOTHING)


def _lines(account: ImportAccount) -> list[str]:
    formats = ", ".join(f"{count:,} {name}" for name, count in account.formats.items()) or "none"
    turns = f"{account.new:,} new, {account.grown:,} grown, {account.known:,} known"
    turns += f", {account.forgotten:,} forgotten on request" if account.forgotten else ""
    lines = [f"files: {formats}", f"conversations: {account.conversations:,}"]
    lines += [f"turns: {turns}, {counted(account.tool_calls, 'tool call')}"]
    lines += [f"skipped {file}: {reason}" for file, reason in account.skipped[:LISTED]]
    more = len(account.skipped) - LISTED
    lines += [f"… and {more:,} more"] if more > 0 else []
    if account.passed_over:
        rest = len(account.passed_over) - LISTED
        names = [*account.passed_over[:LISTED], *([f"… and {rest:,} more"] if rest > 0 else [])]
        lines.append(f"no histories, passed over: {', '.join(names)}")
    return lines
