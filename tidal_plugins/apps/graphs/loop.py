"""An event loop on a thread of its own, for drivers that are async only and stay on one loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class OwnLoop:
    """Runs coroutines for callers of any thread, also for one that has a running loop itself."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="tidal-graph-sink")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Cancel what still runs, and stop the loop. Closing twice is fine."""
        if not self._loop.is_closed():
            self.run(_cancel_the_rest())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _cancel_the_rest() -> None:
    """Cancel what a driver began by itself, such as Graphiti's of Neo4j, which makes indexes from its first moment."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
