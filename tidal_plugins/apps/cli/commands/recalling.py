"""``recall``, ``why`` and ``whisper``: what a text brings up."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Exit, Failed
from tidal_plugins.apps.cli.session import Run, local

if TYPE_CHECKING:
    from tidal_plugins import Hit

Query = Annotated[str, typer.Argument(help="What to look for, in any words.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits to return.")]
KINDS = ("conversation", "skill", "kb", "fact", "dossier", "episode")


def _kinds(given: list[str] | None) -> list[str] | None:
    """Return kinds as they are, or raise a usage error for one that there is not."""
    if wrong := [kind for kind in given or () if kind not in KINDS]:
        raise typer.BadParameter(f"{wrong[0]!r} is none of {', '.join(KINDS)}")
    return given


Kinds = Annotated[
    list[str] | None, typer.Option("--kind", callback=_kinds, help=f"Only {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
]
Threads = Annotated[list[str] | None, typer.Option("--thread", help="Only this conversation.")]
Sources = Annotated[list[str] | None, typer.Option("--source", help="Only this source, such as a file.")]
Since = Annotated[datetime | None, typer.Option(help="Not before this local time.")]
Until = Annotated[datetime | None, typer.Option(help="Before this local time.")]
Archived = Annotated[bool, typer.Option("--archived", help="Search what has faded, too.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "recall")(recall)
    command(app, "why")(why)
    command(app, "whisper")(whisper)


def recall(
    run: Run,
    query: Query,
    limit: Limit = 10,
    kind: Kinds = None,
    thread: Threads = None,
    source: Sources = None,
    since: Since = None,
    until: Until = None,
    archived: Archived = False,
    window: Annotated[int, typer.Option(min=0, max=50, help="Turns before and after each hit.")] = 0,
    hops: Annotated[int, typer.Option(min=1, max=10, help="Later hops ask for what the first leave open.")] = 1,
    full: Annotated[bool, typer.Option("--full", help="Whole texts instead of the best passages.")] = False,
) -> None:
    """Find memories, best first."""
    with run.memory() as memory:
        found = memory.recall(
            query, limit=limit, window=window, hops=hops, **filter_of(kind, thread, source, since, until, archived)
        )
    if not found and not run.as_json:
        raise Failed("nothing in memory comes up for that", Exit.NOTHING)
    shown = "\n\n".join(_lines(hit, full) for hit in found)
    run.show({"query": query, "confidence": found.confidence, "hits": [as_data(hit) for hit in found]}, shown)
    if not found:
        raise typer.Exit(Exit.NOTHING)


def why(
    run: Run,
    query: Query,
    limit: Limit = 5,
    dropped: Annotated[int, typer.Option(min=0, help="How many candidates that fell out to show.")] = 10,
    kind: Kinds = None,
    thread: Threads = None,
    source: Sources = None,
    since: Since = None,
    until: Until = None,
    archived: Archived = False,
) -> None:
    """Show why memories come up and others do not."""
    with run.memory() as memory:
        found = memory.recall(query, limit=limit, **filter_of(kind, thread, source, since, until, archived))
    run.show(found.explanation(), found.table(dropped))


def whisper(run: Run, turn: Annotated[str, typer.Argument(help="What the user says.")]) -> None:
    """Show what a model would be reminded of.

    Nothing is shown for small talk, or when no memory is relevant enough."""
    if not turn.strip():
        raise Failed("a turn must not be empty", Exit.USAGE)
    with run.memory() as memory:
        said = memory.whisper(turn)
    run.show({"text": str(said), "hits": [as_data(hit) for hit in said.hits]}, str(said))
    if not said and not run.as_json:
        run.note("(nothing: no memory is relevant enough, or it is small talk)")


def filter_of(
    kinds: list[str] | None,
    threads: list[str] | None,
    sources: list[str] | None,
    since: datetime | None,
    until: datetime | None,
    archived: bool,
) -> Any:
    """Return the filter of a recall. Times without a zone are local."""
    given = {"kinds": kinds, "threads": threads, "sources": sources}
    times = {"since": since and since.astimezone(), "until": until and until.astimezone()}
    return {**{name: value for name, value in {**given, **times}.items() if value}, "include_archived": archived}


def as_data(hit: Hit) -> dict[str, Any]:
    """Return a hit as plain data."""
    entry = hit.entry
    return {
        "id": entry.id,
        "citation": entry.citation,
        "kind": entry.kind,
        "text": entry.text,
        "passage": hit.passage,
        "score": hit.score,
        "confidence": hit.confidence,
        "thread": entry.thread,
        "speaker": entry.speaker,
        "role": entry.role,
        "source": entry.source,
        "occurred_at": entry.occurred_at,
        "window": [said.text for said in (*hit.window.before, *hit.window.after)],
        "why": str(hit.why),
    }


def _lines(hit: Hit, full: bool) -> str:
    entry = hit.entry
    who = entry.speaker or entry.role or ""
    where = [entry.source or "", f"thread {entry.thread}" if entry.thread else "", who, local(entry.occurred_at)]
    told = [entry.kind, *filter(None, where), f"confidence {hit.confidence:.2f}"]
    head = f"[{entry.citation}] {' · '.join(told)}"
    body = [entry.text if full else hit.passage]
    before = [f"  ↑ {said.role or ''}: {said.text}" for said in hit.window.before]
    after = [f"  ↓ {said.role or ''}: {said.text}" for said in hit.window.after]
    return "\n".join([head, *before, *body, *after])
