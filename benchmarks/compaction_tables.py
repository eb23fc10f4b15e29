"""The outcomes of the compaction benchmark, their tables, and their figures for a file."""

from __future__ import annotations

import platform
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.compaction_cases import ALL, APART, KINDS, Case
from benchmarks.contexts import (
    DEEPAGENTS,
    LANGMEM,
    size,
)
from benchmarks.metrics import RESAMPLES, SEED, intervals, shown

THRESHOLDS = (0.5, 0.7)
RECALL = 0.25
"""Share of the limit that is reserved for recall."""
SPEED_LIMIT = 8_000
BARE = "weighing each message once"
WIDTH = 200
OURS, DEFAULTS = "ours", "ours, as it comes"
KEPT, RECALLED = "kept", "with recall"


@dataclass(slots=True)
class Result:
    """The outcome of one arm for one case at one limit.

    ``rows`` has by column a list for each item of ``Case.asked``: a score for each threshold.
    """

    tokens: int
    bytes: int
    seconds: float
    fits: bool
    rows: dict[str, list[list[float]]] = field(default_factory=dict)
    files: int = 0
    """How many of the edited files are shown as they are at the end."""


@dataclass(slots=True)
class Report:
    """All measurements on one kind of history: results by limit and arm, one for each case."""

    title: str
    cases: list[Case]
    limits: list[int]
    results: dict[tuple[int, str], list[Result]] = field(default_factory=dict)

    @property
    def arms(self) -> list[str]:
        return list(dict.fromkeys(arm for _, arm in self.results))

    @property
    def columns(self) -> list[str]:
        return list(next(iter(self.results.values()))[0].rows)

    def rows(self, limit: int, arm: str, column: str, threshold: int = 0, name: str | None = None) -> list[list[float]]:
        """Return the scores of the facts asked under ``name``.

        Without a name, these are the scores of every question, or of everything in a session.
        """
        return [
            [row[threshold]]
            for case, result in zip(self.cases, self.results[limit, arm], strict=True)
            for asked, row in zip(case.asked, result.rows[column], strict=True)
            if asked.name == name or (name is None and (asked.query or asked.name == ALL))
        ]


LEGEND = (
    f"Kept: the context says it word for word, or one statement has {THRESHOLDS[0]:.0%} (.7: {THRESHOLDS[1]:.0%}) of "
    f"its content words; a cited id says nothing. Recall: kept, or found by our recall in {RECALL:.0%} of the same "
    "limit, the context having the rest. Ours − it: ours with recall against the arm as it is; both with: the arm has "
    "our recall too."
)


def show(report: Report, console: Console) -> None:
    console.rule(f"[bold]{report.title}")
    before = [size(case.messages) for case in report.cases]
    console.print(
        f"{len(report.cases)} histories of {sum(len(case.messages) for case in report.cases)} messages in all, "
        f"{statistics.fmean(each.tokens for each in before):,.0f} tokens and "
        f"{statistics.fmean(each.bytes for each in before):,.0f} bytes each on average. {_asked(report)} "
        f"Percent ± half of a 95 % interval ({RESAMPLES} bootstrap samples of the "
        f"{'questions' if RECALLED in report.columns else 'sessions'}, seed {SEED}); «ours −» are paired."
    )
    for limit in report.limits:
        console.print(_table(report, limit))
    if not (LANGMEM and DEEPAGENTS):
        console.print("langmem or deepagents is not installed: pip install -c constraints.txt 'tidal-plugins[bench]'")


def _asked(report: Report) -> str:
    names = Counter(asked.name for case in report.cases for asked in case.asked)
    if any(asked.query for case in report.cases for asked in case.asked):
        return f"{sum(names.values())} questions."
    facts = Counter(fact.kind for case in report.cases for fact in case.facts)
    return (
        f"Evidence: {facts['action']} actions (calls of tools that change something, with their arguments), "
        f"{facts['requirement']} requirements (sentences of users), {facts['error']} errors (lines of results). Apart: "
        f"{facts['constraint']} constraints (of the requirements), {facts['verdict']} verdicts (of programs)."
    )


