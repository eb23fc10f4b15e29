"""Stage ``add_neighbours``: how much the thread and the neighbours of an entry say about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from tidal_plugins.english.questions import ends_asking
from tidal_plugins.retrieval.search import join, nearness
from tidal_plugins.retrieval.state import State
from tidal_plugins.scoring.context import brief, dated, leaning, lent, raised
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Adjacent, EntrySummary
from tidal_plugins.tuning import RecallTuning

PLACES = 2
"""Places before and after an entry in its thread that count as its neighbours."""


class Lifts(NamedTuple):
    """The parts that the context of an entry adds to its nearness."""

    thread: float
    neighbours: float
    time_mention: float


def add_neighbours(state: State) -> None:
    """Let the neighbours of the best entries take part, and note which entry stands next to which.

    The profile ``balanced`` alone scores entries by their context.
    """
    if state.request.profile != "balanced":
        return
    settings, request = state.settings.recall, state.request
    floor = _ordinary(state)
    best = [item.id for item in state.near[: settings.reach if settings.neighbours else 0]]
    adjacent = state.store.storage.adjacent(request.scope, best, PLACES, request.where)
    join(state, (item.other for item in adjacent))
    state.context = ContextScores(adjacent, floor, normal(state.query.text))


@dataclass(frozen=True, slots=True)
class ContextScores:
    """Scores entries by their threads and neighbours. ``floor`` is the nearness of an ordinary candidate.

    An entry that repeats ``said`` word for word, in the form of :func:`normal`, raises no other entry of its thread: a
    repeated question is as near as possible wherever it was asked.
    """

    adjacent: Sequence[Adjacent]
    floor: float
    said: str

    def lifts(
        self, summaries: Sequence[EntrySummary], nearness: Sequence[float], settings: RecallTuning
    ) -> list[Lifts]:
        """Return the lifts of each entry, whose own ``nearness`` is given in the same order."""
        near = {summary.id: value for summary, value in zip(summaries, nearness, strict=True)}
        known = {summary.id: summary for summary in summaries}
        others = {id_: summary for id_, summary in known.items() if not echoes(summary, self.said)}
        best, borrowed = _best(others, near), self._borrowed(known, near, settings)
        return [
            Lifts(
                raised(near[summary.id], best.get(summary.thread, near[summary.id]), settings.thread),
                borrowed[summary.id],
                time_mention(summary, settings),
            )
            for summary in summaries
        ]

    def _borrowed(
        self, known: Mapping[str, EntrySummary], near: Mapping[str, float], settings: RecallTuning
    ) -> Mapping[str, float]:
        borrowed: defaultdict[str, float] = defaultdict(float)
        for lender, borrower, places in self._pairs():
            if lender in known and borrower in known:
                answer = settings.answer if ends_asking(known[lender].tail) else 1.0
                borrowed[borrower] += leaning(known[borrower].words, known[lender].words, settings.turn) * lent(
                    near[lender], self.floor, places, share=settings.neighbours, answer=answer
                )
        return borrowed

    def _pairs(self) -> Iterable[tuple[str, str, int]]:
        """Yield lender, borrower and how many places after the lender it stands, each pair of neighbours either way."""
        pairs = {(item.id, item.other): item.places for item in self.adjacent}
        pairs |= {(other, id_): -places for (id_, other), places in pairs.items()}
        return ((lender, borrower, places) for (lender, borrower), places in pairs.items())


def echoes(summary: EntrySummary, said: str) -> bool:
    """Return whether an entry repeats ``said`` word for word, in the form of :func:`normal`.

    Only the beginning of a long entry is known, so a long entry never does.
    """
    head = summary.head
    if not said or (head.isascii() and head.lstrip()[:1].lower() != said[:1]):
        return False  # as most do, at hardly any cost
    return normal(head) == said


def time_mention(summary: EntrySummary, settings: RecallTuning) -> float:
    """Return more for a turn that says when something was, less for one that asks, the more so the shorter it is."""
    asked = brief(summary.words, settings.turn) if ends_asking(summary.tail) else 0.0
    return settings.time_mention * (dated(summary.head) - asked)


def _best(known: Mapping[str, EntrySummary], near: Mapping[str, float]) -> dict[str | None, float]:
    """Return the highest nearness in each thread."""
    best: dict[str | None, float] = {}
    for id_, summary in known.items():
        if summary.thread is not None:
            best[summary.thread] = max(near[id_], best.get(summary.thread, near[id_]))
    return best


def _ordinary(state: State) -> float:
    """Return the nearness of an ordinary candidate: the median of all that the search found."""
    order = [*state.near, *state.far]
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    return fmean(nearness(item, state.settings.recall) for item in middle) if middle else 0.0
