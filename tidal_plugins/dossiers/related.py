"""Entries that have to do with those found on a topic: near to one of them, with a label that is the topic's own.

Without them one of the 14 briefs of the development stories loses what it should say. Half and twice each number below
rewrite 1 to 9 of these briefs and fail none of their checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tidal_plugins.dossiers.sentences import AGENT
from tidal_plugins.english.words import TIME_WORDS
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.scoring.text import stems
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import passage_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWN = 0.3
"""Share of the entries with a label that are on the topic already, from which on the label is the topic's own."""
RARE = 12
"""Entries that have a label beyond which it belongs to many topics."""
NEAR, LIKELY = 0.5, 0.32
"""Cosines with an entry on the topic from which on an entry that shares such a label with it is on the topic too, and
one that shares several, or a label that several on the topic have."""
MOST_RELATED = 6
"""Entries that are added at once, the nearest ones."""


@dataclass(frozen=True, slots=True)
class Related:
    """Finds them in one scope. ``where`` filters what may be added."""

    storage: Storage
    scope: Scope
    where: Where

    def to(self, topical: Sequence[Entry], known: Collection[str], topic: Collection[str]) -> list[str]:
        """Return the ids of entries, beside those known, that have to do with some entries on a topic.

        ``topic`` are the stems of its words: of agents and documents only what has one of them tells.
        """
        by_label = defaultdict[str, set[str]](set)
        for entry in topical:
            said = entry.role != AGENT or not set(stems(entry.text)).isdisjoint(topic)
            for label in entry.tags if said else ():
                if label not in TIME_WORDS:
                    by_label[label].add(entry.id)
        shared = defaultdict[str, list[set[str]]](list)
        for label, there in by_label.items():
            found = self.storage.find(self.scope, replace(self.where, tags=[label]), limit=RARE + 1)
            having = {entry.id for entry in found}
            own = having.intersection(known) | there
            if len(having) <= RARE and len(own) >= OWN * len(having | own):
                for id_ in having.difference(known):
                    shared[id_].append(there)
        return self._near(shared)

    def _near(self, shared: Mapping[str, Sequence[Collection[str]]]) -> list[str]:
        others = {id_: set[str]().union(*there) for id_, there in shared.items()}
        vectors = self._vectors({*shared, *(id_ for ids in others.values() for id_ in ids)})
        found: dict[str, float] = {}
        for id_, there in shared.items():
            near = [
                float(np.max(vectors[id_] @ vectors[one].T)) for one in others[id_] if id_ in vectors and one in vectors
            ]
            sure = len(there) > 1 or len(others[id_]) > 1
            if max(near, default=0.0) >= (LIKELY if sure else NEAR):
                found[id_] = max(near)
        return sorted(found, key=lambda id_: -found[id_])[:MOST_RELATED]

    def _vectors(self, ids: Collection[str]) -> dict[str, NDArray[np.float32]]:
        found = passage_vectors(self.storage, self.scope, ids)
        rows = defaultdict[str, list[int]](list)
        for place, span in enumerate(found.spans):
            rows[span.id].append(place)
        return {id_: found.units[places] for id_, places in rows.items()}