def _table(report: Report, limit: int) -> Table:
    """Build the table of one limit, with a row for each arm.

    «ours − it» is the difference to the arm as it is: with recall if there are questions, which no peer has. «both
    with» gives the peer our recall too.
    """
    kinds = [
        kind for kind in (*KINDS, *APART) if any(asked.name == kind for case in report.cases for asked in case.asked)
    ]
    with_recall = RECALLED in report.columns
    table = Table(title=f"At {limit:,} tokens", title_justify="left")
    edited = sum(len(case.files) for case in report.cases)
    more = ["recall", "recall .7", "ours − it", "both with"] if with_recall else [*(f"{kind}s" for kind in kinds)]
    more += ["files"] if edited else []
    for column in ("arm", "tokens", "kB", "ms", "fit", "kept", "kept .7", "ours − it, kept", *more):
        table.add_column(column, justify="left" if column == "arm" else "right", no_wrap=True)
    for arm in report.arms:
        results = report.results[limit, arm]
        cells = [
            f"{statistics.fmean(each.tokens for each in results):,.0f}",
            f"{statistics.fmean(each.bytes for each in results) / 1000:.1f}",
            f"{statistics.median(each.seconds for each in results) * 1000:.0f}",
            f"{sum(each.fits for each in results)}/{len(results)}",
            _mean(report, limit, arm, KEPT),
            _mean(report, limit, arm, KEPT, 1),
            _margin(report, limit, arm, KEPT, KEPT),
        ]
        if with_recall:
            cells += [_mean(report, limit, arm, RECALLED), _mean(report, limit, arm, RECALLED, 1)]
            cells += [_margin(report, limit, arm, RECALLED, KEPT), _margin(report, limit, arm, RECALLED, RECALLED)]
        else:
            cells += [_mean(report, limit, arm, KEPT, name=kind) for kind in kinds]
        cells += [f"{sum(each.files for each in results)}/{edited}"] if edited else []
        table.add_row(arm, *cells)
    for name, installed in (("langmem SummarizationNode", LANGMEM), ("deepagents' compaction", DEEPAGENTS)):
        if not installed:
            table.add_row(name, "not installed")
    return table


def _mean(report: Report, limit: int, arm: str, column: str, threshold: int = 0, name: str | None = None) -> str:
    return shown(intervals(report.rows(limit, arm, column, threshold, name))[0])


def _margin(report: Report, limit: int, arm: str, mine: str, theirs: str) -> str:
    if arm == OURS and mine == theirs:
        return ""
    return shown(intervals(report.rows(limit, OURS, mine), report.rows(limit, arm, theirs))[0], signed=True)


def show_speed(times: Mapping[str, Mapping[str, float]], messages: int, console: Console) -> None:
    table = Table(title=f"Compacting {messages:,} recorded messages to {SPEED_LIMIT:,} tokens", title_justify="left")
    for column in ("arm", "tokens", "ms", "ms of the processor", "against ours", f"against {BARE}"):
        table.add_column(column, justify="left" if column == "arm" else "right", no_wrap=True)
    for arm, row in times.items():
        ratios = (row["cpu_seconds"] / max(times[other]["cpu_seconds"], 1e-6) for other in (OURS, BARE))
        milliseconds = (f"{1000 * row[name]:.0f}" for name in ("seconds", "cpu_seconds"))
        table.add_row(arm, f"{row['tokens']:,}", *milliseconds, *(f"{ratio:.2f}" for ratio in ratios))
    console.print(table)


def document(reports: Sequence[Report], times: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "thresholds": THRESHOLDS,
        "recall_share": RECALL,
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
        "reports": [
            {"title": report.title, "histories": [case.name for case in report.cases], "arms": _figures(report)}
            for report in reports
        ],
        "speed": times,
    }


def _figures(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "limit": limit,
            "arm": arm,
            "tokens": [result.tokens for result in results],
            "bytes": [result.bytes for result in results],
            "seconds": [result.seconds for result in results],
            "fits": [result.fits for result in results],
            "files": [result.files for result in results],
            "scores": {
                column: [intervals(report.rows(limit, arm, column, n))[0] for n in range(len(THRESHOLDS))]
                for column in report.columns
            },
        }
        for (limit, arm), results in report.results.items()
    ]
