"""Measure the rule extractor: how much of the sentences it reads, and how much of its reading is right, by type.

    python benchmarks/extraction.py --json out.json

The sentences are labelled by hand: chat, code, and traps from which little or nothing should be read. Every third
sentence was held out while the rules were written. A name counts as right with its type, a statement with its subject,
predicate, object and negation. No model is called.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks import told
from tidal_plugins import Extraction, RuleExtractor

SENTENCES = Path(__file__).resolve().parents[1] / "tests" / "graph" / "sentences.jsonl"
HELD_OUT = 3
"""One sentence in this many was held out."""

Row = dict[str, Any]
Found = set[tuple[str, ...]]


@dataclass(slots=True)
class Score:
    """Counts by type of what was read rightly, read wrongly and missed."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, expected: Found, found: Found) -> None:
        self.right.update(item[0] for item in expected & found)
        self.wrong.update(item[0] for item in found - expected)
        self.missed.update(item[0] for item in expected - found)

    def precision(self, type: str | None = None) -> float:
        right, wrong = self._count(self.right, type), self._count(self.wrong, type)
        return right / (right + wrong) if right + wrong else 1.0

    def recall(self, type: str | None = None) -> float:
        right, missed = self._count(self.right, type), self._count(self.missed, type)
        return right / (right + missed) if right + missed else 1.0

    @staticmethod
    def _count(counter: Counter[str], type: str | None) -> int:
        return counter.total() if type is None else counter[type]


def load(path: Path = SENTENCES) -> list[Row]:
    """Return the labelled sentences: ``kind``, ``text``, ``mentions`` by type, ``assertions`` as triples."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def held_out(rows: Sequence[Row]) -> list[Row]:
    return [row for number, row in enumerate(rows) if number % HELD_OUT == HELD_OUT - 1]


def seen(rows: Sequence[Row]) -> list[Row]:
    return [row for number, row in enumerate(rows) if number % HELD_OUT != HELD_OUT - 1]


def evaluate(rows: Sequence[Row]) -> tuple[Score, Score]:
    """Return the scores of the entities and of the relations that the rules read from the sentences."""
    entities, relations = Score(), Score()
    for row, extraction in zip(rows, RuleExtractor().extract_graph([row["text"] for row in rows]), strict=True):
        entities.add({(type, name) for type, names in row["mentions"].items() for name in names}, named(extraction))
        relations.add({_labelled(*triple) for triple in row["assertions"]}, stated(extraction))
    return entities, relations


def named(extraction: Extraction) -> Found:
    return {(one.type, one.name) for one in extraction.mentions}


def stated(extraction: Extraction) -> Found:
    return {
        (one.predicate, one.subject.name, one.object.name, "not" if one.negated else "")
        for one in extraction.assertions
    }


def _labelled(subject: str, predicate: str, object: str) -> tuple[str, ...]:
    return predicate.lstrip("!"), subject, object, "not" if predicate.startswith("!") else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SENTENCES, help="labelled sentences, one JSON object a line")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--faults", action="store_true", help="of labelled turns: show what was read wrongly or missed")
    options = parser.parse_args()
    rows, console = load(options.data), Console()
    if "relations" in rows[0]:
        report(console, rows, faults=options.faults)
        return
    scores = {"all": evaluate(rows), "seen": evaluate(seen(rows)), "held out": evaluate(held_out(rows))}
    kinds = Counter(row["kind"] for row in rows)
    console.print(f"{len(rows)} sentences: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}")
    console.print(_overall(scores))
    for title, score in zip(("Entities", "Relations"), scores["all"], strict=True):
        console.print(_by_type(title, score))
    console.print(f"{_pace(rows):.0f} µs a sentence")
    if options.json:
        figures = {part: [_figures(score) for score in both] for part, both in scores.items()}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def report(console: Console, rows: Sequence[Row], *, faults: bool = False) -> None:
    """Print how much of labelled turns is read, and how much of the reading is right, by source and predicate."""
    tallies, lines, pace = told.score(rows)
    if faults:
        console.print("\n".join(lines), markup=False, highlight=False)
    columns = ("turns", "right", "wrong", "missed", "precision", "recall", "taken as holding")
    table = _table("", *columns, title="Relations by source (missed: of those that hold, are planned or ended)")
    for source, tally in tallies.items():
        counts = (tally.turns, tally.right.total(), tally.wrong.total(), tally.missed.total())
        table.add_row(source, *map(str, counts), *_shares(tally.precision, tally.recall), str(tally.unreal))
    console.print(table)
    table = _table("", "right", "wrong", "missed", title="Relations by predicate")
    for predicate in sorted(set[str]().union(*(each.right | each.wrong | each.missed for each in tallies.values()))):
        counted = zip(*(tally.row(predicate) for tally in tallies.values()), strict=True)
        table.add_row(predicate, *(str(sum(counts)) for counts in counted))
    console.print(table)
    console.print(f"{pace:.0f} turns a second")


def _overall(scores: dict[str, tuple[Score, Score]]) -> Table:
    table = _table("", "precision", "recall", "precision ", "recall ", title="Entities, then relations")
    for part, (entities, relations) in scores.items():
        table.add_row(
            part, *_shares(entities.precision(), entities.recall(), relations.precision(), relations.recall())
        )
    return table


def _by_type(title: str, score: Score) -> Table:
    table = _table("", "right", "wrong", "missed", "precision", "recall", title=title)
    for type in sorted(score.right | score.wrong | score.missed):
        counts = (score.right[type], score.wrong[type], score.missed[type])
        table.add_row(type, *map(str, counts), *_shares(score.precision(type), score.recall(type)))
    return table


def _table(*columns: str, title: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    return table


def _shares(*shares: float) -> Iterable[str]:
    return (f"{share:.3f}" for share in shares)


def _figures(score: Score) -> dict[str, float]:
    return {"precision": score.precision(), "recall": score.recall(), "right": score.right.total()}


def _pace(rows: Sequence[Row]) -> float:
    """Return the time that the rules take for a sentence, in microseconds."""
    texts = [row["text"] for row in rows]
    start = time.perf_counter()
    RuleExtractor().extract_graph(texts)
    return (time.perf_counter() - start) / len(texts) * 1e6


if __name__ == "__main__":
    main()
