"""Statements: the relations that calls state and end, as readings with their evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.graph.code.facts import Fact
from tidal_plugins.graph.code.spans import Evidence
from tidal_plugins.model.clock import MICROSECOND
from tidal_plugins.model.graph import Assertion, Extraction, Mention, Reading


@dataclass(slots=True)
class Said:
    """A relation that a call states, or ends."""

    fact: Fact
    evidence: Evidence
    ended: bool
    at: datetime
    until: datetime | None = None


def readings(said: Iterable[Said]) -> list[Reading]:
    """Return what was said, in order, as one reading for each run of relations with evidence in the same text."""
    grouped: list[tuple[Evidence, list[Assertion]]] = []
    for each in said:
        if not grouped or grouped[-1][0].place != each.evidence.place:
            grouped.append((each.evidence, []))
        grouped[-1][1].append(_assertion(each))
    return [
        Reading(place.position, None, Extraction((), tuple(all_said)), place.call, parsed=True)
        for place, all_said in grouped
    ]


def _assertion(said: Said) -> Assertion:
    fact, span = said.fact, said.evidence
    subject = Mention(fact.subject.name, fact.subject.type, "technical", span.start, span.end)
    object_ = Mention(fact.object.name, fact.object.type, "technical", span.start, span.end)
    begins, ends = (said.at - MICROSECOND, said.at) if said.ended else (said.at, said.until)
    return Assertion(subject, fact.predicate, object_, span.start, span.end, fact.confidence, False, begins, ends)
