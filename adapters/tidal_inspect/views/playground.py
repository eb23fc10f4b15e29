"""Playground: what a turn brings up, and why."""

from __future__ import annotations

from starlette.responses import Response

from tidal_inspect.page import Page, View


def playground(page: Page) -> Response:
    """Show the form, and what its turn brings up."""
    return page.show("playground.html", turn=page.text("turn"))


VIEW = View("/", "Playground", {"/": playground})
