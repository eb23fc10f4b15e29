"""Associative expansion: what comes up together with the hits, appended to them with its provenance [Capsule]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidal_plugins.graph.web import Reached
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Explanation, Hit
from tidal_plugins.storage.base import Match

REACHED = 4
"""Entries that activation may reach for each that is appended: some of them are archived, or not asked for."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What activation reached from the hits of a recall, the most activated first.

    ``entries`` are those of it that may be shown, ``nearness`` how near they are to the query.
    """

    reached: Sequence[Reached] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict)
    nearness: Mapping[str, Match] = field(default_factory=dict)

    def hits(self, hits: Sequence[Hit], profile: str, most: int) -> list[Hit]:
        """The hits, and after them at most so many neighbours, each scored as the hit it comes from times its
        activation."""
        scores = {hit.id: hit.score for hit in hits}
        return [*hits, *(self._hit(item, scores[item.path[0]], profile) for item in self._fit[:most])]

    def dropped(self, dropped: Sequence[Dropped], most: int) -> list[Dropped]:
        """What was dropped, without what is appended after all, and with the neighbours that are not."""
        shown, known = {item.id for item in self._fit[:most]}, {item.id for item in dropped}
        reasons = {item.id: f"at place {place}" for place, item in enumerate(self._fit, 1)}
        others = [item for item in self.reached if item.id not in shown | known]
        return [
            *(item for item in dropped if item.id not in shown),
            *(_dropped(item, reasons.get(item.id, "not among what was asked for")) for item in others),
        ]

    @property
    def _fit(self) -> list[Reached]:
        return [item for item in self.reached if item.id in self.entries]

    def _hit(self, item: Reached, score: float, profile: str) -> Hit:
        entry, near = self.entries[item.id], self.nearness.get(item.id)
        why = Explanation(
            keyword_rank=None,
            keyword_score=0.0,
            vector_rank=None,
            cosine=near.score if near else 0.0,
            keyword_strength=0.0,
            fused=0.0,
            relevance=0.0,
            profile=profile,
            activation=item.activation,
            path=item.path,
        )
        return Hit(entry, score * item.activation, entry.text[near.start : near.end] if near else entry.text, why)


def _dropped(item: Reached, reason: str) -> Dropped:
    return Dropped(item.id, "association", f"activation {item.activation:.2f} from {item.path[0]}, {reason}")
