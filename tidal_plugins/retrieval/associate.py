"""Associations: entries that the hits lead to are appended [Anamnesis G2], [Capsule], [SIYA §3.3].

They come up together with hits, share labels with them, or are what the graph says of the entities in the query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from tidal_plugins.associations.store import AssociationStore, AssociationTuning, Reached
from tidal_plugins.graph.indexing.entries import graph_entry_id
from tidal_plugins.graph.queries import GraphQueries
from tidal_plugins.graph.records.entities import MENTIONED, newest
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.recall import Dropped, Explanation, Hit, Recall
from tidal_plugins.retrieval.search import Channels, intact
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.text import terms
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Match, Storage
from tidal_plugins.storage.columns.view import Found

REACHED = 4
"""Entries that may be reached for each that is appended. Some of them are archived, or not asked for."""

NAMED = 3
"""Entities of a query that activation starts from, and relations and texts of each entity."""

HOP = 0.5
"""The activation that passes from an entity to an entry about it: as much as a new association passes."""

LABELLED = 5
"""The number of best hits whose labels lead on."""

LEAST_ACTIVATION = 0.05
"""Activation below which labels lead nowhere: at an ordinary importance a tenth of them must be the same."""


def add_associations(recall: Recall, channels: Channels, now: datetime, settings: Settings) -> Recall:
    """Return the recall with what its hits lead to. Call it inside a snapshot."""
    storage, scope, most = channels.storage, channels.scope, settings[RecallTuning].associated
    web, known = AssociationStore(storage, settings[AssociationTuning]), recall.ids
    named = seeds(storage, scope, recall.query, now, settings[GraphTuning])
    alike = labelled(channels, recall.hits[:LABELLED], REACHED * most)
    spread = web.spread(scope, known, now, limit=REACHED * most)
    reached = combined(item for item in (*named, *alike, *spread) if item.id not in known)
    entries = intact(partial(_passing, channels), [item.id for item in reached], channels.damaged)
    nearness = _nearness(channels, list(entries))
    reached = [item for item in reached if item.id not in channels.damaged]
    dropped = [item for item in recall.dropped if item.id not in channels.damaged]
    recall = replace(recall, dropped=(*dropped, *channels.unreadable()), degraded=tuple(channels.degraded))
    return Neighbourhood(reached, entries, nearness).append_to(recall, most)


def labelled(channels: Channels, hits: Sequence[Hit], limit: int) -> list[Reached]:
    """Return at most ``limit`` entries that share labels with hits. They are found by the words of the labels.

    The activation of an entry is the share of both entries' labels that are the same, times its importance as a share
    of 10 [Anamnesis G2]. A path has the labels between the ids, each behind a #.
    """
    labels = dict.fromkeys(label for hit in hits for label in hit.entry.tags)
    words = [word for label in labels for word in terms(label)]
    exclude = [*channels.where.exclude, *(hit.id for hit in hits)]
    if not words:
        return []
    found = channels.matching(words, limit, replace(channels.where, tags=list(labels), exclude=exclude))
    entries = channels.entries(channels.columns.ids(found.entries))
    reached = (max((_alike(hit, entry) for hit in hits), key=_activation) for entry in entries.values())
    return [item for item in reached if item.activation >= LEAST_ACTIVATION]


def seeds(storage: Storage, scope: Scope, query: str, now: datetime, settings: GraphTuning) -> list[Reached]:
    """Return where activation starts in addition to the hits, for each entity that a query names.

    These are the graph's relations of it, by their confidence, and the texts that named it last. A path begins with the
    entity's own entry.
    """
    graph = GraphQueries(storage, scope, lambda: now, settings, lambda ids: {})
    found: list[Reached] = []
    for entity in graph.named(query, NAMED):
        start = graph_entry_id(storage, scope, entity.id)
        for relation in graph.relations(about=entity.id, limit=NAMED):
            id_ = graph_entry_id(storage, scope, relation.id)
            found.append(Reached(id_, HOP * relation.confidence, (start, id_)))
        for link in newest(storage, scope, [entity.id], MENTIONED, NAMED):
            if id_ := link.metadata["entry"]:
                found.append(Reached(id_, HOP, (start, id_)))
    return found


def combined(reached: Iterable[Reached]) -> list[Reached]:
    """Return each entry that was reached once, with its highest activation, the most activated first."""
    best: dict[str, Reached] = {}
    for one in reached:
        if one.id not in best or best[one.id].activation < one.activation:
            best[one.id] = one
    return sorted(best.values(), key=lambda one: (-one.activation, one.id))


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entries that were reached from the hits of a recall, the most activated first.

    ``entries`` are those that may be shown, ``nearness`` how near they are to the query.
    """

    reached: Sequence[Reached]
    entries: Mapping[str, Entry]
    nearness: Mapping[str, Match]

    def append_to(self, recall: Recall, most: int) -> Recall:
        """Return the recall with at most ``most`` neighbours appended to its hits.

        Score and confidence of a neighbour are those of the hit it comes from, times its activation. A neighbour that
        comes from an entity of the query is scored as if the entity were the best hit. Neighbours that are not appended
        are added to what was dropped.
        """
        known = {hit.id: (hit.score, hit.confidence) for hit in recall}
        best = max(known.values(), default=(1.0, recall.confidence))
        fit = [item for item in self.reached if item.id in self.entries]
        near = [self._hit(item, *known.get(item.path[0], best), recall.profile) for item in fit[:most]]
        shown, before = {hit.id for hit in near}, {item.id for item in recall.dropped}
        reasons = {item.id: f"at place {place}" for place, item in enumerate(fit, 1)}
        others = [item for item in self.reached if item.id not in shown | before]
        dropped = [item for item in recall.dropped if item.id not in shown]
        dropped += (_dropped(item, reasons.get(item.id, "not among what was asked for")) for item in others)
        return replace(recall, hits=(*recall.hits, *near), dropped=tuple(dropped))

    def _hit(self, item: Reached, score: float, confidence: float, profile: str) -> Hit:
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
        passage = entry.text[near.start : near.end] if near else entry.text
        return Hit(entry, score * item.activation, passage, why, confidence=confidence * item.activation)


def _nearness(channels: Channels, ids: Sequence[str]) -> dict[str, Match]:
    """Return how near entries are to the query, by the passage that is nearest."""
    rows = channels.columns.rows(ids)
    rows = rows[rows >= 0]
    cosines, passages = channels.cosines(rows)
    there = passages >= 0
    matches = channels.columns.matches(Found(rows[there], passages[there], cosines[there]))
    return {match.id: match for match in matches}


def _dropped(item: Reached, reason: str) -> Dropped:
    return Dropped(item.id, "association", f"activation {item.activation:.2f} from {item.path[0]}, {reason}")


def _passing(channels: Channels, ids: Collection[str]) -> dict[str, Entry]:
    """Return the entries that the filter lets through, and those of the graph among them, too."""
    where = replace(channels.where, ids=ids, not_channels=())
    return {entry.id: entry for entry in channels.storage.find(channels.scope, where)}


def _alike(hit: Hit, entry: Entry) -> Reached:
    own, other = set(hit.entry.tags), set(entry.tags)
    shared = own & other
    activation = len(shared) / len(own | other) * entry.importance / 10 if shared else 0.0
    return Reached(entry.id, activation, (hit.id, *(f"#{label}" for label in sorted(shared)), entry.id))


def _activation(reached: Reached) -> float:
    return reached.activation
