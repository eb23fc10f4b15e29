"""Timeline: the turns of every thread, newest first, and one turn verbatim."""

from __future__ import annotations

from starlette.responses import Response

from tidal_inspect.page import Page, View
from tidal_plugins.model.entry import EPISODE


def timeline(page: Page) -> Response:
    """Show a page of episodes."""
    memory, thread = page.memory, page.text("thread")
    threads = [thread] if thread else None

    def read(limit: int, after: int) -> list[object]:
        return list(
            memory.entries.list(
                kinds=[EPISODE], threads=threads, limit=limit, after=after, newest_first=True, include_archived=True
            )
        )

    return page.show("timeline.html", thread=thread, episodes=page.listed(read))


VIEW = View("/timeline", "Timeline", {"/timeline": timeline})
