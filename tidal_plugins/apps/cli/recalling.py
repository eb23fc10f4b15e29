"""What is remembered: recall and its reasons, conversations, names, facts, dossiers, the capsule, and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps import cut
from tidal_plugins.apps.cli.command import Exit, Failed, Run, command, local, meant

if TYPE_CHECKING:
    from tidal_plugins import Episode, Hit, Message
    from tidal_plugins.groups.graph import Graph
    from tidal_plugins.model.graph import Entity


Query = Annotated[str, typer.Argument(help="What to look for, in any words.")]

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits to return.")]

KINDS = ("conversation", "skill", "kb", "fact", "dossier", "episode")

Threads = Annotated[list[str] | None, typer.Option("--thread", help="Only this conversation.")]

Sources = Annotated[list[str] | None, typer.Option("--source", help="Only this source, such as a file.")]

Since = Annotated[datetime | None, typer.Option(help="Not before this local time.")]

Until = Annotated[datetime | None, typer.Option(help="Before this local time.")]

Archived = Annotated[bool, typer.Option("--archived", help="Search what has faded, too.")]

SIMILAR = 5
"""Names that are offered for one that is not known."""

MENTIONS = 5
"""Quotations that ``entity`` shows."""


def _kinds(given: list[str] | None) -> list[str] | None:
    """Return kinds as they are, or raise a usage error for one that there is not."""
    if wrong := [kind for kind in given or () if kind not in KINDS]:
        raise typer.BadParameter(f"{wrong[0]!r} is none of {', '.join(KINDS)}")
    return given


Kinds = Annotated[
    list[str] | None, typer.Option("--kind", callback=_kinds, help=f"Only {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
]


@command("recall")
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
        raise Failed(f"nothing in scope {run.scope} comes up for that", Exit.NOTHING)
    shown = "\n\n".join(_lines(hit, full) for hit in found)
    data = {"query": query, "confidence": found.confidence, "degraded": list(found.degraded)}
    run.show({**data, "hits": [as_data(hit) for hit in found]}, shown)
    _note_degraded(run, found.degraded)
    if not found:
        raise typer.Exit(Exit.NOTHING)


@command("why")
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


@command("whisper")
def whisper(run: Run, turn: Annotated[str, typer.Argument(help="What the user says.")]) -> None:
    """Show what a model would be reminded of.

    Nothing is shown for small talk, or when no memory is relevant enough."""
    if not turn.strip():
        raise Failed("a turn must not be empty", Exit.USAGE)
    with run.memory() as memory:
        said = memory.whisper(turn)
    data = {"text": str(said), "degraded": list(said.degraded), "hits": [as_data(hit) for hit in said.hits]}
    run.show(data, str(said))
    _note_degraded(run, said.degraded)
    if not said and not run.as_json:
        run.note("(nothing: no memory is relevant enough, or it is small talk)")


def _note_degraded(run: Run, degraded: Sequence[str]) -> None:
    """Say what an answer lacks, beside it."""
    if degraded and not run.as_json:
        run.note(f"(without {', '.join(degraded)}; tidal doctor tells more)")


def filter_of(
    kinds: list[str] | None,
    threads: list[str] | None,
    sources: list[str] | None,
    since: datetime | None,
    until: datetime | None,
    archived: bool,
) -> Any:
    """Return the filter of a recall."""
    given = {"kinds": kinds, "threads": threads, "sources": sources}
    times = {"since": meant(since), "until": meant(until)}
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


@command("history")
def history(
    run: Run,
    citation: Annotated[str | None, typer.Argument(help="A citation such as ep:…, to read one turn.")] = None,
    thread: Annotated[str | None, typer.Option(help="Only this conversation.")] = None,
    since: Since = None,
    until: Until = None,
    tool: Annotated[str | None, typer.Option(help="Only turns in which this tool ran.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The newest turns of these.")] = 10,
    full: Annotated[bool, typer.Option("--full", help="Every message verbatim, also of tools.")] = False,
) -> None:
    """Read conversations as they were, newest last."""
    with run.memory() as memory:
        if citation is not None:
            found = [memory.episodes[citation]]
        else:
            found = memory.episodes.list(
                thread=thread, tool=tool, since=meant(since), until=meant(until), limit=limit, newest_first=True
            )[::-1]
    if not found and not run.as_json:
        raise Failed("no turn is recorded that fits", Exit.NOTHING)
    run.show(found, "\n\n".join(_turn(episode, full or citation is not None) for episode in found))


@command("entity")
def entity(
    run: Run,
    name: Annotated[str | None, typer.Argument(help="A name or an alias; without it, the names seen last.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most lines to show.")] = 20,
) -> None:
    """Show what is known of a person or a thing.

    Each line cites where it was said."""
    with run.memory() as memory:
        graph = memory.graph
        if name is None:
            known = graph.entities(limit=limit)
            lines = [
                f"{one.name} ({one.type}), turns: {len(one.episodes)}, last {local(one.last_seen)}" for one in known
            ]
            run.show(known, "\n".join(lines) or "no entity is known yet")
            return
        one = _known(graph, name)
        relations = graph.relations(about=one.id, limit=limit)
        sentences = graph.sentences(relations)
        mentions = graph.mentions(one.id)[:MENTIONS]
    also = f", also {', '.join(one.aliases)}" if one.aliases else ""
    seen = f"{one.name} ({one.type}{also}): first {local(one.first_seen)}, last {local(one.last_seen)}"
    told = [
        f"- {sentences[each.id]} ({each.confidence:.2f}) {' '.join(f'[ep:{id_}]' for id_ in each.episodes[:2])}"
        for each in relations
    ]
    quotes = [f"- {local(each.at)} «{cut(each.quote)}» {each.citation}" for each in mentions]
    data = {"entity": one, "relations": relations, "sentences": sentences, "mentions": mentions}
    parts = [seen, *(["", *told] if told else []), *(["", "Mentioned:", *quotes] if quotes else [])]
    run.show(data, "\n".join(parts))


@command("facts")
def facts(
    run: Run,
    key: Annotated[str | None, typer.Argument(help="A key, to see every value that it had.")] = None,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="List the open contradictions instead.")] = False,
    as_of: Annotated[datetime | None, typer.Option(help="What held at this local time.")] = None,
) -> None:
    """List facts, their history, or contradictions."""
    with run.memory() as memory:
        known = memory.facts
        if conflicts:
            opened = known.conflicts()
            lines = [
                f"{each.id} {each.key}: «{each.fact}», but {local(each.at)} «{cut(each.quote)}» [{each.citation}]"
                for each in opened
            ]
            run.show(opened, "\n".join(lines) or "no contradiction is open")
        elif key is not None:
            versions = known.history(key)
            if not versions:
                raise Failed(f"nothing is known under {key!r}", Exit.NOTHING)
            lines = [f"{local(each.since)} – {local(each.until) or 'now'}  {each.value}" for each in versions]
            run.show(versions, "\n".join(lines))
        elif as_of is not None:
            held = dict(known.as_of(as_of.astimezone()))
            run.show(held, "\n".join(f"{name}: {value}" for name, value in held.items()) or "no fact held then")
        else:
            now = [known.fact(name) for name in known]
            lines = [f"{each.key}: {each.value}  (since {local(each.since)})" for each in now]
            run.show(now, "\n".join(lines) or "no fact is set: programs set them; tidal entity tells what was said")


@command("dossier")
def dossier(
    run: Run,
    topic: Annotated[str | None, typer.Argument(help="A topic; without it, the topics that have a dossier.")] = None,
    brief: Annotated[bool, typer.Option("--brief", help="A short answer to «what is happening with it?».")] = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Bring it up to date now.")] = False,
) -> None:
    """Read the current document on a topic.

    Every line has citations. The document of a topic is made or brought up to date by that, and is a memory, too; the
    list and --brief write nothing."""
    with run.memory(writes=topic is not None and not brief) as memory:
        if topic is None:
            known = memory.dossiers.list()
            lines = [f"{each.topic} (version {each.version}, {local(each.updated_at)})" for each in known]
            run.show(known, "\n".join(lines) or "no topic has a dossier yet")
        elif brief:
            told = memory.dossiers.brief(topic)
            run.show(told, str(told))
        else:
            made = memory.dossiers.refresh(topic, force=refresh)
            if not made and not run.as_json:
                raise Failed(f"nothing is known of {topic!r}", Exit.NOTHING)
            run.show(made, f"{made.topic} (version {made.version}, {local(made.updated_at)})\n\n{made.body}")


@command("capsule")
def capsule(run: Run) -> None:
    """Read the capsule that a thread begins with."""
    with run.memory() as memory:
        text = str(memory.capsule.read())
    run.show({"text": text}, text)


def _known(graph: Graph, name: str) -> Entity:
    """Return an entity, or raise ``Failed`` with the names that are like it."""
    from tidal_plugins import NotFound

    try:
        return graph.entity(name)
    except NotFound:
        similar = ", ".join(each.name for each in graph.search(name, limit=SIMILAR))
        hint = f"; similar names: {similar}" if similar else "; tidal entity lists the names that are known"
        raise Failed(f"nothing is known by the name {name!r}{hint}", Exit.NOTHING) from None


def _turn(episode: Episode, full: bool) -> str:
    where = f" · thread {episode.thread}, turn {episode.turn}" if episode.thread else ""
    said = [_said(message) for message in episode.messages] if full else _short(episode)
    return "\n".join([f"[{episode.citation}] {local(episode.occurred_at)}{where}", *said])


def _short(episode: Episode) -> list[str]:
    """Return what was asked and answered, and between them the tools that ran."""
    tools = [call.name for call in episode.tool_calls]
    ran = [f"  (tools: {', '.join(tools)})"] if tools else []
    asked = [_said(message) for message in episode.messages if message.role == "user"]
    return [*asked, *ran, *([f"assistant: {episode.answer}"] if episode.answer else [])]


def _said(message: Message) -> str:
    calls = [f"  calls {call.name} {dict(call.arguments)}" for call in message.tool_calls]
    text = [f"{message.speaker or message.role}: {message.text}"] if message.text else []
    return "\n".join([*text, *calls])


@command("sessions")
def sessions(
    run: Run,
    user: Annotated[str | None, typer.Option(help="Only those of this user.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only those of this agent.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only those that are open.")] = False,
) -> None:
    """List the sessions in which agents wrote signals."""
    with run.memory() as memory:
        found = memory.sessions.list(user=user, agent=agent, open=True if open_only else None)
    lines = [
        f"{each.id}: {each.agent or 'an agent'} for {each.user or 'nobody'}, policy {each.policy_name or 'none'}, "
        f"{local(each.opened_at)} – {local(each.closed_at) or 'open'}, {each.accepted} accepted, "
        f"{each.rejected} refused"
        for each in found
    ]
    run.show(found, "\n".join(lines) or "no session has written a signal yet")


@command("audit")
def audit(run: Run, session: Annotated[int, typer.Argument(help="The number of a session.")]) -> None:
    """List the decisions on a session's signals."""
    with run.memory() as memory:
        found = memory.sessions.audit(session)
    lines = [
        f"{local(each.at)} {'accepted' if each.accepted else 'refused '} {each.type} {each.entry} {each.weight:+.2f}"
        f"{f': {each.reason}' if each.reason else ''}"
        for each in found
    ]
    run.show(found, "\n".join(lines))
