"""OpenedStore: a store that is open inside ``with`` or ``async with``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tidal_plugins import TidalMemory

S = TypeVar("S")


@dataclass(slots=True)
class OpenedStore(Generic[S]):
    """Opens a memory, makes a store over it, and closes both at the end. It may be entered once.

    ``async with`` opens and closes on a worker thread, so that the event loop does not wait for the disk.
    """

    _open: Callable[[], TidalMemory]
    _over: Callable[[TidalMemory], S]
    _stop: Callable[[S], object]
    _opened: list[tuple[TidalMemory, S]] = field(default_factory=list)

    def __enter__(self) -> S:
        memory = self._open()
        store = self._over(memory)
        self._opened.append((memory, store))
        return store

    def __exit__(self, *error: Any) -> None:
        memory, store = self._opened.pop()
        self._stop(store)
        memory.close()

    async def __aenter__(self) -> S:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self.__exit__, *error)
