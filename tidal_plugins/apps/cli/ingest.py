"""``ingest``, ``remember`` and ``import``: files, texts and histories into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidal_plugins.apps.cli.command import LISTED, Exit, Failed, Run, command, counted, more
from tidal_plugins.apps.histories import FORMATS

if TYPE_CHECKING:
    from tidal_plugins.apps.cli.documents import Summary
    from tidal_plugins.apps.cli.importing import ImportAccount

KINDS = ("kb", "skill", "fact")
"""The kinds that a document or a text may be remembered as."""


@command("ingest")
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
    from tidal_plugins.apps.cli.documents import ingest_all

    _check_kind(kind)
    with run.memory(make=True) as memory, run.progress("reading") as bar:
        summary = ingest_all(memory, paths, bar, kind=kind, prune=prune)
    run.show(summary.as_data(), "\n".join(_ingested(summary, prune)))
    if summary.skipped:
        raise typer.Exit(Exit.PARTLY)


def _check_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise Failed(f"--kind is one of {', '.join(KINDS)}", Exit.USAGE)


def _ingested(summary: Summary, pruned: bool) -> list[str]:
    counts = f"{summary.new:,} new, {summary.changed:,} changed, {summary.unchanged:,} unchanged"
    lines = [f"files: {counts}, {len(summary.skipped):,} skipped", f"parts: {summary.parts:,} remembered"]
    if summary.removed:
        lines[1] += f", {summary.removed:,} that were replaced removed"
    lines += summary.skips()
    if summary.passed_over:
        common = ", ".join(f"{count:,} {suffix}" for suffix, count in summary.passed_over.most_common(8))
        lines.append(f"no documents, passed over: {common}")
    if summary.gone:
        state = "no longer remembered" if pruned else "still remembered (--prune removes them)"
        lines.append(f"files that are gone, {state}: {', '.join(summary.gone[:LISTED])}")
    return lines


@command("remember")
def remember(
    run: Run,
    text: Annotated[str, typer.Argument(help="What is worth knowing, in your words.")],
    kind: Annotated[str, typer.Option(help="kb, skill or fact.")] = "kb",
    source: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label; may be given again.")] = None,
) -> None:
    """Remember one text."""
    _check_kind(kind)
    with run.memory(make=True) as memory:
        entry = memory.remember(text, kind=kind, source=source, tags=tag)
    run.show(entry, f"{entry.citation}: {entry.text}")


@command("import")
def import_(
    run: Run,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders; with --format claude-code or codex, where these keep them."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(FORMATS)} [told by the file]."),
    ] = None,
) -> None:
    """Record chat histories of other programs.

    Turns keep their times, threads and tool calls. What was imported before is known and not recorded again, and a turn
    that went on since gets its new messages.
    """
    from tidal_plugins.apps.cli.importing import import_all
    from tidal_plugins.apps.histories import HOMES

    if format is not None and format not in FORMATS:
        raise Failed(f"--format is one of {', '.join(FORMATS)}", Exit.USAGE)
    if not paths and format not in HOMES:
        raise Failed("name files or folders to import, or a program: --format claude-code, --format codex", Exit.USAGE)
    chosen = paths or [HOMES[str(format)].expanduser()]
    with run.memory(make=True) as memory, run.progress("importing") as bar:
        account = import_all(memory, chosen, format, bar)
    run.show(account.as_data(), "\n".join(_imported(account)))
    if account.skipped:
        raise typer.Exit(Exit.PARTLY)
    if not account.conversations:
        raise Failed("no conversation was found", Exit.NOTHING)


def _imported(account: ImportAccount) -> list[str]:
    formats = ", ".join(f"{count:,} {name}" for name, count in account.formats.items()) or "none"
    turns = f"{account.new:,} new, {account.grown:,} grown, {account.known:,} known"
    turns += f", {account.forgotten:,} forgotten on request" if account.forgotten else ""
    lines = [f"files: {formats}", f"conversations: {account.conversations:,}"]
    lines += [f"turns: {turns}, {counted(account.tool_calls, 'tool call')}"]
    lines += account.skips()
    if account.passed_over:
        names = [*account.passed_over[:LISTED], *more(len(account.passed_over))]
        lines.append(f"no histories, passed over: {', '.join(names)}")
    return lines
