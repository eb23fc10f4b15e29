"""A memory that is used day by day over most of a year, with a clock of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self

from tidal_plugins import Consolidation, Episode, Exchange, HashingEmbedder, Message, Settings, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock

TOPICS = ("folder1", "folder2")
SESSION = "daily"


class Life:
    """A memory whose days follow a plan, so that every day may be repeated.

    On the first day ``turns`` turns are recorded, of two entries each. On every later day ``regulars`` of them are
    used, and the memory is consolidated. On day 8 the first of them is used in three turns.
    """

    def __init__(self, path: Any, *, turns: int, regulars: int, batch: int = 200) -> None:
        settings = Settings(
            storage={"durability": "fast"},
            graph={"enabled": False},
            tuning={"consolidation.batch": batch, "dossier.refresh_all": 24.0 * 4},
        )
        self.turns, self.regulars = turns, regulars
        self.clock = FrozenClock()
        self.memory = TidalMemory(path, embedder=HashingEmbedder(), clock=self.clock, settings=settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()

    def begin(self) -> None:
        self.memory.record_many([_first(n) for n in range(self.turns)])
        for topic in TOPICS:
            self.memory.dossiers.refresh(topic)

    def live(self, day: int) -> Consolidation:
        """Live a day, from the first one on."""
        self.clock.set(NOON + timedelta(days=day))
        for number in range(self.regulars):
            self.use(number, f"{day}")
        for again in range(2 if 8 <= day < 16 and day % 8 == 0 else 0):
            self.use(0, f"{day}, once more {again}")
        return self.memory.maintenance.run()

    def use(self, number: int, when: str) -> Episode:
        """Record a turn whose answer uses the entries of a turn of the first day."""
        first = self.first(number)
        asked, told = f"Day {when}: which folder has number{number}?", f"Day {when}: folder{number} [{first.citation}]."
        return self.memory.record(asked, told, id=f"{number} on {when}", thread=SESSION, surfaced=first.entries)

    def first(self, number: int) -> Episode:
        return self.memory.episodes[self.memory.episodes.id_of(f"first {number}", thread=f"s{number}")]

    def last_day(self) -> int:
        """Return the last day that left a trace."""
        last = self.memory.episodes.list(thread=SESSION, newest_first=True, limit=1)
        return (last[0].occurred_at - NOON).days if last else 0


def _first(n: int) -> Exchange:
    said = (Message("user", f"number{n} goes to the harbour"), Message("assistant", f"folder{n} has number{n} now"))
    return Exchange(said, f"s{n}", f"first {n}")
