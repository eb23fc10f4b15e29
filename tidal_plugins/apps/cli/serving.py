"""``chat``, ``mcp``, ``inspect`` and ``hook``: other applications over the memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidal_plugins.apps.cli.command import Exit, Failed, Run, app, command, plain

if TYPE_CHECKING:
    from tidal_plugins.apps.cli.chatting import Turn


Host = Annotated[str, typer.Option(help="The address to listen at.")]

Port = Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 for any that is free.")]

PASSED = {"allow_extra_args": True, "ignore_unknown_options": True}


HELP = "/why shows why the last memories came up, /quit ends; so does Ctrl-D"


@command("mcp")
def serve(
    run: Run,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp, not standard input.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Annotated[
        str | None, typer.Option(envvar="TIDAL_MCP_TOKEN", help="The bearer token that clients must send.")
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name by which clients call; may repeat.")] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help="Origin of pages that may call; may repeat.")] = None,
    allow_writes: Annotated[bool, typer.Option("--allow-writes", help="Have remember and forget, too.")] = False,
    policy: Annotated[str | None, typer.Option(help="What these may do: the name of a policy.")] = None,
) -> None:
    """Serve the memory over MCP: to Claude Code, Cursor and others.

    It is only read unless --allow-writes is given."""
    from tidal_plugins.apps.mcp import serve as serve_memory

    with run.memory(writes=allow_writes) as memory:
        serve_memory(
            memory,
            http=http,
            host=host,
            port=port,
            token=token,
            hosts=allow_host or (),
            origins=allow_origin or (),
            allow_writes=allow_writes,
            policy=policy,
        )


@command("inspect")
def inspect(
    run: Run,
    file: Annotated[str | None, typer.Argument(help="The file of the memory, or its URL, in place of --db.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8766,
    token: Annotated[
        str | None, typer.Option(envvar="TIDAL_INSPECT_TOKEN", help="The token in the address; else a new one.")
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name by which browsers call; may repeat.")] = None,
    allow_writes: Annotated[bool, typer.Option("--allow-writes", help="Have forms that change the memory.")] = False,
) -> None:
    """Show the memory in a browser: what it holds, and why it recalls what.

    It is only read unless --allow-writes is given."""
    from tidal_plugins.apps.inspect import serve

    def say(address: str) -> None:
        typer.echo(f"Open {address}\n(Ctrl+C ends it.)")

    hosts = allow_host or ()
    with run.at(file).memory(writes=allow_writes) as memory:
        serve(memory, host=host, port=port, token=token, hosts=hosts, allow_writes=allow_writes, say=say)


@app.command("hook", context_settings=PASSED, add_help_option=False)
def hook(context: typer.Context) -> None:
    """Remember and remind in Claude Code, Codex and Gemini CLI.

    tidal hook install claude-code sets it up."""
    from tidal_plugins.apps.hooks import main

    raise typer.Exit(main(context.args))


@command("chat")
def chat(
    run: Run,
    thread: Annotated[str | None, typer.Option(help="The name of the conversation [one of its own].")] = None,
    model: Annotated[
        str | None, typer.Option(envvar="TIDAL_MODEL", help="As init_chat_model names it, or echo.")
    ] = None,
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
    chosen, name = choose_model(model)
    thread = thread or f"chat-{datetime.now():%Y-%m-%d-%H%M%S}"
    if not run.as_json:
        run.note(f"thread {thread}, model {name}. {HELP}")
    with run.memory(make=True) as memory:
        agent, last = Agent(memory, chosen, max_tokens), None
        for line in _typed():
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


def _typed() -> Iterator[str]:
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
