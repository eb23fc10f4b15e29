"""Sources of a dossier: the most salient entries about its topic [Capsule]."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import DOSSIER, KINDS, SYNTHESIS, Entry, Scope
from tidal_plugins.model.recall import Hit
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.retrieval.request import MAX_LIMIT, Request, active
from tidal_plugins.retrieval.secrets import hide_secrets
from tidal_plugins.scoring.dossier import salience
from tidal_plugins.scoring.text import stems
from tidal_plugins.storage.base import Where
from tidal_plugins.tuning import DossierTuning, Tuning

PRIMARY_KINDS = tuple(kind for kind in KINDS if kind != DOSSIER)
"""Kinds of entries that texts are made from: none is made from one that was itself so made."""

_CITATIONS = re.compile(r"(?:\s*\[(?:ep|mem):\w+\])+$")


@dataclass(frozen=True, slots=True)
class Sources:
    """Finds the sources on a topic in one scope."""

    recaller: Recaller
    settings: Tuning
    scope: Scope

    def of(self, topic: str, now: datetime) -> list[Entry]:
        """Return the most salient entries about a topic, oldest first, each with the passage that is about it."""
        most = self.settings.dossier.sources
        near = self.near(topic, active(now, kinds=PRIMARY_KINDS), now, limit=min(MAX_LIMIT, 2 * most))
        worth = {hit.id: worth_of(hit.entry, hit.why.relevance, now, self.settings.dossier) for hit in near}
        best = sorted(near, key=lambda hit: (-worth[hit.id], hit.id))[:most]
        entries = [replace(hit.entry, text=hit.passage) for hit in best]
        return sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id))

    def near(self, topic: str, where: Where, now: datetime, *, limit: int) -> list[Hit]:
        """Return the hits of a recall that have all words of a topic or are near it.

        A hit that is only less far than the rest is left out. Secrets are hidden: a text that is made of them is shown.
        """
        found = hide_secrets(self.recaller.recall(Request(self.scope, topic, where, now, limit)))
        words = set(stems(topic))
        return [hit for hit in found if words.issubset(stems(hit.passage)) or self._is_near(hit)]

    def _is_near(self, hit: Hit) -> bool:
        keywords = self.settings.whisper.keywords * hit.why.keyword_strength
        return hit.why.cosine + keywords >= self.settings.dossier.threshold


def without_citations(entry: Entry) -> Entry:
    """Return a fact that memory made without the citations at its end.

    A line that cites the fact cites its sources too, and a cut line would show half of them.
    """
    return replace(entry, text=_CITATIONS.sub("", entry.text)) if entry.channel == SYNTHESIS else entry


def worth_of(entry: Entry, relevance: float, now: datetime, settings: DossierTuning) -> float:
    """Return the salience of an entry now."""
    return salience(
        hours_between(entry.recorded_at, now) / 24,
        entry.importance,
        relevance,
        half_life=settings.half_life,
        floor=settings.floor,
        base=settings.base,
    )
