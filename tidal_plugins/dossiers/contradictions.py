"""Contradictions between the sources of a dossier [Capsule]."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tidal_plugins.facts.observations import Kind, Observation, disagree, observations
from tidal_plugins.model.dossier import Contradiction
from tidal_plugins.model.entry import Entry

MAX_CONTRADICTIONS = 10
"""Contradictions that are listed."""


def contradictions(entries: Sequence[Entry]) -> list[Contradiction]:
    """Return what contradicts the newest word on each thing, the newest first. One entry's own words are let be."""
    claims = defaultdict[Hashable, list[Observation]](list)
    for entry in sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id)):
        for claim in observations(entry):
            claims[claim.kind, claim.about].append(claim)
    found = [pair for group in claims.values() if (pair := _newest(group))]
    return _distinct(sorted(found, key=lambda c: (c.newer.occurred_at, c.newer.id), reverse=True))


@dataclass(frozen=True, slots=True)
class _Pair:
    kind: Kind
    newer: Entry
    older: Entry
    contradiction: Contradiction


def _distinct(pairs: Sequence[_Pair]) -> list[Contradiction]:
    """Return one contradiction for each two entries, since several rules may find the same."""
    found: dict[tuple[str, str], Contradiction] = {}
    for pair in pairs:
        found.setdefault((pair.newer.id, pair.older.id), pair.contradiction)
    return list(found.values())[:MAX_CONTRADICTIONS]


def _newest(group: Sequence[Observation]) -> _Pair | None:
    last = group[-1]
    for claim in reversed(group[:-1]):
        if claim.phrase.entry.id != last.phrase.entry.id and disagree(last, claim.says):
            pair = Contradiction(last.kind, last.phrase.finding, claim.phrase.finding)
            return _Pair(last.kind, last.phrase.entry, claim.phrase.entry, pair)
    return None
