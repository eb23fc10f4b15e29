"""The write gate: trivial entries leave active queries after a while, unless they are used before [Anamnesis G6].

It is off unless ``Settings.recording.gate``. Nothing is dropped: an ephemeral entry is still got by its id, found with
``include_archived``, and stands in its episode.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.embedding.identity import scale_of
from tidal_plugins.errors import Corrupt
from tidal_plugins.ingestion.writer import Writer, unfading
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS, Admission, Entry, Scope
from tidal_plugins.scoring.salience import consolidates, salience, surprise
from tidal_plugins.storage.base import Record, Storage, Where
from tidal_plugins.storage.shorthands import read_document
from tidal_plugins.tuning import Weights, tunable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class GateTuning(Weights, group="gate"):
    """[Anamnesis G6]."""

    threshold: float = tunable(0.35, ge=0)
    """Salience from which an entry is kept for good."""
    days: float = tunable(14.0, gt=0, le=36_500)
    """Days after which other entries leave active queries, unless they are used."""
    by_importance: float = tunable(0.5, ge=0)
    by_intensity: float = tunable(0.2, ge=0)
    by_surprise: float = tunable(0.3, ge=0)
    important: float = tunable(8.0, ge=0)
    """Importance that is kept for good however little salient."""


logger = logging.getLogger(__name__)

ADMISSIONS = "admissions"
"""Collection with one document, which counts what the gate decided."""


class Admitted(NamedTuple):
    """The number of entries that the gate kept for good, and the number kept for a while."""

    consolidated: int = 0
    ephemeral: int = 0

    @property
    def share(self) -> float:
        """Return the ephemeral share of all, in [0, 1]; 0 if nothing came through the gate."""
        return self.ephemeral / max(1, self.consolidated + self.ephemeral)


def nearest(
    writer: Writer, scope: Scope, groups: Iterable[Sequence[Entry]], records: Mapping[str, Record]
) -> dict[str, float]:
    """Return the highest cosine of each new entry to an entry that is stored or belongs to a group before its own.

    A long text is compared by its first passage. The first entries of a scope have no cosine. Takes no lock.
    """
    found: dict[str, float] = {}
    earlier: list[NDArray[np.float32]] = []
    with writer.storage.snapshot():
        new = [[records[entry.id] for entry in group] for group in groups]
        scale = scale_of(writer.storage)
        current = {record.entry.id: record for record in writer.current([one for group in new for one in group])}
        for group in new:
            vectors = _vectors(current[record.entry.id] for record in group)
            for id_, vector in vectors.items():
                stored = _stored(writer.storage, scope, id_, vector)
                if cosines := [*stored, *(float(other @ vector) for other in earlier)]:
                    found[id_] = scale.of_texts(max(cosines))
            earlier += vectors.values()
    return found


def counted(before: Sequence[int] | None, decisions: Sequence[Admission]) -> Admitted:
    """Return the counts with further decisions."""
    kept, ephemeral = Admitted(*(before or ())), sum(admission.ephemeral for admission in decisions)
    return Admitted(kept.consolidated + len(decisions) - ephemeral, kept.ephemeral + ephemeral)


def admitted(storage: Storage, scope: Scope) -> Admitted:
    """Return how many entries of a scope the gate has decided on, and how."""
    document = read_document(storage, scope, ADMISSIONS, ADMISSIONS)
    return Admitted(*document.value) if document else Admitted()


def decided(entry: Entry, intensity: float, cosine: float | None, now: datetime, settings: GateTuning) -> Entry:
    """Return an entry with the decision on it. ``cosine`` is that to the nearest entry of its scope, if any."""
    new = surprise(None if cosine is None else 1 - cosine)
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
    if kept and entry.importance >= settings.important:
        why = f"an importance of {entry.importance:g} is at least {settings.important:g}"
    else:
        why = f"a salience of {worth:.2f} is {'at least' if kept else 'below'} {settings.threshold:g}"
    return replace(entry, tier=tier, admission=Admission(entry.importance, intensity, new, worth, why, expires_at))


def _vectors(group: Iterable[Record]) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of first passages, by id."""
    firsts = {record.entry.id: record.passages[0].vector for record in group if record.passages}
    return {id_: vector for id_, vector in firsts.items() if vector is not None}


def _stored(storage: Storage, scope: Scope, id_: str, vector: NDArray[np.float32]) -> list[float]:
    """Return the cosine of the nearest other entry that is stored."""
    try:
        matches = storage.nearest(scope, vector, 2, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL]))
    except Corrupt:  # a new entry can be stored all the same
        logger.error("the write gate cannot compare an entry: a row is damaged")
        return []
    return [match.score for match in matches if match.id != id_][:1]
