"""Health: sizes, tiers, growth, times and queues, what left recall, and what was done and forgotten."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from starlette.responses import Response

from tidal_plugins import TidalError
from tidal_plugins.apps.inspect.page import Listed, Page, View

DAYS = 30

FEW = 10
"""Rows of each list of what happened."""

QUESTION = "What did we say about the plans for next week?"
"""A question whose time is taken. It goes all the way through recall, and is stored nowhere."""


def health(page: Page) -> Response:
    """Show the figures of the scope and its file, and the last that was done."""
    memory = page.memory
    began = perf_counter()
    stats = memory.stats()
    counted = perf_counter()
    try:
        memory.recall(QUESTION, limit=1)
        fault = ""
    except TidalError as error:
        fault = str(error)
    asked = perf_counter()
    return page.show(
        "health.html",
        stats=stats,
        fault=fault,
        growth=memory.entries.growth(DAYS),
        times={"counting this": counted - began, **({} if fault else {"a recall": asked - counted})},
        archived=page.listed(memory.entries.archived, FEW),
        runs=_page(page, "runs"),
        compactions=_page(page, "compactions"),
        erasures=_page(page, "erasures"),
    )


def _page(page: Page, name: str) -> Listed[Any]:
    """Return a page of a list of what happened, which comes with the last first."""
    read = getattr(page.memory.maintenance, name)
    return page.listed(lambda limit, after: read(limit + after)[after:], FEW, name)


def check(page: Page) -> Response:
    """Show what a check of the whole store finds. It takes as long as reading everything does."""
    return page.show("check.html", check=page.memory.check())


VIEW = View("/health", "Health", {"/health": health, "/health/check": check})
