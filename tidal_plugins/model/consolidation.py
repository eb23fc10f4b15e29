"""Consolidation: what one run of it did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.model.entry import Entry


@dataclass(frozen=True, slots=True)
class Seed:
    """A thought seed: two memories from different sources or threads that keep coming up together [Tidal §4].

    ``weight`` is that of their association, ``why`` says where they come from.
    """

    first: Entry
    second: Entry
    weight: float
    why: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a run of the consolidator did.

    ``run`` is what to undo it by, ``None`` where it changed nothing that could be undone. ``learned`` counts episodes
    that were read for the graph, ``settled`` entries whose tier turned cold, ``pruned`` associations that had faded
    away. ``facts`` are the ids of the facts it made of what recurs, ``dossiers`` the topics that were looked through,
    ``ephemeral`` the share in [0, 1] of what the write gate has kept for a while only. ``errors`` says which steps
    failed, and why: the others were done all the same.
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
