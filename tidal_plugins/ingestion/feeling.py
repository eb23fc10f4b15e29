"""Feelings: they are read off the vectors that the entries of a turn have anyway, and move the mood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidal_plugins.affect.state import COLLECTION, KEY
from tidal_plugins.ingestion.batch import Batch
from tidal_plugins.ingestion.plan import TurnPlan, Writing
from tidal_plugins.ingestion.writer import new_tier
from tidal_plugins.storage.base import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TINY = 1e-6
"""Length from which on a mean of vectors has a direction."""


def feel(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Read how turns and their entries feel. Of what is embedded only the sentences of users' turns are new."""
    passages: dict[str, list[Passage]] = {}
    for plan in plans:
        for entry in plan.entries:
            passages.setdefault(entry.text, list(plan.records[entry.id].passages or ()))
        asked = [passage for e in plan.entries if e.role == "user" for passage in plan.records[e.id].passages or ()]
        passages.setdefault(plan.fresh.query, asked)
        passages.setdefault(plan.fresh.answer, [])  # that of an entry, or nothing worth one
    if plans:
        texts = list(passages)
        affect = plans[0].affect
        found = dict(zip(texts, affect.estimate(texts, _means(list(passages.values()))), strict=True))
        queries = list(dict.fromkeys(plan.fresh.query for plan in plans))
        told = dict(zip(queries, affect.told(queries, [found[query] for query in queries]), strict=True))
    for plan in plans:
        plan.query, plan.answer = told[plan.fresh.query], found[plan.fresh.answer]
        plan.feelings = {entry.id: found[entry.text] for entry in plan.entries}


def set_mood(batch: Batch, plan: TurnPlan) -> None:
    """Let a turn move the agent's mood, and give its entries the mood after it and a tier."""
    settings, now = batch.writer.settings, batch.now
    lengths = (len(plan.affect.spoken(plan.fresh.query)), len(plan.fresh.answer))
    at = min(plan.episode.occurred_at, now)
    before = batch.document(COLLECTION, KEY)
    mood, after = plan.affect.advance(before, plan.query, plan.answer, lengths, at, now)
    if after is not None:
        batch.set_document(COLLECTION, KEY, after)
    strongest = max((mood, plan.query, plan.answer), key=lambda affect: affect.intensity)
    plan.intensity = strongest.intensity
    plan.entries = [
        # The mood is the agent's after the exchange [Tidal §3.4], the emotions are the text's own [Anamnesis].
        replace(
            entry,
            affect=replace(mood, emotions=plan.feelings[entry.id].emotions),
            tier=new_tier(entry.importance, strongest, now, settings.decay, settings.affect.threshold),
        )
        for entry in plan.entries
    ]


def _means(texts: Sequence[Sequence[Passage]]) -> NDArray[np.float32] | None:
    """Return for each text the mean direction of its passages, weighted by their lengths; zeros if it has none."""
    import numpy as np

    dimensions = next((len(p.vector) for passages in texts for p in passages if p.vector is not None), None)
    if dimensions is None:
        return None
    means = np.zeros((len(texts), dimensions), np.float32)
    for mean, passages in zip(means, texts, strict=True):
        vectors = [passage.vector for passage in passages if passage.vector is not None]
        if vectors:
            total = vectors[0]
            if len(vectors) > 1:
                lengths = [passage.end - passage.start for passage in passages if passage.vector is not None]
                total = np.average(vectors, axis=0, weights=lengths)
            mean[:] = total / max(float(np.linalg.norm(total)), TINY)
    return means
