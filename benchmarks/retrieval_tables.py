"""The tables of the recall benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from benchmarks.locomo import ADVERSARIAL
from benchmarks.metrics import METRICS, RESAMPLES, SEED, difference, quantiles, scores, shown, summary
from benchmarks.retrieval_arms import (
    FLOOR_KEYWORDS,
    FLOOR_VECTORS,
    PLAIN,
)
from benchmarks.retrieval_outcomes import (
    WAYS,
    Report,
    abstention,
    held_out,
    is_counted,
)


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
    table = _table("All categories but the adversarial one", "arm", *COLUMNS, "search p50 / p95 ms")
    for arm in report.arms if report.rows(report.arms[0]) else []:
        figures, took = summary(report.rows(arm)), quantiles(report.times[arm])
        table.add_row(arm, *(shown(figures[name]) for name in COLUMNS), f"{took['p50_ms']:.2f} / {took['p95_ms']:.2f}")
    return table


def _by_category(report: Report) -> Table:
    table = _table("By category", "category", "arm", *COLUMNS)
    for category in report.categories:
        for number, arm in enumerate(report.arms):
            rows = report.rows(arm, category)
            figures = summary(rows)
            label = "" if number else f"{category} ({len(rows)})"
            table.add_row(label, arm, *(shown(figures[name]) for name in COLUMNS))
        table.add_section()
    return table


def _arms_by_conversation(report: Report) -> Table:
    names = ("recall@5", "recall@10", "ndcg@10")
    table = _table("By conversation", "conversation", "arm", *names)
    for conversation in report.data.conversations:
        own = [item for item in report.asked if item.conversation == conversation.name]
        asked = [item for item in own if is_counted(item.question.category, None)]
        for number, arm in enumerate(report.arms if asked else []):
            label = "" if number else f"{conversation.name} ({len(asked)})"
            table.add_row(label, arm, *_means([scores(item.ranks[arm]) for item in asked], names))
        table.add_section()
    return table


def _against(report: Report) -> Table:
    """Build the table of differences between arms.

    Differences are paired by question, which is more precise than two separate intervals.
    """
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    table = _table("Differences, question by question", "arm", "against", *names)
    for profile in report.profiles if report.rows(PLAIN) else []:
        for base in (FLOOR_KEYWORDS, FLOOR_VECTORS, PLAIN):
            figures = difference(report.rows(profile), report.rows(base))
            table.add_row(profile, base, *(shown(figures[name], signed=True) for name in names))
        table.add_section()
    return table


def _ablation(report: Report) -> Table:
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    table = _table("balanced, one step changed, and what that does to it", "change", *names, "Δ recall@5", "Δ ndcg@10")
    for arm in ["balanced", *report.steps] if report.rows("balanced") else []:
        figures = summary(report.rows(arm))
        change = difference(report.rows(arm), report.rows("balanced"))
        deltas = [shown(change[name], signed=True) if arm != "balanced" else "" for name in ("recall@5", "ndcg@10")]
        table.add_row(arm, *(f"{figures[name]['mean']:.1f}" for name in names), *deltas)
    return table


def _by_conversation(report: Report) -> list[Table]:
    names, held = ("recall@5", "recall@10", "ndcg@10"), held_out(report)
    if not held:
        return []
    table = _table(
        "balanced by conversation, and with the step that is best on all the others (cross-validated)",
        "conversation", *names, "best on the others", *names,
    )  # fmt: skip
    for part in held:
        cells = [_means(rows, names) for rows in (part.own, part.rows)]
        table.add_row(f"{part.name} ({len(part.own)})", *cells[0], part.chosen, *cells[1])
    own, rows = ([row for part in held for row in getattr(part, side)] for side in ("own", "rows"))
    table.add_section()
    table.add_row(f"all ({len(own)})", *_means(own, names), "", *_means(rows, names))
    return [table]


def _means(rows: Sequence[Sequence[float]], names: Sequence[str]) -> list[str]:
    return [f"{100 * fmean(row[METRICS.index(name)] for row in rows):.1f}" for name in names]


def _beyond(report: Report, way: str) -> Table:
    table = _table(
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
            table.add_row(f"{label} ({len(rows)})", *shares, *counts, *medians, times)
    return table


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
    table = _table(title, "shown, %", *(f"{point['kept']}" for point in figures["curve"]))
    table.add_row("threshold", *(f"{point['threshold']:.2f}" for point in figures["curve"]))
    table.add_row("silent, %", *(f"{point['silent']:.1f}" for point in figures["curve"]))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        text = column in ("arm", "category", "against", "change")
        table.add_column(column, justify="left" if text else "right", no_wrap=True)
    return table
