"""``chat``: a conversation with an agent that remembers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps.cli.command import Run, command, plain
from tidal_plugins.apps.cli.errors import Exit, Failed

if TYPE_CHECKING:
    from tidal_plugins.apps.cli.chatting import Turn

HELP = "/why shows why the last memories came up, /quit ends; so does Ctrl-D"


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "chat")(chat)


def chat(
    run: Run,
    thread: Annotated[str | None, typer.Option(help="The name of the conversation [one of its own].")] = None,
    model: Annotated[str | None, typer.Option(help="As init_chat_model names it, or echo [TIDAL_MODEL].")] = None,
    max_tokens: Annotated[int, typer.Option(min=200, help="The context is compacted beyond this.")] = 8_000,
) -> None:
    """Talk to an agent that remembers.

    Whispers and compactions are shown as they happen. The model is that of a provider whose key is in the environment,
    else an echo. Lines may be piped in.
    """
    try:
        from tidal_plugins.apps.cli.chatting import Agent, choose_model
    except ModuleNotFoundError as error:
        needs = "pip install 'tidal-plugins[cli,langgraph]'"
        raise Failed(f"tidal chat needs {error.name}: {needs}", Exit.REFUSED) from error
    chosen, name = choose_model(model or run.settings.model)
    thread = thread or f"chat-{datetime.now():%Y-%m-%d-%H%M%S}"
    if not run.as_json:
        run.note(f"thread {thread}, model {name}. {HELP}")
    with run.memory(make=True) as memory:
        agent, last = Agent(memory, chosen, max_tokens), None
        for line in _lines():
            if line == "/quit":
                break
            if line.startswith("/"):
                run.note("\n".join(last.why if last else ()) or "nothing came up" if line == "/why" else HELP)
                continue
            last = agent.ask(line, thread)
            if run.as_json:
                typer.echo(json.dumps(plain({"thread": thread, "said": line, **vars(last)}), ensure_ascii=False))
            else:
                typer.echo(_shown(last))


def _lines() -> Iterator[str]:
    """Yield what is typed or piped in, without blank lines."""
    asks = sys.stdin.isatty()
    with suppress(ImportError):
        import readline  # noqa: F401  # lets a line be edited
    while True:
        try:
            line = input("you: " if asks else "")
        except EOFError:
            return
        if line.strip():
            yield line.strip()


def _shown(turn: Turn) -> str:
    whisper = [f"  │ {line}" for line in turn.whisper.splitlines()]
    return "\n".join([*_compacted(turn.compaction), *whisper, f"agent: {turn.answer}", ""])


def _compacted(event: Any) -> list[str]:
    if not event:
        return []
    before, after = event["tokens_before"], event["tokens_after"]
    return [f"  ┆ compacted: {before:,} tokens to {after:,}, {len(event['citations'])} episodes cited"]
