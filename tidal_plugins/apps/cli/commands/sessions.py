"""``sessions`` and ``audit``: what agents wrote under a policy."""

from __future__ import annotations

from typing import Annotated

import typer

from tidal_plugins.apps.cli.command import command
from tidal_plugins.apps.cli.session import Run, local


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    command(app, "sessions")(sessions)
    command(app, "audit")(audit)


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
