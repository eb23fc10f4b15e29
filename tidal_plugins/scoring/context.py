"""What stands around a turn: how much its thread and its neighbours say about it, and whether it tells or asks."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tidal_plugins.english.calendar import CLEAR_MONTHS, WEEKDAYS

_CLOSERS = " \t\r\n\"'”’»)]*_"
_QUESTION_MARKS = ("?", "？", "؟")
_WORD = re.compile(r"[a-z]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_TIMES = frozenset(
    "yesterday today tonight tomorrow ago recently weekend last next week weeks month months year years".split()
).union(CLEAR_MONTHS, WEEKDAYS, (f"{day}s" for day in WEEKDAYS))


def brief(words: int, turn: float) -> float:
    """How much a text of so many analysed words leans on what stands around it: ``min(1, turn/words)``.

    «Since 2019, why?» says nothing without the turn before it; a message of a page stands for itself.
    """
    return min(1.0, turn / words) if words else 1.0


def leaning(own: int, other: int, turn: float) -> float:
    """How much a text of ``own`` analysed words leans on a neighbour of ``other`` words, in [0, 1].

    By its own brevity, and by the root of the other's: «the second one then» is about the page before it, of whose many
    things it takes up one.
    """
    return brief(own, turn) * math.sqrt(brief(other, turn))


def raised(own: float, best: float, share: float) -> float:
    """What a thread gives its entries: ``share`` of the way from their own nearness to that of its best one.

    Where one turn is about what was asked, the others of that conversation are more likely to be than those of any
    other; the best keeps its lead, and an entry without a thread what it has.
    """
    return share * max(0.0, best - own)


def lent(nearness: float, floor: float, distance: int, *, share: float, answer: float) -> float:
    """What an entry lends one that stands ``distance`` places after it (before it: negative): ``share`` of what it is
    nearer than ``floor``, by the distance; ``answer`` times as much for the turn right after a question.

    ``answer`` is 1 where the lender asks nothing.
    """
    times = answer if distance == 1 else 1.0
    return times * share * max(0.0, nearness - floor) / abs(distance)


def dated(head: str) -> bool:
    """Whether a text says when something was: who tells of an event says so, who chats rarely does."""
    return not _TIMES.isdisjoint(_WORD.findall(head.lower())) or _YEAR.search(head) is not None


def asks(tail: str) -> bool:
    """Whether a text ends with a question."""
    return tail.rstrip(_CLOSERS).endswith(_QUESTION_MARKS)


def assurance(
    scores: Sequence[float], cosines: Sequence[float], keywords: float, *, rivals: int, topic: float
) -> float:
    """How sure it is that the first of a ranking was meant, in units of cosine.

    Its lead over the mean of the ``rivals`` that follow, its keywords' part of nearness, and ``topic`` times the mean
    cosine of all of them: an answer stands out, has the rare words, and is about what the memory holds. A memory with
    fewer rivals has them at 0, which is what unrelated texts have.
    """
    if not scores:
        return 0.0
    lead = scores[0] - sum(scores[1 : rivals + 1]) / rivals
    return lead + keywords + topic * sum(cosines[: rivals + 1]) / (rivals + 1)
