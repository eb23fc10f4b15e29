"""The application: every command of ``tidal``."""

from __future__ import annotations

import typer

from tidal_plugins.apps.cli.commands import chat, ingest, keeping, presence, recalling, serving

app = typer.Typer(
    name="tidal",
    help="A memory for agents, in one local file: recall with the reasons why.",
    epilog="Exit codes: 0 done, 1 refused, 2 written wrongly, 3 nothing found, 4 done in part, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help takes half the time, and can be copied
    pretty_exceptions_enable=False,
)

for commands in (keeping, ingest, chat, recalling, presence, serving):
    commands.add_to(app)
