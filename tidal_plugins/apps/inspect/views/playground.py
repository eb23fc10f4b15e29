"""Playground: what a turn brings up and why, side by side under two profiles or moods, as of any date."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from starlette.responses import Response

from tidal_plugins import Affect, Entry, Explanation, Hit, InvalidInput, NotFound, Recall, TidalMemory, Whisper
from tidal_plugins.apps.inspect import drawing
from tidal_plugins.apps.inspect.page import Page, View
from tidal_plugins.model.recall import Dropped
from tidal_plugins.secrets.finding import masked
from tidal_plugins.shown import shown

PROFILES = ("as set", "balanced", "tidal", "attention")
MOODS: Mapping[str, Affect | None] = {
    "as it is": None,
    "calm": Affect(),
    "stirred: furious": Affect(-0.8, 0.9),
    "stirred: delighted": Affect(0.8, 0.9),
}

BARS, CURVE, FALLEN = 10, 40, 8
"""Hits that are shown with their reasons, hits in the curve, and candidates that are shown of each stage."""

MAX_TURN = 4_000

LEAST = 0.005
"""A part that is smaller than this is left out."""

FACTORS = ("importance", "strength", "recency", "substance", "topic", "lasting", "trust")
"""Reasons that multiply the relevance."""
GAINS = ("session annotation", "session reward", "signals", "reranker")
"""Reasons that count after it."""
COLOURS = {"meaning": 0, "words": 1, "thread": 2, "neighbours": 3, "speaker": 4, "time": 5, "feeling": 6, "emotion": 6}
"""Classes of the parts of nearness, the same on both sides. Others share the last one."""

STAGES = "shortlist checksum federation hop threshold supersession diversity association rerank trim whisper".split()


LISTS = ("kinds", "threads", "speakers", "sources", "tags", "exclude")
"""Settings of a recall that are several texts, with commas between them."""


@dataclass(frozen=True)
class Asked:
    """The settings of one side. ``recall`` has those that recall takes and a whisper does not."""

    profile: str
    mood: str
    as_of: datetime | None
    session: int | None
    recall: Mapping[str, Any]

    @classmethod
    def of(cls, page: Page, side: str) -> Asked:
        """Return the settings in the fields of one side."""
        several = {
            name: [one.strip() for one in page.text(f"{side}_{name}").split(",") if one.strip()] for name in LISTS
        }
        recall: dict[str, Any] = {
            "limit": page.number(f"{side}_limit", CURVE, 1, 200),
            "window": page.number(f"{side}_window", 0, 0, 10),
            "hops": page.number(f"{side}_hops", 1, 1, 4),
            "associative": bool(page.text(f"{side}_associative")),
            "include_archived": bool(page.text(f"{side}_include_archived")),
            **{name: page.time(f"{side}_{name}") for name in ("since", "until")},
            **{name: texts for name, texts in several.items() if texts},
        }
        if pairs := page.text(f"{side}_metadata"):
            recall["metadata"] = _object(f"{side}_metadata", pairs)
        return cls(
            page.choice(f"{side}_profile", PROFILES),
            page.choice(f"{side}_mood", list(MOODS)),
            page.time(f"{side}_as_of"),
            page.number(f"{side}_session", 0, 0) or None,
            recall,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what whisper and recall take."""
        chosen = None if self.profile == PROFILES[0] else self.profile
        return {"profile": chosen, "affect": MOODS[self.mood], "as_of": self.as_of, "session": self.session}


def _object(name: str, text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(text), dict):
            return found
    raise InvalidInput(f'{name} is a JSON object such as {{"mail": "a17"}}, got {shown(text)}')


@dataclass(frozen=True)
class Reasons:
    """A hit with its reasons: those that add up as parts, and the arithmetic that follows in words."""

    hit: Hit
    parts: Mapping[str, float]
    after: str
    shown: bool


