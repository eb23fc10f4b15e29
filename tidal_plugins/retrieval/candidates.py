"""Candidates: the entries that take part in a recall, as arrays, so that ranking makes no object of any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.storage.columns.view import Columns

Reals: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

NEARNESS_PARTS = frozenset({"assistant", "passages", "speaker", "time", "thread", "neighbours", "time_mention"})
"""Names of the parts of a score that belong to how near an entry is, in units of cosine."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Entries that take part, one behind the other. All arrays are equally long.

    ``rows`` are those of the entries in ``columns``. ``cosine`` is that of the best passage, ``vector``, whether the
    vector channel ranked it or not; ``strength`` is BM25, ``bm25``, made comparable across queries, 0 when keywords did
    not find the entry, and ``keyword`` the passage that they found. Passages are rows, −1 for none; ranks count from 1,
    0 for none.

    ``parts`` has by name the additions to the two channels, the factors of the relevance, and the last additions, NaN
    where an entry has no such part. ``confidence`` is the chance that the entry helps, ``features`` what that was made
    of. ``leader`` is the row of the first entry that says nearly the same.
    """

    columns: Columns
    rows: Rows
    cosine: Reals
    vector: Rows
    vector_rank: Rows
    strength: Reals
    keyword: Rows
    keyword_rank: Rows
    bm25: Reals
    score: Reals
    fused: Reals
    relevance: Reals
    confidence: Reals
    leader: Rows
    parts: Mapping[str, Reals] = field(default_factory=dict)
    features: Mapping[str, Reals] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> list[str]:
        return self.columns.ids(self.rows)

    def take(self, places: Rows | NDArray[np.bool_] | Sequence[int] | slice) -> Candidates:
        """Return those at some places, in that order, or those for which a mask is true."""
        return Candidates(
            self.columns,
            **{name: getattr(self, name)[places] for name in _ARRAYS},
            parts={name: part[places] for name, part in self.parts.items()},
            features={name: part[places] for name, part in self.features.items()},
        )

    def without(self, ids: Mapping[str, object] | set[str]) -> Candidates:
        """Return the others."""
        return self.take([place for place, id_ in enumerate(self.ids) if id_ not in ids]) if ids else self

    def nearness(self, settings: RecallTuning) -> Reals:
        """Return how near each entry is by both channels, in units of cosine."""
        return self.cosine + settings.keywords * self.strength

    def standing(self, settings: RecallTuning) -> Reals:
        """Return the nearness of each entry with its context, in any profile. A mood adds nothing to it."""
        near = {name: part for name, part in self.parts.items() if name in NEARNESS_PARTS}
        return self.nearness(settings) + total(near, len(self))

    def followed(self, *others: Candidates) -> Candidates:
        """Return these, and others behind them, which have neither parts nor features."""
        more = sum(map(len, others))
        if not more:
            return self
        arrays = {name: np.concatenate([getattr(one, name) for one in (self, *others)]) for name in _ARRAYS}
        empty, none = np.full(more, np.nan), np.zeros(more)
        parts = {name: np.concatenate([part, empty]) for name, part in self.parts.items()}
        features = {name: np.concatenate([part, none]) for name, part in self.features.items()}
        return replace(self, parts=parts, features=features, **dict[str, Any](arrays))

    def weighed(self, name: str, factor: Reals) -> Candidates:
        """Return the same with scores multiplied by a factor, which is NaN where there is none."""
        parts = {**self.parts, name: factor}
        return replace(self, score=self.score * np.where(np.isnan(factor), 1.0, factor), parts=parts)

    def raised(self, gains: Mapping[str, Reals]) -> Candidates:
        """Return the same with gains added to scores, by name; NaN where there are none."""
        return replace(self, score=self.score + total(gains, len(self)), parts={**self.parts, **gains})

    def by_score(self) -> Candidates:
        """Return them best first. Ties are broken by age, the newest first, and then by
        how the texts begin, so that the order never depends on chance."""
        order = np.argsort(-self.score, kind="stable")
        scores = self.score[order]
        same = np.flatnonzero(scores[1:] == scores[:-1])
        if len(same):
            tied = np.union1d(same, same + 1)
            rows = self.rows[order[tied]]
            heads, ids = [head for head, _ in self.columns.heads(rows)], self.columns.ids(rows)
            newest = -self.columns.arrays.occurred_at[rows]
            texts = sorted(range(len(tied)), key=lambda i: (-scores[tied[i]], newest[i], heads[i], ids[i]))
            order[tied] = order[tied[texts]]
        return self.take(order)

    def passage(self, place: int, text: str) -> str:
        """Return the part of an entry's text that matched, by the channel that ranks the entry higher."""
        keyword, vector = int(self.keyword_rank[place]), int(self.vector_rank[place])
        by_keyword = keyword and (not vector or keyword < vector)
        row = self.keyword[place] if by_keyword or self.vector[place] < 0 else self.vector[place]
        if row < 0:
            return text
        passages = self.columns.arrays.passages
        return text[passages["start"][row] : passages["end"][row]]


def candidates(columns: Columns, rows: Rows, **known: Any) -> Candidates:
    """Return entries as candidates of which only what is ``known`` is more than nothing."""
    count = len(rows)
    none = {name: np.full(count, empty, type(empty)) for name, empty in _ARRAYS.items()}
    return Candidates(columns, **{**none, "rows": rows, "leader": rows, **known})


def total(parts: Mapping[str, Reals], count: int) -> Reals:
    """Return the sum of parts for each of ``count`` entries. NaN counts as nothing."""
    found = np.zeros(count)
    for part in parts.values():
        found += np.where(np.isnan(part), 0.0, part)
    return found


_ARRAYS: dict[str, int | float] = {
    "rows": 0, "cosine": 0.0, "vector": -1, "vector_rank": 0, "strength": 0.0, "keyword": -1, "keyword_rank": 0,
    "bm25": 0.0, "score": 0.0, "fused": 0.0, "relevance": 0.0, "confidence": 0.0, "leader": 0,
}  # fmt: skip
"""The arrays, and what an entry has in each of which nothing is known."""
