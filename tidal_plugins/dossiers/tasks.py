"""Tasks: what is meant to be done, and whether a later sentence reports it as done.

What the tagger reads as a plan is a task, and so is a request that the agent keeps for later. It is done when a later
sentence that reports a deed, or a change, is about the same thing: by the words that they share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tidal_plugins.dossiers.sentences import Reader, Sentence, turns
from tidal_plugins.english.words import stem
from tidal_plugins.model.entry import CONVERSATION, Entry
from tidal_plugins.patterns import lazy_re

FEW, COVERED, MOSTLY = 3, 0.7, 0.5
"""Share of the words of a task that a report has from which on it is about the task: of a task of
few words ``COVERED``, so that «I sent the photos to Mila» leaves «send the invoice to Mila» open, of others
``MOSTLY``."""
WITHIN, PARTLY = 0.75, 0.3
"""The share of the words of a report that the task has, which is enough as well if the report has ``PARTLY`` of those
of the task: «The report is done»."""
AGAIN = 0.75
"""Share of the words of each of two tasks that the other has, from which on the later is the same one, set again."""
_LEAST = 2
"""Words with a content that a person's task has."""
_SURE = 0.5
"""Chance of an act from which on a sentence is taken for a question or a request."""

_CARRIERS = frozenset(map(stem, "remind forget need must have promise plan todo list open still later keep".split()))
"""Words by which a task is set, and which say nothing of it."""

_BOX = lazy_re(r"\A\W*\[(?P<mark>[ xX])\]|\bTO-?DO\b")
"""Marks by which a list tells what is open, whatever its language."""


@dataclass(frozen=True, slots=True)
class Task:
    """A thing to do, and the sentence that reports it as done; ``None`` while it is open."""

    said: Sentence
    done: Sentence | None = None


def tasks(reader: Reader, entries: Iterable[Entry]) -> list[Task]:
    """Return the tasks that some entries set, open and done, in the order in which they were set.

    Of an agent's words only what it keeps for a day counts, and what a list marks as open, because an agent does at
    once what it announces. A task that is set again is returned once, as it was set last.
    """
    spoken = [[said for entry in turn for said in reader.all_of(entry)] for turn in turns(entries)]
    open_, done = _Open(), list[Task]()
    for turn in spoken:
        keeps = any(said.by_agent and said.has("plan") for said in turn)
        for said in turn:
            for task in open_.near(said) if is_report(said) else ():
                if closes(said, task):
                    open_.remove(task)
                    done.append(Task(task, said))
            if sets_task(said, keeps=keeps) and not (said.by_agent and _is_told(said, turn)):
                for task in open_.near(said):
                    if _is_again(said, task):
                        open_.remove(task)
                open_.add(said)
    return sorted([*done, *map(Task, open_.all)], key=lambda task: task.said.entry.occurred_at)


def sets_task(said: Sentence, *, keeps: bool = False) -> bool:
    """Return whether a sentence sets a task; ``keeps`` if the agent's answer says that it will see to it."""
    if box := _BOX.search(said.raw):
        return box["mark"] in (None, " ") and said.entry.role != "tool"
    if said.entry.kind != CONVERSATION or said.entry.role == "tool" or said.raw.endswith("?") or said.is_quoted:
        return False
    if max(said.chance("question"), said.chance("social")) >= _SURE:
        return False
    if len(said.about) < (1 if said.by_agent else _LEAST):
        return False
    if said.chance("done") > said.chance("plan"):
        return False
    ahead = any(day > said.entry.occurred_at.date() for day in said.days)
    if said.by_agent:
        return said.has("plan") and ahead
    return said.has("plan") or (said.chance("request") >= _SURE and (keeps or ahead))


def is_report(said: Sentence) -> bool:
    """Return whether a sentence reports that something was done, or is other than it was."""
    if box := _BOX.search(said.raw):
        return box["mark"] in ("x", "X")
    if said.raw.endswith("?") or max(said.chance("question"), said.chance("request")) >= _SURE:
        return False
    return said.has("done") or (said.has("change") and not said.has("plan"))


def closes(report: Sentence, task: Sentence) -> bool:
    """Return whether a report is about a task that was set before it."""
    if report.turn == task.turn and not (report.by_agent and report.has("done") and not report.has("plan")):
        return False
    if report.denies != task.denies and report.denies:
        return False
    about = task.about - _CARRIERS or task.about
    done = _share(about, report.stems)
    if done >= (COVERED if len(about) <= FEW else MOSTLY):
        return True
    return done >= PARTLY and _share(report.about, task.stems) >= WITHIN


def _is_told(said: Sentence, turn: Iterable[Sentence]) -> bool:
    """Return whether the person has said in a turn what its agent repeats."""
    persons = [other for other in turn if not other.by_agent]
    known = frozenset[str]().union(*(other.about for other in persons))
    days = {day for other in persons for day in other.days}
    return days.issuperset(said.days) and 2 * len(said.about & known) >= len(said.about)


def lifts(later: Sentence, rule: Sentence) -> bool:
    """Return whether a later sentence says the opposite of a rule, or is the same rule with another value."""
    if later.has("rule") and later.about == rule.about:
        return True
    return later.denies != rule.denies and _share(rule.about, later.stems) >= COVERED


def _is_again(said: Sentence, task: Sentence) -> bool:
    """Return whether a sentence sets a task again: in most of its words, and with the same numbers."""
    both = min(_share(task.about, said.stems), _share(said.about, task.stems))
    return both >= AGAIN and said.marks.issuperset(mark for mark in task.marks if mark.isdigit())


def _share(words: Collection[str], has: frozenset[str]) -> float:
    return len(has.intersection(words)) / len(words) if words else 0.0


class _Open:
    """The tasks that are open, in the order in which they were set, by their words."""

    def __init__(self) -> None:
        self._by_number: dict[int, Sentence] = {}
        self._by_word = defaultdict[str, set[int]](set)
        self._count = 0

    @property
    def all(self) -> Iterable[Sentence]:
        return self._by_number.values()

    def add(self, task: Sentence) -> None:
        self._by_number[self._count] = task
        for word in task.about:
            self._by_word[word].add(self._count)
        self._count += 1

    def remove(self, task: Sentence) -> None:
        number = next(number for number, one in self._by_number.items() if one is task)
        del self._by_number[number]
        for word in task.about:
            self._by_word[word].discard(number)

    def near(self, said: Sentence) -> list[Sentence]:
        """Return the tasks that share a word with a sentence."""
        found = set[int]().union(*(self._by_word.get(word, ()) for word in said.stems))
        return [self._by_number[number] for number in sorted(found)]
