"""Helpers for tests of indexing: the graph's contents, waiting for threads, and a storage that can be watched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidal_plugins import TidalMemory
from tidal_plugins.storage.sqlite import SQLiteStorage

SAID = "billing depends on storage"

Opened = Callable[..., TidalMemory]


def dependencies(memory: TidalMemory) -> list[tuple[str, str]]:
    graph = memory.graph
    names = {entity.id: entity.name for entity in graph.entities()}
    return sorted((names[relation.subject], names[relation.object]) for relation in graph.relations())


def threads(name: str = "tidal-background") -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


class Watched(SQLiteStorage):
    """Calls ``before`` with the number of each outermost transaction since ``watch``, before it begins."""

    def watch(self, before: Callable[[int], object] = lambda number: None) -> None:
        self.count, self.before = 0, before

    @contextmanager
    def transaction(self) -> Iterator[None]:
        outermost = not getattr(self, "inside", False)
        if outermost and hasattr(self, "before"):
            self.count += 1
            self.before(self.count)
        self.inside = True
        try:
            with super().transaction():
                yield
        finally:
            if outermost:
                self.inside = False


def watched(path: Any) -> Watched:
    return Watched(path, durability="fast")
