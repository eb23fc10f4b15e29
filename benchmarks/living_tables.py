"""The tables of the benchmark of living memory, and its figures as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.living_arms import ARMS, COLUMNS, MECHANISMS
from benchmarks.living_outcomes import Cost, Report
from benchmarks.metrics import RESAMPLES, SEED, intervals, quantiles, shown

WORST = -0.5
"""Points of recall@5 that the defaults may cost against all mechanisms off."""


def show(report: Report, console: Console) -> None:
    data = report.data
    console.rule(f"[bold]{data.name}")
    console.print(
        f"{len(data.conversations)} lives of {sum(len(c.turns) for c in data.conversations)} turns in all, "
        f"{len(report.asked)} questions of the categories 1 to 4.\nIn percent, ± half of a 95 % interval ({RESAMPLES} "
        f"bootstrap samples of the questions, seed {SEED}). Times are without the embedding."
    )
    if report.asked:
        console.print(_quality(report), _mechanisms(report), _by_category(report))
    console.print(_costs(report))
    if report.asked:
        console.print(verdict(report))


def _quality(report: Report) -> Table:
    table = _table("All questions", "arm", *COLUMNS, "search p50 / p95 ms")
    for arm in ARMS:
        took = quantiles(report.times[arm])
        figures = map(shown, intervals(report.rows(arm)))
        table.add_row(arm, *figures, f"{took['p50_ms']:.2f} / {took['p95_ms']:.2f}")
    return table


def _mechanisms(report: Report) -> Table:
    """Build the table of what each mechanism adds.

    Differences are paired by question, which is more precise than two separate intervals.
    """
    table = _table("What a mechanism adds, question by question", "mechanism", *COLUMNS)
    for name, with_it, without in MECHANISMS:
        figures = intervals(report.rows(with_it), report.rows(without))
        table.add_row(name, *(shown(figure, signed=True) for figure in figures))
    return table


def _by_category(report: Report) -> Table:
    table = _table("By category: recall@5", "mechanism", *report.categories)
    table.add_row("all off", *(shown(intervals(report.rows("all off", name))[0]) for name in report.categories))
    table.add_row("default", *(shown(intervals(report.rows("default", name))[0]) for name in report.categories))
    table.add_section()
    for name, with_it, without in MECHANISMS:
        pairs = [(report.rows(with_it, category), report.rows(without, category)) for category in report.categories]
        table.add_row(name, *(shown(intervals(*pair)[0], signed=True) for pair in pairs))
    return table


def _costs(report: Report) -> Table:
    times = ("whisper p50 / p95 ms", "record p50 / p95 ms", "consolidate p50 / p95 ms")
    table = _table("The store, and a turn", "life", "bytes a turn", "surfaced a turn", "facts", "ephemeral", *times)
    for name, cost in report.costs.items():
        took = [quantiles(each) for each in (cost.whispers, cost.records, cost.consolidations)]
        table.add_row(
            name,
            f"{cost.size / max(1, cost.turns):,.0f}",
            f"{cost.surfaced / max(1, cost.turns):.2f}",
            str(cost.facts),
            f"{cost.ephemeral[0] / cost.ephemeral[1]:.1%}" if cost.ephemeral[1] else "",
            *(f"{each['p50_ms']:.1f} / {each['p95_ms']:.1f}" if each["p50_ms"] >= 0 else "" for each in took),
        )
    return table


def verdict(report: Report) -> str:
    """Say whether the defaults cost no more recall than allowed, and which steps failed."""
    change = intervals(report.rows("default"), report.rows("all off"))[0]
    kept = "keeps to" if change["mean"] >= WORST else "BREAKS"
    failed = sorted({error for cost in report.costs.values() for error in cost.errors})
    return (
        f"What is on by default {kept} the rule: {shown(change, signed=True)} points of recall@5 against all off "
        f"({WORST:+} at worst)." + "".join(f"\nA step of a consolidation failed: {error}" for error in failed)
    )


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def document(report: Report, embedder: str) -> dict[str, Any]:
    return {
        "file": report.data.name,
        "embedder": embedder,
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "over": "questions"},
        "arms": {arm: _figures(intervals(report.rows(arm))) for arm in ARMS if report.asked},
        "mechanisms": {
            name: _figures(intervals(report.rows(with_it), report.rows(without)))
            for name, with_it, without in MECHANISMS
            if report.asked
        },
        "costs": {name: _cost(cost) for name, cost in report.costs.items()},
        "asked": [{"question": item.question.text, "scores": item.scores} for item in report.asked],
    }


def _figures(values: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    return dict(zip(COLUMNS, values, strict=True))


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "turns": cost.turns,
        "bytes": cost.size,
        "surfaced": cost.surfaced,
        "facts": cost.facts,
        "ephemeral": cost.ephemeral,
        "whisper": quantiles(cost.whispers),
        "record": quantiles(cost.records),
        "consolidate": quantiles(cost.consolidations),
        "errors": cost.errors,
    }
