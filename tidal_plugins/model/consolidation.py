"""Consolidation: what one run of it did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.retention import Retention


@dataclass(frozen=True, slots=True)
class Seed:
    """A thought seed: two memories from different sources or threads that keep coming up together [Tidal §4].

    ``weight`` is the weight of their association, ``why`` says where they come from, and ``text`` says in one sentence
    what both state.
    """

    first: Entry
    second: Entry
    weight: float
    why: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text} [{self.first.citation}] [{self.second.citation}]"


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The report of a maintenance run.

    Attributes:
        run: the id by which the run can be undone; ``None`` if it changed nothing that can be undone.
        at: when it ran.
        retention: what ``Settings.retention`` no longer kept, which cannot be undone; ``None`` without rules.
        learned: how many episodes were read into the graph.
        settled: how many entries turned cold.
        pruned: how many faded associations were removed.
        facts: the ids of the facts that it made of recurring memories.
        dossiers: the topics whose dossiers were checked.
        seeds: the thought seeds.
        ephemeral: the share in [0, 1] of new entries that the write gate keeps only for a while.
        errors: the steps that failed, with the reasons; the other steps were done.
    """

    run: str | None
    at: datetime
    learned: int = 0
    settled: int = 0
    pruned: int = 0
    facts: tuple[str, ...] = ()
    dossiers: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    ephemeral: float = 0.0
    errors: tuple[str, ...] = ()
    retention: Retention | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceRun:
    """A maintenance run as it is noted, with counts and no text or id of a memory.

    A run that went on with one that was cut off is noted with what was done since.

    Attributes:
        at: when it ran.
        run: the id by which it can be undone, as long as it can; ``None`` if it changed nothing that can be undone.
        forgotten: how many turns and entries ``Settings.retention`` no longer kept.
        learned: how many episodes were read into the graph.
        settled: how many entries turned cold.
        pruned: how many faded associations were removed.
        facts: how many facts it made of recurring memories.
        seeds: how many thought seeds it named.
        errors: the steps that failed, each with the name of its error.
    """

    at: datetime
    run: str | None = None
    forgotten: int = 0
    learned: int = 0
    settled: int = 0
    pruned: int = 0
    facts: int = 0
    seeds: int = 0
    errors: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether it did anything, or failed to."""
        counts = (self.forgotten, self.learned, self.settled, self.pruned, self.facts)  # seeds are named each time
        return bool(self.run or any(counts) or self.errors)
