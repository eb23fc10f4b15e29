"""Open tasks: meant to be done, not said to be done, by rules that would rather miss a task than make one up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.english.negation import DENIED
from tidal_plugins.english.stems import stem
from tidal_plugins.english.tasks import DEADLINE, DONE, DONE_AT_ONCE, IDLE_INTENTION, INTENTION, OPEN_TASK
from tidal_plugins.english.verbs import is_past
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.text import terms

_MIN_WORDS = 2
"""Words with a content that a task has."""


@dataclass(frozen=True, slots=True)
class Task:
    """A thing to do: the verb and its objects, without their endings."""

    verb: str
    objects: frozenset[str]
    phrase: Phrase

    @property
    def key(self) -> frozenset[str]:
        return self.objects | {self.verb}


def pending(entries: Sequence[Entry]) -> list[Phrase]:
    """Return the phrases that set a task which no later phrase reports as done, newest first.

    A user's intentions count. Of an agent's words only an explicit list of open tasks counts, because an agent does at
    once what it announces. A task that is set again is returned once.
    """
    ordered = sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id))
    tasks: dict[frozenset[str], Task] = {}
    for entry in ordered:
        for phrase in phrases(entry):
            task = _task(phrase)
            if task:
                tasks.pop(task.key, None)
                tasks[task.key] = task
            else:
                for key in [key for key, other in tasks.items() if _completes(phrase, other)]:
                    del tasks[key]
    return [task.phrase for task in reversed(tasks.values())]


def _task(phrase: Phrase) -> Task | None:
    if match := OPEN_TASK.fullmatch(phrase.plain):
        return _made(match["box"] or match["todo"] or match["left"], phrase)
    if phrase.entry.role == "assistant" or not phrase.sure or DENIED.search(phrase.plain.replace("don't forget", "")):
        return None
    match = INTENTION.fullmatch(phrase.plain)
    return None if match is None or IDLE_INTENTION.match(match["task"]) else _made(match["task"], phrase)


def _made(text: str, phrase: Phrase) -> Task | None:
    words = [stem(word) for word in terms(DEADLINE.sub("", text))]
    return Task(words[0], frozenset(words[1:]), phrase) if len(set(words)) >= _MIN_WORDS else None


def _completes(phrase: Phrase, task: Task) -> bool:
    if not phrase.sure or DENIED.search(phrase.plain.replace("no longer", "")):
        return False
    same_turn = phrase.entry.episode and phrase.entry.episode == task.phrase.entry.episode
    if same_turn and phrase.entry.role == "assistant" and DONE_AT_ONCE.match(phrase.plain):
        return True
    said = terms(phrase.plain)
    shared = sum(any(stem(word) == wanted for word in said) for wanted in task.objects)
    done = DONE.search(phrase.plain) or any(stem(word) == task.verb and is_past(word) for word in said)
    return bool(done) and shared >= max(1, math.ceil(len(task.objects) / 2))
