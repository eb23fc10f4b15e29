"""The application: every command of ``tidal``."""

from __future__ import annotations

import typer

from tidal_plugins.apps.cli.commands import (
    chat,
    hook,
    importing,
    ingest,
    inspecting,
    keeping,
    knowing,
    mcp,
    moving,
    presence,
    recalling,
    removing,
    sessions,
    stats,
)

app = typer.Typer(
    name="tidal",
    help="A memory for agents, in one local file: recall with the reasons why.",
    epilog="Exit codes: 0 done, 1 refused, 2 written wrongly, 3 nothing found, 4 done in part, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help takes half the time, and can be copied
    pretty_exceptions_enable=False,
)

for commands in (keeping, ingest, importing, chat, recalling, knowing, sessions, presence):
    commands.add_to(app)
for commands in (stats, removing, moving, mcp, inspecting, hook):
    commands.add_to(app)
