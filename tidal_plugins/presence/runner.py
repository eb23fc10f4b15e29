"""The runner: a thread that steps a presence every so often, and hands over what it says."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Protocol, Self
from uuid import uuid4

from tidal_plugins.errors import Closed, InvalidInput
from tidal_plugins.maintenance.thread import Maintenance
from tidal_plugins.model.presence import PresenceStep, ProactiveMessage
from tidal_plugins.presence.ticks import TICK
from tidal_plugins.shown import shown

logger = logging.getLogger(__name__)

LEASE = 3
"""Intervals for which a runner holds the presence: after a kill another one follows then."""


class Steps(Protocol):
    """What a runner needs of ``memory.presence``."""

    def step(self, *, holder: str = "", lease: timedelta = ...) -> PresenceStep: ...

    def take(self) -> ProactiveMessage | None: ...

    def give_back(self, message: ProactiveMessage) -> bool: ...

    def release(self, holder: str) -> None: ...


class HasPresence(Protocol):
    """A memory."""

    @property
    def presence(self) -> Steps: ...


class Presence:
    """Runs the presence of a memory: a step every ``interval``, and what it says to ``on_message`` or to a loop.

    With a callback::

        memory.presence.allow(zone="Europe/Berlin")
        with Presence(memory, on_message=send):
            ...

    In a coroutine::

        async with Presence(memory) as presence:
            async for message in presence:
                await send(message)

    Of several runners of one scope, in any processes, one holds the presence and the others wait; when it ends, another
    one follows after at most three intervals. A message whose callback raises waits again. Without a callback, messages
    wait until a loop is free to read them, or for ``memory.presence.take``.

    Args:
        memory: the memory; its scope is the presence's.
        on_message: called with each message, on the thread of the runner; then no loop reads any.
        interval: time between two steps. Ticks are minutes, whatever it is.
    """

    def __init__(
        self,
        memory: HasPresence,
        on_message: Callable[[ProactiveMessage], object] | None = None,
        *,
        interval: timedelta = TICK,
    ) -> None:
        if isinstance(memory, type) or not hasattr(type(memory), "presence"):
            raise InvalidInput(f"Presence runs the presence of a memory, got {shown(memory)}")
        if on_message is not None and (isinstance(on_message, type) or not callable(on_message)):
            raise InvalidInput(f"on_message= is a function of a message, got {shown(on_message)}")
        if inspect.iscoroutinefunction(on_message):  # nobody would await it
            raise InvalidInput("on_message= runs on a thread; for a coroutine, read `async for message in presence:`")
        self._presence = memory.presence
        self._on_message = on_message
        self._id = uuid4().hex
        self._worker = Maintenance(self._step, interval)
        self._lease = LEASE * interval
        self._readers = 0
        self._queue: asyncio.Queue[ProactiveMessage] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def running(self) -> bool:
        """Return whether the thread is alive in this process."""
        return self._worker.running

    def start(self) -> Self:
        """Start the thread, unless it is running."""
        self._worker.start()
        return self

    def stop(self, timeout: float | None = None) -> bool:
        """End the thread, let another runner follow at once, and return whether it has ended. Waits at most ``timeout``
        seconds for a callback."""
        ended = self._worker.stop(timeout)
        with suppress(Closed):
            self._presence.release(self._id)
        return ended

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        if self._on_message is None:
            self._loop, self._queue = asyncio.get_running_loop(), asyncio.Queue()
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        queue, self._queue = self._queue, None
        await asyncio.to_thread(self.stop)
        with suppress(Closed):
            while queue and not queue.empty():
                await asyncio.to_thread(self._presence.give_back, queue.get_nowait())

    async def __aiter__(self) -> AsyncIterator[ProactiveMessage]:
        if self._queue is None:
            raise InvalidInput(
                "messages are read inside `async with Presence(memory) as presence:`, without on_message="
            )
        while queue := self._queue:
            self._readers += 1
            try:
                message = await queue.get()
            finally:
                self._readers -= 1
            yield message

    def _step(self) -> None:
        step = self._presence.step(holder=self._id, lease=self._lease)
        queue = self._queue
        if step.message is None or (self._on_message is None and not self._readers):  # what nobody reads would grow old
            return
        message = self._presence.take()
        if message is None:
            return
        try:
            if self._on_message is not None:
                self._on_message(message)
            elif queue is not None and self._loop:
                self._loop.call_soon_threadsafe(queue.put_nowait, message)
            else:
                self._presence.give_back(message)
        except Exception as error:  # its message may quote what was said, which belongs into no log
            logger.warning("a message could not be delivered (%s), and waits again", type(error).__name__)
            self._presence.give_back(message)
