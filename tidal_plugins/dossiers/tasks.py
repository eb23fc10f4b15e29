"""Tasks: what is meant to be done, and what later turns say is done, by rules that would rather miss a task."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidal_plugins.dossiers.points import Point, pieces, turns
from tidal_plugins.english.chatter import content, reports
from tidal_plugins.english.negation import DENIED
from tidal_plugins.english.questions import asks
from tidal_plugins.english.stems import stem
from tidal_plugins.english.tasks import (
    DEADLINE,
    DONE,
    DONE_AT_ONCE,
    IDLE_INTENTION,
    INTENTION,
    OPEN_TASK,
    PROMISE,
    REMINDER,
)
from tidal_plugins.english.verbs import is_past
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.text import stems, terms

_MIN_WORDS = 2
"""Words with a content that a task has."""
_SHORT = 6
"""Words with a content below which a report is read together with its whole turn: «Done, cross it off.»"""
_MANY = 3
"""Words shared by a task and a report that are enough, however many words the task has."""
ASIDE_KINDS = ("owed", "remaining")
"""Kinds of tasks that a sentence may mention beside what it is about."""
_LEFT = frozenset(map(stem, "go left leave still missing remaining".split()))
"""Words that say that something is left, and not what."""
_UNDENIED = re.compile(r"\bno longer\b|\bno open\b|\bdon't forget\b|\bdo not forget\b|\bdon't let me forget\b")


@dataclass(frozen=True, slots=True)
class Task:
    """A thing to do: the verb and its objects, without their endings. ``kind`` is the form in which it was set.

    ``done`` is the report that closed it, or ``None`` while it is open.
    """

    verb: str
    objects: frozenset[str]
    point: Point
    kind: str
    done: Point | None = None

    @property
    def key(self) -> frozenset[str]:
        return self.objects | {self.verb}

    def closed(self, report: Point) -> Task:
        return Task(self.verb, self.objects, self.point, self.kind, report)


def tasks(entries: Iterable[Entry]) -> list[Task]:
    """Return the tasks that some entries set, open and done, in the order in which they were set.

    A person's intentions, reminders, promises and debts count. Of an agent's words only what it keeps for later and an
    explicit list count, because an agent does at once what it announces. A task that is set again is returned once.
    """
    waiting: dict[frozenset[str], Task] = {}
    done: list[Task] = []
    for turn in turns(entries):
        said = [Point(text, entry) for entry in turn for text in pieces(entry)]
        for key, task in list(waiting.items()):
            if report := _report(said, task):
                done.append(waiting.pop(key).closed(report))
        for task in _set(said):
            for key in [key for key, other in waiting.items() if _replaces(task, other)]:
                waiting.pop(key)
            report = _report(said[said.index(task.point) + 1 :] if task.point in said else (), task) or _at_once(
                said, task
            )
            if report:
                done.append(task.closed(report))
            else:
                waiting[task.key] = task
    return [*done, *waiting.values()]


def pending(entries: Sequence[Entry]) -> list[Point]:
    """Return what sets a task that no later sentence reports as done, the newest first."""
    return [task.point for task in reversed(tasks(entries)) if task.done is None]


def _set(said: Sequence[Point]) -> Iterator[Task]:
    """Yield the tasks that a turn sets, a person's before the agent's restatements of them."""
    found: list[Task] = []
    for point in said:
        task = _task(point)
        if task and not (point.by_agent and any(_restated(task, other) for other in found)):
            found.append(task)
    yield from found


def _restated(task: Task, other: Task) -> bool:
    return not other.point.by_agent and len(task.key & other.key) >= min(2, len(other.key))


def _replaces(task: Task, other: Task) -> bool:
    """Return whether a task is another one set again, or what is left of the same list or debt."""
    if task.key == other.key or len(task.key & other.key) > 0.75 * max(len(task.key), len(other.key)):
        return True
    return (
        task.kind == "remaining" and bool(task.objects & other.objects) and other.kind in ("remaining", "todo", "left")
    )


def _task(point: Point) -> Task | None:
    if point.entry.role == "tool":
        return None
    for match in (OPEN_TASK.fullmatch(point.plain), PROMISE.fullmatch(point.plain) if point.by_agent else None):
        if match:
            return _made(match, point)
    if point.by_agent or DENIED.search(_UNDENIED.sub("", point.plain)):
        return None
    match = REMINDER.fullmatch(point.plain)
    if match and (match["reminded"] or (point.sure and not asks(point.raw))):
        return _made(match, point)
    match = INTENTION.fullmatch(point.plain) if point.sure and not asks(point.raw) else None
    return None if match is None or IDLE_INTENTION.match(match["task"]) else _made(match, point)


def _made(match: re.Match[str], point: Point) -> Task | None:
    kind, text = next((name, said) for name, said in match.groupdict().items() if said)
    words = [stem(word) for word in terms(DEADLINE.sub("", f" {text}") if kind != "missing" else text)]
    if kind == "owed":  # «Anna lent me 50 euros»: whoever reports it names her
        words = ["owe", *words[:1]]
    if kind in ("remaining", "missing"):
        words = ["", *(word for word in words if word not in _LEFT)]
    if kind == "due":  # «the token has to be rotated»
        words = [*words[-1:], *words[:-1]]
    enough = len(set(words)) >= (1 if kind in ("promised", "reminded") else _MIN_WORDS)
    return Task(words[0], frozenset(words[1:] or words), _said(match[kind], point, kind), kind) if enough else None


def _said(text: str, point: Point, kind: str) -> Point:
    """Return what sets a task: of a sentence that mentions it beside other things only that part."""
    place = point.raw.lower().find(text.partition(" ")[0] if kind not in ASIDE_KINDS else text)
    return replace(point, raw=point.raw[place:]) if kind in ASIDE_KINDS and place > 0 else point


def _after(said: Sequence[Point], task: Task) -> Sequence[Point]:
    """Return what the person who set a task said after that in the same turn."""
    place = said.index(task.point) if task.point in said else len(said)
    return [point for point in said[place + 1 :] if not point.by_agent]


def _at_once(said: Sequence[Point], task: Task) -> Point | None:
    """Return what an agent reports in the turn that set a task, if it did it there and then."""
    if task.point.by_agent or task.kind not in ("task", "todo", "needed", "due"):
        return None
    return next((one for one in said if one.by_agent and one.sure and DONE_AT_ONCE.match(one.plain)), None)


def _report(said: Sequence[Point], task: Task) -> Point | None:
    """Return the sentence of a later turn that reports a task as done."""
    together = frozenset(word for one in said for word in stems(one.raw))
    for one in said:
        if not one.sure or asks(one.raw) or DENIED.search(_UNDENIED.sub("", one.plain)):
            continue
        words = terms(one.plain)
        past = any(stem(word) == task.verb and is_past(word) for word in words)
        done = past or DONE.search(one.plain) or (one.by_agent and reports(one.raw))
        whole = together if len(content(one.raw)) < _SHORT else frozenset[str]()
        if done and _is_about(task, frozenset(map(stem, words)) | whole, past):
            return one
    return None


def _is_about(task: Task, words: frozenset[str], past: bool) -> bool:
    """Return whether a report has enough words of a task: half of them, or a third if it has its verb in the past."""
    least = math.ceil(len(task.objects) / (3 if past else 2))
    return len(task.objects & words) >= (1 if task.kind == "owed" else min(max(1, least), _MANY))


def is_reported_by(task: Task, point: Point) -> bool:
    """Return whether a point is of the sentence that reported a task as done."""
    return task.done is not None and task.done.turn == point.turn and task.done.raw in point.raw
