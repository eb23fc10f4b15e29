"""``presence``: what the memory says first, when, and why."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps import cut, texts_of
from tidal_plugins.apps.cli.command import Exit, Failed, Run, app, command, counted, plain

if TYPE_CHECKING:
    from tidal_plugins import ProactiveMessage, TidalMemory
    from tidal_plugins.model.presence import Terms


_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(group, name="presence", help="Let the memory speak first: what it says, when, and why.")


@command("allow", group)
def allow(
    run: Run,
    zone: Annotated[str, typer.Option(help="The person's time zone, such as Europe/Berlin.")],
    quiet: Annotated[str | None, typer.Option(help="Local times of silence, or none.  [default: 21:00-08:00]")] = None,
    per_day: Annotated[int, typer.Option(min=1, max=24, help="Messages in one day.")] = 1,
    cooldown: Annotated[str, typer.Option(help="Time between two messages.")] = "12h",
) -> None:
    """Let the memory speak first in this scope, or change on which terms. It ends a pause."""
    times, wait = _quiet(quiet), _duration(cooldown, "--cooldown")
    with run.memory(writes=True) as memory:
        given: dict[str, Any] = {"zone": zone, "per_day": per_day, "cooldown": wait}
        terms = memory.presence.allow(**given if times is None else {**given, "quiet": times})
    run.show(terms, _of_terms(terms))


@command("step", group)
def step(
    run: Run,
    take: Annotated[bool, typer.Option("--take", help="Take the message, as said, and print it alone.")] = False,
) -> None:
    """Let the time pass since the last step, and say whether there is something to say.

    With --take the exit code is 3 if there is nothing, so that a scheduler can send what is printed."""
    with run.memory(writes=True) as memory:
        terms = _allowed(memory)
        made = memory.presence.step()
        taken = memory.presence.take() if take else None
    if take:
        run.show({"decision": made.decision, "message": taken}, taken.text if taken else "")
        if taken is None:
            run.note(str(made.decision))
            raise typer.Exit(Exit.NOTHING)
        return
    told = [str(made.decision), *([_of_message(made.message, terms)] if made.message else [])]
    run.show({"decision": made.decision, "message": made.message, "mood": made.mood}, "\n".join(told))


@command("why", group)
def why(run: Run) -> None:
    """Say what a step would decide now, and why. Nothing is changed."""
    with run.memory() as memory:
        _allowed(memory)
        decision = memory.presence.why()
    run.show(decision, str(decision))


@command("state", group)
def state(run: Run) -> None:
    """Show what is on the memory's mind: threads of attention, thoughts, mood."""
    with run.memory() as memory:
        terms, found = _allowed(memory), memory.presence.state()
        if found is None:
            raise Failed("there was no step yet: tidal presence step", Exit.NOTHING)
        mood = memory.presence.mood()
        ids = [each.entry for each in found.threads] + [id_ for each in found.thoughts for id_ in each.entries]
        texts = texts_of(memory, ids)
        open_ = memory.presence.sentences()
    told = {each.id: open_.get(each.id, texts.get(each.entry)) for each in found.threads}
    threads = [{**plain(each), "text": told[each.id]} for each in found.threads]
    thoughts = [{**plain(each), "texts": [texts.get(id_) for id_ in each.entries]} for each in found.thoughts]
    shown = [
        f"{counted(found.ticks, 'tick')}, the last at {terms.local(found.at):%Y-%m-%d %H:%M}; "
        + (
            f"the person last spoke at {terms.local(found.heard):%Y-%m-%d %H:%M}" if found.heard else "nobody spoke yet"
        ),
        f"mood: valence {mood.valence:+.2f}, arousal {mood.arousal:.2f}",
        f"{counted(len(threads), 'thread')} of attention",
        *(
            f"  {each.salience:.2f} {each.kind}{f', due {terms.today(each.due)}' if each.due else ''}: "
            f"{cut(told[each.id] or '(forgotten)')}"
            for each in found.threads
        ),
        counted(len(thoughts), "thought"),
        *(f"  {' · '.join(cut(texts.get(id_, '(forgotten)'), 80) for id_ in each.entries)}" for each in found.thoughts),
    ]
    run.show({**plain(found), "threads": threads, "thoughts": thoughts, "mood": plain(mood)}, "\n".join(shown))


