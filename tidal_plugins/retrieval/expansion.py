"""Associative expansion: what comes up together with the hits, and what the graph says of what the query names,
appended with its provenance [Capsule], [SIYA §3.3].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tidal_plugins.graph.knowledge.entities import MENTIONED, newest
from tidal_plugins.graph.knowledge.graph import KnowledgeGraph
from tidal_plugins.graph.knowledge.unlearning import fact_id
from tidal_plugins.graph.web import Reached
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Dropped, Explanation, Hit
from tidal_plugins.settings import GraphSettings
from tidal_plugins.storage.base import Match, Storage

REACHED = 4
"""Entries that activation may reach for each that is appended: some of them are archived, or not asked for."""


NAMED = 3
"""Entities of a query that activation starts from, and of each the relations and the texts that name it."""

HOP = 0.5
"""What a step from an entity to what is said of it passes: as much as a new association."""


def seeds(storage: Storage, scope: Scope, query: str, now: datetime, settings: GraphSettings) -> list[Reached]:
    """Where activation starts beside the hits: what the graph says of the entities that a query names, as sure as it
    is, and where they were named last. A path begins with the entity's own entry."""
    graph = KnowledgeGraph(storage, scope, lambda: now, settings, lambda ids: {})
    found: list[Reached] = []
    for entity in graph.named(query, NAMED):
        start = fact_id(scope, entity.id)
        for relation in graph.relations(about=entity.id, limit=NAMED):
            id_ = fact_id(scope, relation.id)
            found.append(Reached(id_, HOP * relation.confidence, (start, id_)))
        for link in newest(storage, scope, [entity.id], MENTIONED, NAMED):
            if id_ := link.metadata["entry"]:
                found.append(Reached(id_, HOP, (start, id_)))
    return found


def combined(reached: Iterable[Reached]) -> list[Reached]:
    """What was reached from several sides, each once, the most activated first."""
    best: dict[str, Reached] = {}
    for one in reached:
        if one.id not in best or best[one.id].activation < one.activation:
            best[one.id] = one
    return sorted(best.values(), key=lambda one: (-one.activation, one.id))


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
        activation; what comes from an entity of the query, as if that were the best hit."""
        scores = {hit.id: hit.score for hit in hits}
        best = max(scores.values(), default=1.0)
        near = (self._hit(item, scores.get(item.path[0], best), profile) for item in self._fit[:most])
        return [*hits, *near]

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
