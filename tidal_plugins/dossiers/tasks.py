"""Tasks: what is meant to be done, and what later turns say is done, by rules that would rather miss a task."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidal_plugins.dossiers.closing import closes, reports_of
from tidal_plugins.dossiers.pieces import plain_of, real_pieces
from tidal_plugins.dossiers.points import Point, turns
from tidal_plugins.dossiers.task import Task
from tidal_plugins.english.deeds import phrase, words_of
from tidal_plugins.english.hypotheses import is_rumoured
from tidal_plugins.english.negation import DENIED
from tidal_plugins.english.questions import asks
from tidal_plugins.english.stems import stem
from tidal_plugins.english.tasks import (
    ASSIGNED,
    DEADLINE,
    DONE_AT_ONCE,
    IDLE_INTENTION,
    INTENTION,
    OPEN_TASK,
    PROMISE,
    REMINDER,
    UNDENIED,
)
from tidal_plugins.model.entry import Entry
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

_MIN_WORDS = 2
"""Words with a content that a task has."""
ASIDE_KINDS = ("owed", "remaining")
"""Kinds of tasks that a sentence may mention beside what it is about."""
_LISTS = ("box", "todo", "left")
"""Kinds of tasks that stand in a list."""
_LEFT = frozenset(map(stem, "go left leave still missing remaining".split()))
"""Words that say that something is left, and not what."""


def tasks(entries: Iterable[Entry]) -> list[Task]:
    """Return the tasks that some entries set, open and done, in the order in which they were set.

    A person's intentions, reminders, promises and debts count. Of an agent's words only what it keeps for later and an
    explicit list count, because an agent does at once what it announces. A task that is set again is returned once.
    """
    waiting, done = _Waiting(), list[Task]()
    for turn in turns(entries):
        said = [Point(text, entry) for entry in turn for text in real_pieces(entry)]
        reported = reports_of(said)
        for task in waiting.near(word for report in reported for word in report.together):
            if report := next((one for one in reported if closes(one, task, one.together)), None):
                waiting.remove(task)
                done.append(task.closed(report.point))
        for place, task in _set(said):
            for other in [other for other in waiting.near(task.key) if _replaces(task, other)]:
                waiting.remove(other)
            later = (one.point for one in reported if one.place > place and closes(one, task, one.words))
            if point := next(later, None) or _at_once(said, task):
                done.append(task.closed(point))
            else:
                waiting.add(task)
    return [*done, *waiting.by_key.values()]


class _Waiting:
    """The tasks that are open, in the order in which they were set, by their words."""

    def __init__(self) -> None:
        self.by_key: dict[frozenset[str], Task] = {}
        self._by_word = defaultdict[str, dict[frozenset[str], int]](dict)
        self._count = 0

    def add(self, task: Task) -> None:
        self._count += 1
        self.by_key[task.key] = task
        for word in task.key:
            self._by_word[word][task.key] = self._count

    def remove(self, task: Task) -> None:
        del self.by_key[task.key]
        for word in task.key:
            del self._by_word[word][task.key]

    def near(self, words: Iterable[str]) -> list[Task]:
        """Return the tasks that have one of some words."""
        found = {key: number for word in set(words) for key, number in self._by_word.get(word, {}).items()}
        return [self.by_key[key] for key in sorted(found, key=found.__getitem__)]


def pending(entries: Sequence[Entry]) -> list[Point]:
    """Return what sets a task that no later sentence reports as done, the newest first."""
    return [task.point for task in reversed(tasks(entries)) if task.done is None]


def _set(said: Sequence[Point]) -> Iterator[tuple[int, Task]]:
    """Yield the tasks that a turn sets, each with its place, a person's before the agent's restatements of them."""
    persons: list[Task] = []
    for place, point in enumerate(said):
        task = _task(point)
        if task is None or (point.by_agent and any(_restated(task, other) for other in persons)):
            continue
        if not point.by_agent:
            persons.append(task)
        yield place, task


def _restated(task: Task, other: Task) -> bool:
    return len(task.key & other.key) >= min(2, len(other.key))


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
    if point.by_agent or is_rumoured(point.plain) or DENIED.search(UNDENIED.sub("", point.plain)):
        return None
    match = REMINDER.fullmatch(point.plain)
    if match and (match["reminded"] or (point.sure and not asks(point.raw))):
        return _made(match, point)
    match = INTENTION.fullmatch(point.plain) if point.sure and not asks(point.raw) else None
    return None if match is None or IDLE_INTENTION.match(match["task"]) else _made(match, point)


def _made(match: re.Match[str], point: Point) -> Task | None:
    kind, text = next((name, said) for name, said in match.groupdict().items() if said)
    if kind in _LISTS and (assigned := ASSIGNED.search(point.raw)):
        text = text[: len(text) - len(plain_of(assigned[0]))] or text
    words = [stem(word) for word in terms(DEADLINE.sub("", f" {text}") if kind != "missing" else text)]
    if kind == "owed":  # «Anna lent me 50 euros»: whoever reports it names her
        words = ["owe", *words[:1]]
    if kind in ("remaining", "missing"):
        words = ["", *(word for word in words if word not in _LEFT)]
    thing = phrase(words_of(text) if kind in ("due", "missing", "remaining", "left") else words_of(text)[1:])
    if kind == "due":  # «the token has to be rotated»
        words.insert(0, stem(_TO_BE.split(text, 1)[-1].split()[0]))
    enough = len(set(words)) >= (1 if kind in ("promised", "reminded") else _MIN_WORDS)
    if not enough:
        return None
    objects = frozenset(words[1:]) - {words[0]} or frozenset(words)
    main = next((word for word in reversed(thing) if word in objects), "")
    return Task(words[0], objects, main, _said(match[kind], point, kind), kind)


_TO_BE = lazy_re(r" to be ")


def _said(text: str, point: Point, kind: str) -> Point:
    """Return what sets a task: of a sentence that mentions it beside other things only that part."""
    place = point.raw.lower().find(text.partition(" ")[0] if kind not in ASIDE_KINDS else text)
    return replace(point, raw=point.raw[place:]) if kind in ASIDE_KINDS and place > 0 else point


def _at_once(said: Sequence[Point], task: Task) -> Point | None:
    """Return what an agent reports in the turn that set a task, if it did it there and then."""
    if task.point.by_agent or task.kind not in ("task", "todo", "needed", "due"):
        return None
    return next((one for one in said if one.by_agent and one.sure and DONE_AT_ONCE.match(one.plain)), None)


def is_reported_by(task: Task, point: Point) -> bool:
    """Return whether a point is of the sentence that reported a task as done."""
    return task.done is not None and task.done.turn == point.turn and task.done.raw in point.raw
