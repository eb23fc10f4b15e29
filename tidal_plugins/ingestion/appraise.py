"""Appraisal: how much turns matter, and how they feel, which moves the agent's mood [Tidal §2.2, §3.4]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidal_plugins.affect.state import AffectLoop, AffectTuning
from tidal_plugins.ingestion.plan import Plan
from tidal_plugins.ingestion.writer import fading, new_tier
from tidal_plugins.language.importance import importances
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Passages = Sequence[tuple[int, NDArray[np.float32]]]
    """The lengths of the passages of an entry, and their vectors."""

TINY = 1e-6
"""Length from which on a mean of vectors has a direction."""


@dataclass(frozen=True, slots=True)
class Impressions:
    """How turns were appraised.

    Attributes:
        turns: the ids of their episodes.
        matters: the importance of each entry, by id.
        feelings: how each text feels.
        asked: the affect of each turn of a user, from which the mood is updated.
    """

    turns: frozenset[str] = frozenset()
    matters: Mapping[str, float] = field(default_factory=dict)
    feelings: Mapping[str, Affect] = field(default_factory=dict)
    asked: Mapping[str, Affect] = field(default_factory=dict)


def impressions(affect: AffectLoop, turns: Sequence[Plan], passages: Mapping[str, Passages]) -> Impressions:
    """Appraise turns; ``passages`` are those of their entries, by id. It may wait for a model, and takes no lock.

    Feelings are read off the vectors that entries have anyway. Of what is embedded only the sentences of users are new.
    """
    entries = [entry for turn in turns for entry in turn.entries]
    texts: dict[str, list[Passages]] = {}
    for turn in turns:
        for entry in turn.entries:
            texts.setdefault(entry.text, [passages[entry.id]])
        texts.setdefault(turn.query, [passages[entry.id] for entry in turn.entries if entry.role == "user"])
        texts.setdefault(turn.answer, [])  # that of an entry, or nothing worth one
    means = _means([[one for each in parts for one in each] for parts in texts.values()])
    found = dict(zip(texts, affect.estimate(list(texts), means), strict=True))
    queries = list(dict.fromkeys(turn.query for turn in turns))
    matters = importances([entry.text for entry in entries], [entry.role for entry in entries])
    return Impressions(
        frozenset(turn.episode.id for turn in turns if turn.episode),
        {entry.id: importance for entry, importance in zip(entries, matters, strict=True)},
        found,
        dict(zip(queries, affect.told(queries, [found[query] for query in queries]), strict=True)),
    )


def appraised(
    affect: AffectLoop, turn: Plan, felt: Impressions, before: Any, settings: Settings, now: datetime
) -> tuple[list[Entry], float, Any]:
    """Let a turn move the mood, which is stored as ``before``. Return its entries with their importance, the mood after
    it and a tier, the strength of the strongest feeling, in [0, 1], and the mood to be stored, if any."""
    assert turn.episode is not None
    query, answer = felt.asked[turn.query], felt.feelings[turn.answer]
    lengths = (len(affect.spoken(turn.query)), len(turn.answer))
    mood, after = affect.advance(before, query, answer, lengths, min(turn.episode.occurred_at, now), now)
    strongest = max((mood, query, answer), key=lambda each: each.intensity)
    decay, threshold = settings[DecayTuning], settings[AffectTuning].threshold
    entries = [
        # The mood is the agent's after the exchange [Tidal §3.4], the emotions are the text's own [Anamnesis].
        replace(
            entry,
            importance=felt.matters[entry.id],
            affect=replace(mood, emotions=felt.feelings[entry.text].emotions),
            tier=new_tier(felt.matters[entry.id], strongest, entry.recorded_at, decay, threshold)
            if is_new(entry, settings)
            else entry.tier,
        )
        for entry in turn.entries
    ]
    return entries, strongest.intensity, after


def measured(record: Record) -> Passages:
    """Return the lengths of the passages of a record, with their vectors."""
    return [(one.end - one.start, one.vector) for one in record.passages or () if one.vector is not None]


def is_new(entry: Entry, settings: Settings) -> bool:
    """Return whether the tier of an entry is the one that it is stored with until it is appraised."""
    return entry.tier == fading(None, entry.recorded_at, settings[DecayTuning], settings[AffectTuning].threshold)


def _means(texts: Sequence[Passages]) -> NDArray[np.float32] | None:
    """Return for each text the mean direction of its passages, weighted by their lengths; zeros if it has none."""
    import numpy as np

    dimensions = next((len(vector) for passages in texts for _, vector in passages), None)
    if dimensions is None:
        return None
    means = np.zeros((len(texts), dimensions), np.float32)
    for mean, passages in zip(means, texts, strict=True):
        if passages:
            total = passages[0][1]
            if len(passages) > 1:
                total = np.average([vector for _, vector in passages], axis=0, weights=[size for size, _ in passages])
            mean[:] = total / max(float(np.linalg.norm(total)), TINY)
    return means
