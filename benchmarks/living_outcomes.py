"""The outcomes of the benchmark of living memory: the scores of each question, and the costs of each life."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.locomo import Data, Question


@dataclass(slots=True)
class Cost:
    """The costs of the lives of one kind: milliseconds without the embedding, and bytes."""

    whispers: list[float] = field(default_factory=list)
    records: list[float] = field(default_factory=list)
    consolidations: list[float] = field(default_factory=list)
    turns: int = 0
    size: int = 0
    surfaced: int = 0
    facts: int = 0
    ephemeral: list[int] = field(default_factory=lambda: [0, 0])
    """Number of entries that the write gate kept for a while only, and of all that passed it."""
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """A question, and the scores of each arm on it, in the order of ``COLUMNS``."""

    question: Question
    scores: dict[str, list[float]] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    data: Data
    asked: list[Asked] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)

    def rows(self, arm: str, category: str | None = None) -> list[list[float]]:
        return [item.scores[arm] for item in self.asked if category in (None, item.question.category)]

    @property
    def categories(self) -> list[str]:
        return sorted({item.question.category for item in self.asked})