@dataclass(frozen=True)
class Side:
    """What a turn brings up under one group of settings."""

    name: str
    asked: Asked
    whisper: Whisper
    found: Recall
    hits: Sequence[Reasons]
    fallen: Mapping[str, tuple[int, Sequence[tuple[Dropped, Entry | None]]]]

    @property
    def curve(self) -> list[drawing.Point]:
        """Return the confidence of each hit, full where the whisper shows it."""
        ids = set(self.whisper.ids)
        told = ((hit.confidence, f"{place}. {hit.confidence:.2f}", hit.id in ids) for place, hit in self._places())
        return drawing.curve(list(told))

    def _places(self) -> Sequence[tuple[int, Hit]]:
        return list(enumerate(self.found, 1))


def playground(page: Page) -> Response:
    """Show the form, and what its turn brings up."""
    turn, compared = page.text("turn")[:MAX_TURN], bool(page.text("compare"))
    asked = {name: Asked.of(page, name) for name in ("a", "b")}
    chosen = asked if compared else {"a": asked["a"]}
    sides = [_side(page.memory, turn, name, one) for name, one in chosen.items()] if turn else []
    room = drawing.extent(reasons.parts for side in sides for reasons in side.hits)
    return page.show(
        "playground.html",
        turn=turn,
        compared=compared,
        asked=asked,
        profiles=PROFILES,
        lists=LISTS,
        moods=list(MOODS),
        sides=sides,
        bar=lambda parts: drawing.stacked(parts, room, COLOURS),
        zero=-room[0] * 100 / (room[1] - room[0]),
        plots=drawing,
    )


def _side(memory: TidalMemory, turn: str, name: str, asked: Asked) -> Side:
    whisper = memory.whisper(turn, **asked.arguments)
    found = memory.recall(turn, **asked.recall, **asked.arguments)
    ids = set(whisper.ids)
    hits = [Reasons(hit, _parts(hit.why), _after(hit), hit.id in ids) for hit in found[:BARS]]
    return Side(name, asked, whisper, found, hits, _fallen(memory, whisper.recall))


def _parts(why: Explanation) -> dict[str, float]:
    """Return the reasons that add up: to a nearness in units of cosine, or to a score in the plain profiles."""
    added = {name: value for name, value in why.factors.items() if name not in (*FACTORS, *GAINS)}
    if why.path:
        return {"activation": why.activation}
    if why.profile == "balanced":
        words = why.fused - why.cosine - sum(added.values())
        return {"meaning": why.cosine, **({"words": words} if words >= LEAST else {}), **added}
    return {"meaning" if why.profile == "tidal" else "rank": why.relevance, **added}


def _after(hit: Hit) -> str:
    """Return how the parts of a hit become its score."""
    why = hit.why
    if why.path:
        return f"reached from {' → '.join(why.path)}"
    times = "".join(f" × {name} {why.factors[name]:.2f}" for name in FACTORS if name in why.factors)
    later = (*GAINS, "emotion") if why.profile == "attention" else GAINS
    gains = "".join(f" {why.factors[name]:+.2f} {name}" for name in later if name in why.factors)
    base = sum(_parts(why).values()) if why.profile == "tidal" else why.relevance
    return f"{'sum' if why.profile == 'tidal' else 'relevance'} {base:.2f}{times}{gains} → score {hit.score:.3f}"


def _fallen(
    memory: TidalMemory, recall: Recall | None
) -> dict[str, tuple[int, Sequence[tuple[Dropped, Entry | None]]]]:
    """Return the candidates that fell out, by stage in order: how many, and the first of them."""
    dropped = () if recall is None else recall.dropped
    by_stage: dict[str, list[Dropped]] = {}
    for item in dropped:
        by_stage.setdefault(item.stage, []).append(item)
    order = sorted(by_stage, key=lambda stage: STAGES.index(stage) if stage in STAGES else len(STAGES))
    return {
        stage: (len(by_stage[stage]), [(item, _entry(memory, item)) for item in by_stage[stage][:FALLEN]])
        for stage in order
    }


def _entry(memory: TidalMemory, item: Dropped) -> Entry | None:
    """Return the entry of a candidate; ``None`` for one of a peer, or one that is damaged."""
    try:
        found = memory.get(item.id)
        return replace(found, text=masked(found.text))
    except NotFound:
        return None


VIEW = View("/", "Playground", {"/": playground})