@command("messages", group)
def messages(run: Run) -> None:
    """List what was said, and what waits to be said, the newest first."""
    with run.memory() as memory:
        terms, found = _allowed(memory), memory.presence.messages()
    run.show(found, "\n".join(_of_message(each, terms) for each in found) or "nothing was said yet")


@command("pause", group)
def pause(
    run: Run, until: Annotated[datetime | None, typer.Option(help="Until this local time; else until resume.")] = None
) -> None:
    """Say nothing for a while. The mind goes on."""
    with run.memory(writes=True) as memory:
        terms = _allowed(memory)
        if until is not None and until.tzinfo is None:
            until = until.replace(tzinfo=terms.local(datetime.now().astimezone()).tzinfo)
        terms = memory.presence.pause(until)
    run.show(terms, _of_terms(terms))


@command("resume", group)
def resume(run: Run) -> None:
    """End a pause."""
    with run.memory(writes=True) as memory:
        _allowed(memory)
        terms = memory.presence.resume()
    run.show(terms, _of_terms(terms))


@command("erase", group)
def erase(run: Run, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Take back what was allowed, with all that the presence kept. Memories stay."""
    with run.memory(writes=True) as memory:
        if not yes and not typer.confirm("Erase the presence, with everything that it said?", err=True):
            raise Failed("nothing was erased", Exit.REFUSED)
        gone = memory.presence.erase()
    run.show({"messages": gone}, f"erased, with {counted(gone, 'message')}")


@command("watch", group)
def watch(run: Run, every: Annotated[str, typer.Option(help="Time between two steps.")] = "1m") -> None:
    """Step every minute, and print what the memory says, until Ctrl-C."""
    interval = _duration(every, "--every")

    def say(message: ProactiveMessage) -> None:
        line = json.dumps(plain(message), ensure_ascii=False) if run.as_json else _of_message(message, terms)
        typer.echo(line)

    from tidal_plugins import Presence

    with run.memory(writes=True) as memory:
        terms = _allowed(memory)
        with Presence(memory, on_message=say, interval=interval):
            threading.Event().wait()


def _quiet(given: str | None) -> tuple[time, time] | None:
    if given is None:
        return None
    if given == "none":
        return time(0), time(0)
    try:
        begins, ends = given.split("-")
        return time.fromisoformat(begins.strip()), time.fromisoformat(ends.strip())
    except ValueError:
        raise Failed(f"--quiet is two times such as 21:00-08:00, or none, got {given!r}", Exit.USAGE) from None


def _duration(given: str, option: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)([mhd])", given.strip())
    if match is None:
        raise Failed(f"{option} is a number with m, h or d, such as 90m or 12h, got {given!r}", Exit.USAGE)
    return timedelta(**{_UNITS[match[2]]: float(match[1])})


def _allowed(memory: TidalMemory) -> Terms:
    """Return the terms, or raise ``Failed`` if nothing is allowed."""
    terms = memory.presence.terms()
    if terms is None:
        hint = "tidal presence allow --zone Europe/Berlin, with the person's own time zone"
        raise Failed(f"nobody allowed this memory to speak first: {hint}", Exit.NOTHING)
    return terms


def _of_terms(terms: Terms) -> str:
    begins, ends = terms.quiet
    quiet = "no quiet hours" if begins == ends else f"quiet from {begins:%H:%M} to {ends:%H:%M}"
    hours = terms.cooldown / timedelta(hours=1)
    until = f" until {terms.local(terms.until):%Y-%m-%d %H:%M}" if terms.until else ""
    paused = f", paused{until}" if terms.paused else ""
    return f"{terms.zone}, {quiet}, at most {terms.per_day} a day, {hours:g} hours apart{paused}"


def _of_message(message: ProactiveMessage, terms: Terms) -> str:
    cited = " ".join(f"[{citation}]" for citation in message.citations)
    at = f"{terms.local(message.at):%Y-%m-%d %H:%M}"
    return f"{at} {message.kind}, {message.status}: {message.text} {cited}\n  {message.why}"
