"""Whether a sentence reports a task as done, by rules that would rather leave a task open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.dossiers.points import Point
from tidal_plugins.dossiers.task import Task
from tidal_plugins.english.chatter import content, reports
from tidal_plugins.english.deeds import Deed, deeds
from tidal_plugins.english.negation import DENIED
from tidal_plugins.english.questions import asks
from tidal_plugins.english.tasks import DONE, PARTLY, SETTLED, TICKED, UNDENIED

_SHORT = 6
"""Words with a content below which a report is read together with its whole turn: «Done, cross it off.»"""
_MANY = 4
"""Words shared by a task and a report that are enough, however many words the task has."""
_FEW = 3
"""Objects of a task from which on a report may leave one out."""


@dataclass(frozen=True, slots=True)
class Report:
    """A sentence that reports something as done, and its place in its turn.

    ``words`` are its stems, and ``together`` those that it is read with: those of the whole turn, if it is short.
    """

    point: Point
    place: int
    words: frozenset[str]
    together: frozenset[str]
    deeds: Sequence[Deed]


def reports_of(said: Sequence[Point]) -> list[Report]:
    """Return the sentences of a turn that report something as done, in order."""
    found: list[Report] = []
    turn: frozenset[str] | None = None
    for place, point in enumerate(said):
        if not point.sure or asks(point.raw) or DENIED.search(UNDENIED.sub("", point.plain)):
            continue
        done = deeds(point.plain)
        if not (done or DONE.search(point.plain) or (point.by_agent and reports(point.raw))):
            continue
        words = point.stems
        if len(content(point.raw)) < _SHORT:
            turn = turn or frozenset(word for one in said for word in one.stems)
            found.append(Report(point, place, words, words | turn, done))
        else:
            found.append(Report(point, place, words, words, done))
    return found


def closes(report: Report, task: Task, words: frozenset[str]) -> bool:
    """Return whether a report, read with some ``words``, says that a task is done.

    Its verb stands there in the past, of its main object, or that is what is done. Or else nearly all of its objects
    stand there, and what is reported as done is one of them: the object of what the person did, or the subject of what
    is done. Half of them are enough when an agent reports work.
    """
    plain = report.point.plain
    shared = len(task.objects & words)
    if task.kind == "owed":
        return shared > 0 and SETTLED.search(plain) is not None and not PARTLY.search(plain)
    if any(_did(deed, task, shared) for deed in report.deeds):
        return True
    done = [deed for deed in report.deeds if deed.is_done]
    if any(deed.subject[-1:] == (task.main,) and not deed.object for deed in done):
        return True
    if report.point.by_agent and reports(report.point.raw) and 2 * shared >= len(task.objects):
        return True
    if shared < min(len(task.objects) - (len(task.objects) >= _FEW), _MANY):
        return False
    if TICKED.search(plain):
        return True
    return any(_concerns(deed, task) for deed in done)


def _did(deed: Deed, task: Task, shared: int) -> bool:
    """Return whether a deed is that of a task, done to its main object. «Ordered.» names none."""
    if deed.verb != task.verb:
        return False
    done_to = deed.object or deed.subject
    return done_to[-1] in task.objects or task.main in done_to if done_to else shared > 0


def _concerns(deed: Deed, task: Task) -> bool:
    """Return whether what is reported as done is an object of a task, or is not named."""
    if deed.subject and (deed.object or deed.subject[-1] not in task.objects):
        return False
    return not deed.object or not task.objects.isdisjoint(deed.object)
