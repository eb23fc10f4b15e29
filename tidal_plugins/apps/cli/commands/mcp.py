"""``mcp``: the memory for clients of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Failed
from tidal_plugins.apps.cli.session import Run


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "mcp")(serve)


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
