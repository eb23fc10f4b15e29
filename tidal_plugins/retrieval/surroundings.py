"""What stands around the candidates: which entries are next to which, and what that says about each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tidal_plugins.scoring.context import asks, brief, dated, leaning, lent, raised
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Adjacent, EntrySummary
from tidal_plugins.tuning import RecallTuning

WINDOW = 2
"""Places before and after an entry in its thread that count as its neighbours."""


class Sketched(Protocol):
    @property
    def sketch(self) -> EntrySummary: ...


class Around(NamedTuple):
    """What surroundings add to an entry's nearness."""

    thread: float
    neighbours: float
    telling: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who stands next to whom among the candidates; ``floor`` is the nearness of an ordinary candidate.

    What says word for word what was ``said``, in the form of :func:`normal`, says nothing about the rest of its
    thread: a question that is asked again is as near as can be wherever it was asked.
    """

    beside: Sequence[Adjacent] = ()
    floor: float = 0.0
    said: str = ""

    def around(self, candidates: Sequence[Sketched], nearness: Sequence[float], settings: RecallTuning) -> list[Around]:
        """What surroundings add to each candidate, whose own ``nearness`` is given in the same order."""
        sketches = [candidate.sketch for candidate in candidates]
        near = {sketch.id: value for sketch, value in zip(sketches, nearness, strict=True)}
        known = {sketch.id: sketch for sketch in sketches}
        others = {id_: sketch for id_, sketch in known.items() if not echoes(sketch, self.said)}
        best, borrowed = _best(others, near), self._borrowed(known, near, settings)
        return [
            Around(
                raised(near[sketch.id], best.get(sketch.thread, near[sketch.id]), settings.thread),
                borrowed[sketch.id],
                telling(sketch, settings),
            )
            for sketch in sketches
        ]

    def _borrowed(
        self, known: Mapping[str, EntrySummary], near: Mapping[str, float], settings: RecallTuning
    ) -> Mapping[str, float]:
        borrowed: defaultdict[str, float] = defaultdict(float)
        for lender, borrower, places in self._pairs():
            if lender in known and borrower in known:
                answer = settings.answer if asks(known[lender].tail) else 1.0
                borrowed[borrower] += leaning(known[borrower].words, known[lender].words, settings.turn) * lent(
                    near[lender], self.floor, places, share=settings.neighbours, answer=answer
                )
        return borrowed

    def _pairs(self) -> Iterable[tuple[str, str, int]]:
        """Lender, borrower and how many places after the lender it stands: each pair of neighbours once either way."""
        pairs = {(item.id, item.other): item.places for item in self.beside}
        pairs |= {(other, id_): -places for (id_, other), places in pairs.items()}
        return ((lender, borrower, places) for (lender, borrower), places in pairs.items())


NOWHERE = Surroundings()


def echoes(sketch: EntrySummary, said: str) -> bool:
    """Whether an entry says word for word what was ``said``, in the form of :func:`normal`. Of a long entry only the
    beginning is known, which is never all of it."""
    head = sketch.head
    if not said or (head.isascii() and head.lstrip()[:1].lower() != said[:1]):
        return False  # as most do, at hardly any cost
    return normal(head) == said


def telling(sketch: EntrySummary, settings: RecallTuning) -> float:
    """More for a turn that says when something was, less for one that asks, the more so the shorter it is."""
    asked = brief(sketch.words, settings.turn) if asks(sketch.tail) else 0.0
    return settings.telling * (dated(sketch.head) - asked)


def _best(known: Mapping[str, EntrySummary], near: Mapping[str, float]) -> dict[str | None, float]:
    """The highest nearness in each thread."""
    best: dict[str | None, float] = {}
    for id_, sketch in known.items():
        if sketch.thread is not None:
            best[sketch.thread] = max(near[id_], best.get(sketch.thread, near[id_]))
    return best
