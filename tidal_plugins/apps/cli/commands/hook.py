"""``hook``: memory for coding agents. ``apps.cli.main`` runs it without this application; here it is listed."""

from __future__ import annotations

import typer

PASSED = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("hook", context_settings=PASSED, add_help_option=False)(hook)


def hook(context: typer.Context) -> None:
    """Remember and remind in Claude Code, Codex and Gemini CLI.

    tidal hook install claude-code sets it up."""
    from tidal_plugins.apps.hooks import main

    raise typer.Exit(main(context.args))
