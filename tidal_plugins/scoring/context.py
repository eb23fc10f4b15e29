"""Formulas for the context of a turn: how much its thread and neighbours say about it, and whether it tells a time."""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.english.words import TIME_WORDS
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.arrays import Values

_WORD = lazy_re(r"[a-z]+")
_YEAR = lazy_re(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def brief(words: Values, turn: float) -> Values:
    """Return how much a text of that many analysed words depends on its context: ``min(1, turn/words)``.

    «Since 2019, why?» says nothing without the turn before it; a message of a page is clear by itself.
    """
    import numpy as np

    return np.where(np.equal(words, 0), 1.0, np.minimum(1.0, turn / np.maximum(words, 1)))


def leaning(own: Values, other: Values, turn: float) -> Values:
    """Return how much a text of ``own`` analysed words leans on a neighbour of ``other`` words, in [0, 1].

    It is its own brevity times the root of the other's: «the second one then» is about the page before it, of whose
    many things it takes up one.
    """
    return brief(own, turn) * brief(other, turn) ** 0.5


def raised(own: Values, best: Values, share: float) -> Values:
    """Return the lift of an entry by its thread: ``share`` of the way from its own nearness to that of the best one.

    If one turn is about the question, the other turns of that conversation are likelier to be than those of any other.
    The best keeps its lead, and an entry without a thread keeps its nearness.
    """
    import numpy as np

    return share * np.maximum(0.0, best - own)


def lent(nearness: Values, floor: float, distance: Values, *, share: float, answer: Values) -> Values:
    """Return the lift that an entry lends one that stands ``distance`` places after it (before it: negative).

    It is ``share`` of the amount by which the lender is nearer than ``floor``, divided by the distance, and ``answer``
    times as much for the turn right after a question. ``answer`` is 1 if the lender asks nothing.
    """
    import numpy as np

    times = np.where(distance == 1, answer, 1.0)
    return times * share * np.maximum(0.0, nearness - floor) / abs(distance)


def dated(head: str) -> bool:
    """Return whether a text says when something was. People who tell of an event say so, people who chat rarely do."""
    if not TIME_WORDS.isdisjoint(_WORD.findall(head.lower())):
        return True
    return ("19" in head or "20" in head) and _YEAR.search(head) is not None


def margin(scores: Sequence[float], cosines: Sequence[float], keywords: float, *, rivals: int, topic: float) -> float:
    """Return how far the first of a ranking stands out, in units of cosine.

    It is the sum of three parts: its lead over the mean of the ``rivals`` that follow, its keywords' part of nearness,
    and ``topic`` times the mean cosine of all of them. An answer stands out, has the rare words, and is about a subject
    of the memory. A memory with fewer rivals has them at 0, like unrelated texts.
    """
    if not scores:
        return 0.0
    lead = scores[0] - sum(scores[1 : rivals + 1]) / rivals
    return lead + keywords + topic * sum(cosines[: rivals + 1]) / (rivals + 1)
