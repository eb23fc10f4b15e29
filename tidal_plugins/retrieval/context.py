"""Stage ``add_neighbours``: how much the thread and the neighbours of an entry say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.retrieval.search import join
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.traits import traits_of
from tidal_plugins.scoring.context import brief, leaning, lent, raised
from tidal_plugins.scoring.text import normal
from tidal_plugins.tuning import RecallTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.retrieval.candidates import Reals, Rows
    from tidal_plugins.storage.columns.threads import Near

    Words = NDArray[np.int32]
    Flags = NDArray[np.bool_]

PLACES = 2
"""Places before and after an entry in its thread that count as its neighbours."""


def add_neighbours(state: State) -> None:
    """Let the neighbours of the best entries take part, and note which entry stands next to which.

    The profile ``balanced`` alone scores entries by their context.
    """
    import numpy as np

    if state.request.profile != "balanced":
        return
    settings = state.settings.recall
    nearness = np.concatenate([state.near.nearness(settings), state.far.nearness(settings)])
    floor = _median(nearness) if len(nearness) else 0.0
    best = state.near.rows[: settings.reach if settings.neighbours else 0]
    near = state.channels.columns.near(best, PLACES, state.request.where)
    join(state, near.other)
    state.context = Context(near, floor, normal(state.query.text))


@dataclass(frozen=True, slots=True)
class Context:
    """Scores entries by their threads and neighbours. ``floor`` is the nearness of an ordinary candidate, the median
    of all that the search found.

    An entry that repeats ``said`` word for word, in the form of :func:`normal`, raises no other entry of its thread: a
    repeated question is as near as possible wherever it was asked.
    """

    near: Near
    floor: float
    said: str

    def lifts(self, found: Candidates, nearness: Reals, settings: RecallTuning) -> dict[str, Reals]:
        """Return what the context of each entry adds to its own ``nearness``, by name; NaN where that is nothing."""
        import numpy as np

        traits, columns = traits_of(found.columns), found.columns
        asks, dated = traits.told(columns, found.rows)
        others = ~traits.says(columns, found.rows, self.said)
        words = columns.arrays.words[found.rows]
        # A turn that says when something was gains, one that asks loses, the more so the shorter it is.
        told = settings.time_mention * (dated - np.where(asks, brief(words, settings.turn), 0.0))
        lifts = {
            "thread": raised(nearness, _best(columns.arrays.thread[found.rows], nearness, others), settings.thread),
            "neighbours": self._borrowed(found.rows, nearness, words, asks, settings),
            "time_mention": told,
        }
        return {name: np.where(lift == 0, np.nan, lift) for name, lift in lifts.items()}

    def _borrowed(self, rows: Rows, nearness: Reals, words: Words, asks: Flags, settings: RecallTuning) -> Reals:
        import numpy as np

        borrowed = np.zeros(len(rows))
        if not len(rows) or not len(self.near.row):
            return borrowed
        at = {row: place for place, row in enumerate(rows.tolist())}
        beside = zip(self.near.row.tolist(), self.near.other.tolist(), self.near.places.tolist(), strict=True)
        pairs = {(row, other, places) for row, other, places in beside if row in at and other in at}
        pairs |= {(other, row, -places) for row, other, places in pairs}  # each pair of neighbours either way
        ordered = [(at[row], at[other], places) for row, other, places in sorted(pairs)]
        lender, borrower, places = np.array(ordered, np.int64).reshape(-1, 3).T
        answer = np.where(asks[lender], settings.answer, 1.0)
        lifts = leaning(words[borrower], words[lender], settings.turn) * lent(
            nearness[lender], self.floor, places, share=settings.neighbours, answer=answer
        )
        np.add.at(borrowed, borrower, lifts)
        return borrowed


def _median(values: Reals) -> float:
    """Return the median, as ``numpy.median`` does, which loads ``numpy.ma`` first: 20 ms."""
    import numpy as np

    ordered, count = np.sort(values), len(values)
    return float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2)


def _best(threads: Words, nearness: Reals, counted: Flags) -> Reals:
    """Return for each entry the highest nearness in its thread of those that are ``counted``; its own without one."""
    import numpy as np

    highest: dict[int, float] = {-1: -np.inf}
    of_each = threads.tolist()
    for thread, near, counts in zip(of_each, nearness.tolist(), counted.tolist(), strict=True):
        if counts and thread >= 0 and near > highest.get(thread, -np.inf):
            highest[thread] = near
    return np.maximum(nearness, [highest.get(thread, -np.inf) for thread in of_each])
