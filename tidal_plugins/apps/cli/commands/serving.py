"""``mcp``, ``inspect`` and ``hook``: other applications over the memory."""

from __future__ import annotations

from typing import Annotated

import typer

from tidal_plugins.apps.cli.command import Run, command
from tidal_plugins.apps.cli.errors import Failed

PASSED = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "mcp")(serve)
    command(app, "inspect")(inspect)
    app.command("hook", context_settings=PASSED, add_help_option=False)(hook)


def serve(
    run: Run,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp, not standard input.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 for any that is free.")] = 8765,
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
        try:
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
        except ImportError as error:
            raise Failed(str(error)) from error


def inspect(
    run: Run,
    file: Annotated[str | None, typer.Argument(help="The file of the memory, or its URL, in place of --db.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 for any that is free.")] = 8766,
    token: Annotated[
        str | None, typer.Option(envvar="TIDAL_INSPECT_TOKEN", help="The token in the address; else a new one.")
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name by which browsers call; may repeat.")] = None,
    allow_writes: Annotated[bool, typer.Option("--allow-writes", help="Have forms that change the memory.")] = False,
) -> None:
    """Show the memory in a browser: what it holds, and why it recalls what.

    It is only read unless --allow-writes is given."""
    from tidal_plugins.apps.inspect import serve

    with run.at(file).memory(writes=allow_writes) as memory:
        try:
            serve(
                memory,
                host=host,
                port=port,
                token=token,
                hosts=allow_host or (),
                allow_writes=allow_writes,
                say=lambda address: typer.echo(f"Open {address}\n(Ctrl+C ends it.)"),
            )
        except ImportError as error:
            raise Failed(str(error)) from error


def hook(context: typer.Context) -> None:
    """Remember and remind in Claude Code, Codex and Gemini CLI.

    tidal hook install claude-code sets it up."""
    from tidal_plugins.apps.hooks import main

    raise typer.Exit(main(context.args))
