"""What the recall benchmark measured: by question, by arm, and what follows from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, NamedTuple, get_args

from rich.console import Console
from rich.table import Table

from benchmarks.conversations import ADVERSARIAL, Data, Question
from benchmarks.tables import METRICS, RESAMPLES, SEED, difference, quantiles, scores, shown, summary, table
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.settings import Profile, Settings

PLAIN = "plain RRF"
WORDS, FLOOR_KEYWORDS, FLOOR_VECTORS = "FTS5, all words", "keywords only", "vectors only"

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
        "threshold": Settings()[WhisperTuning].threshold * Settings()[WhisperTuning].share(profile),
        "kept": 100 * fmean(whisper.shown for answerable, whisper in asked if answerable),
        "precision": 100 * sum(whisper.helped for _, whisper in asked) / max(1, sum(w.lines for _, w in asked)),
        "silent": 100 * fmean(whisper.silent for _, whisper in asked),
        "statements": 100 * fmean(told) if (told := report.statements.get(profile)) else None,
        "area": above / 2 / len(with_evidence) / len(without),
        "curve": curve,
    }


# the tables


def show(report: Report, console: Console) -> None:
    data, asked = report.data, report.asked
    turns = sum(len(conversation.turns) for conversation in data.conversations)
    adversarial = sum(item.question.category == ADVERSARIAL for item in asked)
    console.rule(f"[bold]{data.name}")
    console.print(
        f"{len(data.conversations)} memories of {turns} turns in all, {len(asked) - adversarial} questions"
        + (f" and {adversarial} adversarial ones, which stand apart." if adversarial else ".")
        + f"\n{data.counts}.\nThe share of the evidence among the first k, in percent, ± half of a 95 % interval "
        f"({RESAMPLES} bootstrap samples of the questions, seed {SEED}). Search times are without the embedding."
    )
    console.print(_quality(report), _by_category(report), _against(report))
    if len(data.conversations) > 1:
        console.print(_arms_by_conversation(report))
    if report.steps:
        console.print(_ablation(report), *_by_conversation(report), *(_beyond(report, way) for way in WAYS))
    for profile in report.profiles:
        if abstention(report, profile):
            console.print(_silence(report, profile))


COLUMNS = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@10", "mrr@10", "ndcg@10")


def _quality(report: Report) -> Table:
    found = table("All categories but the adversarial one", "arm", *COLUMNS, "search p50 / p95 ms")
    for arm in report.arms if report.rows(report.arms[0]) else []:
        figures, took = summary(report.rows(arm)), quantiles(report.times[arm])
        found.add_row(arm, *(shown(figures[name]) for name in COLUMNS), f"{took['p50_ms']:.2f} / {took['p95_ms']:.2f}")
    return found


def _by_category(report: Report) -> Table:
    found = table("By category", "category", "arm", *COLUMNS, left=2)
    for category in report.categories:
        for number, arm in enumerate(report.arms):
            rows = report.rows(arm, category)
            figures = summary(rows)
            label = "" if number else f"{category} ({len(rows)})"
            found.add_row(label, arm, *(shown(figures[name]) for name in COLUMNS))
        found.add_section()
    return found


def _arms_by_conversation(report: Report) -> Table:
    names = ("recall@5", "recall@10", "ndcg@10")
    found = table("By conversation", "conversation", "arm", *names, left=2)
    for conversation in report.data.conversations:
        own = [item for item in report.asked if item.conversation == conversation.name]
        asked = [item for item in own if is_counted(item.question.category, None)]
        for number, arm in enumerate(report.arms if asked else []):
            label = "" if number else f"{conversation.name} ({len(asked)})"
            found.add_row(label, arm, *_means([scores(item.ranks[arm]) for item in asked], names))
        found.add_section()
    return found


def _against(report: Report) -> Table:
    """Build the table of differences between arms.

    Differences are paired by question, which is more precise than two separate intervals.
    """
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    found = table("Differences, question by question", "arm", "against", *names, left=2)
    for profile in report.profiles if report.rows(PLAIN) else []:
        for base in (FLOOR_KEYWORDS, FLOOR_VECTORS, PLAIN):
            figures = difference(report.rows(profile), report.rows(base))
            found.add_row(profile, base, *(shown(figures[name], signed=True) for name in names))
        found.add_section()
    return found


def _ablation(report: Report) -> Table:
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    found = table("balanced, one step changed, and what that does to it", "change", *names, "Δ recall@5", "Δ ndcg@10")
    for arm in ["balanced", *report.steps] if report.rows("balanced") else []:
        figures = summary(report.rows(arm))
        change = difference(report.rows(arm), report.rows("balanced"))
        deltas = [shown(change[name], signed=True) if arm != "balanced" else "" for name in ("recall@5", "ndcg@10")]
        found.add_row(arm, *(f"{figures[name]['mean']:.1f}" for name in names), *deltas)
    return found


def _by_conversation(report: Report) -> list[Table]:
    names, held = ("recall@5", "recall@10", "ndcg@10"), held_out(report)
    if not held:
        return []
    found = table(
        "balanced by conversation, and with the step that is best on all the others (cross-validated)",
        "conversation", *names, "best on the others", *names,
    )  # fmt: skip
    for part in held:
        cells = [_means(rows, names) for rows in (part.own, part.rows)]
        found.add_row(f"{part.name} ({len(part.own)})", *cells[0], part.chosen, *cells[1])
    own, rows = ([row for part in held for row in getattr(part, side)] for side in ("own", "rows"))
    found.add_section()
    found.add_row(f"all ({len(own)})", *_means(own, names), "", *_means(rows, names))
    return [found]


def _means(rows: Sequence[Sequence[float]], names: Sequence[str]) -> list[str]:
    return [f"{100 * fmean(row[METRICS.index(name)] for row in rows):.1f}" for name in names]


def _beyond(report: Report, way: str) -> Table:
    found = table(
        f"Recall with {way}: its first ten hits, all of them, and as many of a plain recall",
        "category", "recall@10", "of all", "of as many", "hits beside", "queries", "p50 ms", "plain p50 ms", "times",
    )  # fmt: skip
    for category in [*report.categories, None]:
        rows = [
            item.beyond[way] for item in report.asked if item.beyond and is_counted(item.question.category, category)
        ]
        if rows:
            shares = [f"{100 * fmean(values):.1f}" for values in zip(*(row[:3] for row in rows), strict=True)]
            counts = [f"{fmean(values):.2f}" for values in zip(*(row[3:5] for row in rows), strict=True)]
            took, plain = [row.ms for row in rows], [row.plain_ms for row in rows]
            medians = [f"{quantiles(times)['p50_ms']:.2f}" for times in (took, plain)]
            label = category or "all but the adversarial"
            times = f"{fmean(took) / fmean(plain):.2f}"
            found.add_row(f"{label} ({len(rows)})", *shares, *counts, *medians, times)
    return found


def _silence(report: Report, profile: str) -> Table:
    """Build the table of the whisper's curve, with a column for each of its points."""
    figures = abstention(report, profile)
    title = (
        f"The whisper, {profile}: area under the curve {figures['area']:.3f}; "
        f"with its threshold of {figures['threshold']:.3g}\n"
        f"it shows evidence on {figures['kept']:.1f} % of what recall answers among its first three,\n"
        f"and is silent on {figures['silent']:.1f} % of all once their evidence is out of the memory;\n"
        f"{figures['precision']:.1f} % of the lines that it shows are evidence"
    )
    if figures["statements"] is not None:
        told = len(report.statements[profile])
        title += f";\nit is silent on {figures['statements']:.1f} % of {told} turns that only tell"
    found = table(title, "shown, %", *(f"{point['kept']}" for point in figures["curve"]))
    found.add_row("threshold", *(f"{point['threshold']:.2f}" for point in figures["curve"]))
    found.add_row("silent, %", *(f"{point['silent']:.1f}" for point in figures["curve"]))
    return found
