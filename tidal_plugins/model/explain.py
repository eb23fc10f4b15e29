"""A recall laid open: plain data for a log or a screen, and a table for a terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from tidal_plugins.model.recall import Dropped, Explanation, Hit, PeerReport, Recall

SHOWN = 120
"""Characters of a passage that a table shows."""


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit as plain data: its ``place``, its entry, its score and its confidence, and the fields of
    :class:`Explanation` in ``why``."""

    place: int
    id: str
    citation: str
    kind: str
    origin: str
    score: float
    confidence: float
    passage: str
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecallExplanation:
    """A recall as plain data: strings, numbers, lists and dictionaries.

    ``at`` is ISO 8601. ``stages`` counts the ``dropped`` candidates by stage; each of those has its id, stage, reason
    and origin. ``peers`` are the other memories that were asked, ``times`` the times that the query names.
    ``threshold`` is that of a whisper.
    """

    query: str
    words: list[str]
    profile: str
    at: str | None
    affect: Mapping[str, Any]
    confidence: float
    degraded: list[str]
    hits: list[ExplainedHit]
    dropped: list[Mapping[str, str]]
    stages: Mapping[str, int]
    peers: list[Mapping[str, Any]]
    hops: list[Mapping[str, Any]]
    stopped: str
    times: list[str]
    threshold: float

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that ``json`` takes."""
        return asdict(self)

    def as_json(self, indent: int | None = None) -> str:
        """Return a text in JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=indent)


def explained(recall: Recall) -> RecallExplanation:
    """Lay a recall open."""
    affect = recall.affect
    return RecallExplanation(
        query=recall.query,
        words=list(recall.words),
        profile=recall.profile,
        at=recall.at.isoformat() if recall.at else None,
        affect={
            "valence": affect.valence,
            "arousal": affect.arousal,
            "emotions": {name: float(strength) for name, strength in (affect.emotions or {}).items()},
        },
        confidence=recall.confidence,
        degraded=list(recall.degraded),
        hits=[_hit(hit, place) for place, hit in enumerate(recall.hits, 1)],
        dropped=[item._asdict() for item in recall.dropped],
        stages=dict(Counter(item.stage for item in recall.dropped)),
        peers=[_peer(peer) for peer in recall.peers],
        hops=[{"number": hop.number, "query": hop.query, "ids": list(hop.ids)} for hop in recall.hops],
        stopped=recall.stopped,
        times=list(recall.times),
        threshold=recall.threshold,
    )


def table(recall: Recall, dropped: int) -> Table:
    """Return a table of the hits, and below them of as many dropped candidates."""
    try:
        from rich.table import Table
        from rich.text import Text
    except ImportError as error:
        raise ImportError("Recall.table needs rich: pip install rich; Recall.explain() is plain text") from error
    # What was said is data: as Text, brackets in it are no markup.
    rows = Table("", "score", "from", "memory", "why", title=Text(recall.query), caption=Text(_caption(recall)))
    for place, hit in enumerate(recall.hits, 1):
        memory = Text(f"{hit.entry.citation} {hit.entry.kind}\n{_cut(hit.passage)}")
        rows.add_row(
            str(place), f"{hit.score:.3f}", Text(hit.origin), memory, Text(f"{_reasons(hit.why)}\n{hit.chance}")
        )
    rows.add_section()
    for item in recall.dropped[:dropped]:
        rows.add_row("–", "", Text(item.origin), Text(item.id), Text(_reason(item)), style="dim")
    if len(recall.dropped) > dropped:
        rows.add_row("–", "", "", Text(f"{len(recall.dropped) - dropped} more"), "", style="dim")
    return rows


def _hit(hit: Hit, place: int) -> ExplainedHit:
    entry, why = hit.entry, hit.why
    fields = {name: getattr(why, name) for name in type(why).__dataclass_fields__}
    fields |= {"factors": dict(why.factors), "path": list(why.path), "features": dict(why.features)}
    fields |= {name: [link.as_dict() for link in getattr(why, name)] for name in ("replaces", "superseded_by")}
    numbers = hit.score, hit.confidence
    return ExplainedHit(place, entry.id, entry.citation, entry.kind, hit.origin, *numbers, hit.passage, fields)


def _peer(peer: PeerReport) -> dict[str, Any]:
    return {**asdict(peer), "degraded": list(peer.degraded)}


def _reasons(why: Explanation) -> str:
    return str(why).replace(", relevance", "\nrelevance")


def _reason(item: Dropped) -> str:
    return f"{item.stage}: {item.reason}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _caption(recall: Recall) -> str:
    """Return the line about the recall as a whole."""
    sure = f"confidence {recall.confidence:.2f}"
    degraded = [f"without {', '.join(recall.degraded)}"] if recall.degraded else []
    stopped = [f"hops stopped: {recall.stopped}"] if recall.stopped else []
    times = [f"time: {', '.join(recall.times)}"] if recall.times else []
    return " · ".join([f"profile {recall.profile}", *times, sure, *degraded, *map(str, recall.peers), *stopped])
