"""What the recall benchmark measured: by question, by arm, and what follows from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, NamedTuple, get_args

from benchmarks.locomo import ADVERSARIAL, Data, Question
from benchmarks.metrics import METRICS, scores
from tidal_plugins.settings import Profile
from tidal_plugins.tuning import Tuning

KEPT = (99, 98, 95, 92, 90, 85, 80, 70, 60, 50)
"""Points of the whisper's curve: the percentage of the answerable questions that stay over the threshold."""


class Whispered(NamedTuple):
    """The outcome of two whispers for one question.

    ``sure`` is the confidence with the evidence in the memory, ``unsure`` without it. ``shown`` says whether the first
    whisper showed evidence, ``silent`` whether the second one was empty. ``lines`` counts the memories that the first
    one showed, ``helped`` those of them that are evidence.
    """

    sure: float
    unsure: float
    shown: bool
    silent: bool
    lines: int
    helped: int


WAYS: Final[Mapping[str, Mapping[str, Any]]] = {"two hops": {"hops": 2}, "associations": {"associative": True}}
"""Ways to go on from the hits of a question, and the arguments of recall for them."""


class Beyond(NamedTuple):
    """The outcome of a recall that goes on from its hits.

    ``ten`` and ``all`` are the shares of the evidence among its first ten hits and among all of them; ``plain`` is the
    share among as many hits of a plain recall. ``hits`` and ``queries`` count its additional hits and queries. ``ms``
    and ``plain_ms`` are its milliseconds, and those of a plain recall of ten.
    """

    ten: float
    all: float
    plain: float
    hits: int
    queries: int
    ms: float
    plain_ms: float


@dataclass(slots=True)
class Asked:
    """A question, and the ranks of its evidence by arm."""

    conversation: str
    question: Question
    evidence: list[str]
    ranks: dict[str, list[int | None]] = field(default_factory=dict)
    whispered: dict[str, Whispered] = field(default_factory=dict)
    """The outcomes by profile."""
    beyond: dict[str, Beyond] = field(default_factory=dict)
    """The outcomes by way of going on."""

    def answerable(self, profile: str) -> bool:
        """Return whether recall has evidence among its first three hits, so that a whisper could show it."""
        return scores(self.ranks[profile])[METRICS.index("hit@3")] > 0


@dataclass(slots=True)
class Report:
    """All measurements on one file. ``arms`` and ``steps`` are names in the order of the tables."""

    data: Data
    arms: list[str]
    steps: list[str]
    asked: list[Asked] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)
    statements: dict[str, list[bool]] = field(default_factory=dict)
    """By profile, for each turn that only tells, whether the whisper was silent on it."""

    def rows(self, arm: str, category: str | None = None) -> list[list[float]]:
        """Return the scores by question, of one category or of all but the adversarial ones."""
        return [scores(item.ranks[arm]) for item in self.asked if is_counted(item.question.category, category)]

    @property
    def profiles(self) -> list[str]:
        return [arm for arm in self.arms if arm in get_args(Profile)]

    @property
    def categories(self) -> list[str]:
        return sorted({item.question.category for item in self.asked})


def is_counted(category: str, wanted: str | None) -> bool:
    return category == wanted if wanted is not None else category != ADVERSARIAL


class Held(NamedTuple):
    """The scores of a conversation with ``balanced``, and with the step that is best on all the others."""

    name: str
    own: list[list[float]]
    chosen: str
    rows: list[list[float]]


def held_out(report: Report) -> list[Held]:
    """Cross-validate by conversation: score on each the weights that are best on all the others, by nDCG@10.

    Return nothing if there is only one conversation.
    """
    arms, parts = ["balanced", *report.steps], dict[str, list[Asked]]()
    for item in report.asked:
        if is_counted(item.question.category, None):
            parts.setdefault(item.conversation, []).append(item)
    found = []
    for name, asked in parts.items() if len(parts) > 1 else ():
        others = [item for other, items in parts.items() if other != name for item in items]
        best = max(arms, key=lambda arm: fmean(scores(item.ranks[arm])[-1] for item in others))
        own, rows = ([scores(item.ranks[arm]) for item in asked] for arm in ("balanced", best))
        found.append(Held(name, own, best, rows))
    return found


def abstention(report: Report, profile: str) -> dict[str, Any]:
    """Return how well the whisper's confidence tells a memory with the evidence from one without it.

    ``kept`` is the percentage of the questions that recall answers among its first three hits on which the whisper
    shows evidence. ``precision`` is the percentage of the memories shown that are evidence. ``silent`` is the
    percentage of all questions on which it says nothing once their evidence is out of the memory. ``statements`` is the
    percentage of the turns that only tell on which it says nothing, ``None`` if there are none. All are for the default
    settings. ``curve`` has both for further thresholds, and ``area`` is the area under the curve.
    """
    asked = [
        (item.answerable(profile), item.whispered[profile])
        for item in report.asked
        if profile in item.whispered and is_counted(item.question.category, None)
    ]
    with_evidence = sorted(whisper.sure for answerable, whisper in asked if answerable)
    without = sorted(whisper.unsure for _, whisper in asked)
    if not with_evidence:
        return {}
    curve = [
        {"kept": kept, "threshold": least, "silent": 100 * sum(value < least for value in without) / len(without)}
        for kept in KEPT
        for least in [with_evidence[len(with_evidence) * (100 - kept) // 100]]
    ]
    above = sum(bisect_left(without, value) + bisect_right(without, value) for value in with_evidence)
    return {
        "threshold": Tuning().whisper.threshold * Tuning().whisper.share(profile),
        "kept": 100 * fmean(whisper.shown for answerable, whisper in asked if answerable),
        "precision": 100 * sum(whisper.helped for _, whisper in asked) / max(1, sum(w.lines for _, w in asked)),
        "silent": 100 * fmean(whisper.silent for _, whisper in asked),
        "statements": 100 * fmean(told) if (told := report.statements.get(profile)) else None,
        "area": above / 2 / len(with_evidence) / len(without),
        "curve": curve,
    }
