"""``inspect``: the memory as pages for a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.errors import Failed
from tidal_plugins.apps.cli.session import Run


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    command(app, "inspect")(inspect)


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
