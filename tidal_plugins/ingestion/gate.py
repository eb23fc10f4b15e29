"""The write gate: what is trivial leaves active queries after a while, unless it is used before [Anamnesis G6].

It is off unless ``Settings.gate.enabled``. Nothing is dropped: what is ephemeral is still got by its id, found with
``include_archived``, and stands in its episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from tidal_plugins.ingestion.repeats import Neighbour
from tidal_plugins.ingestion.writer import unfading
from tidal_plugins.model.admission import Admission
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.scoring.salience import consolidates, salience, surprise
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GateTuning

ADMISSIONS = "admissions"
"""Collection with one document, which counts what the gate decided."""


class Admitted(NamedTuple):
    """How many entries the gate kept for good, and how many for a while."""

    consolidated: int = 0
    ephemeral: int = 0

    @property
    def share(self) -> float:
        """The ephemeral share of all, in [0, 1]; 0 where nothing came through the gate."""
        return self.ephemeral / max(1, self.consolidated + self.ephemeral)


def admit(
    entry: Entry, intensity: float, near: Sequence[Neighbour] | None, now: datetime, settings: GateTuning
) -> Entry:
    """Return an entry with what the gate decides on it, which is nothing where the gate is off.

    ``intensity`` in [0, 1] is how it feels, ``near`` what it comes near to in its scope, nearest first.
    """
    if not settings.enabled:
        return entry
    new = surprise(1 - near[0].cosine if near else None)
    worth = salience(
        entry.importance,
        intensity,
        new,
        by_importance=settings.by_importance,
        by_intensity=settings.by_intensity,
        by_surprise=settings.by_surprise,
    )
    kept = consolidates(entry.importance, worth, important=settings.important, threshold=settings.threshold)
    expires_at = None if kept else now + timedelta(days=settings.days)
    tier = entry.tier if kept else replace(entry.tier or unfading(now), expires_at=expires_at)
    return replace(entry, tier=tier, admission=Admission(entry.importance, intensity, new, worth, expires_at))


def tally(storage: Storage, scope: Scope, entries: Iterable[Entry]) -> None:
    """Count what the gate decided on entries that are new. Call it inside the transaction that stores them."""
    decided = [entry.admission for entry in entries if entry.admission]
    if decided:
        ephemeral = sum(admission.ephemeral for admission in decided)
        before = admitted(storage, scope)
        counts = (before.consolidated + len(decided) - ephemeral, before.ephemeral + ephemeral)
        storage.write_document(scope, ADMISSIONS, ADMISSIONS, counts)


def admitted(storage: Storage, scope: Scope) -> Admitted:
    """Return how many entries of a scope the gate has decided on, and how."""
    document = storage.read_document(scope, ADMISSIONS, ADMISSIONS)
    return Admitted(*document.value) if document else Admitted()
