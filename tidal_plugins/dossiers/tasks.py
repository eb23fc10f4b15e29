"""What somebody meant to do and nobody says was done, by rules that would rather miss a task than make one up."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.dossiers.phrases import Phrase, phrases
from tidal_plugins.english.stems import stem
from tidal_plugins.english.verbs import is_past
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.text import terms

_OPEN = re.compile(
    r"(?:[-*] )?\[ \] (?P<box>.+)"
    r"|(?:[-*#/]+ ?)?(?:todo|to-do|to do|action item)s?(?: \([^()]*\))?: ?(?P<todo>.+)"
    r"|(?:next steps?|still (?:open|to do|missing)|open (?:issue|task|point)s?): ?(?P<left>.+)"
)
_MEANT = re.compile(
    r"(?:(?:so|and|then|ok|okay|also|but|yes|well|great|perfect|thanks),? )*"
    r"(?:(?:please )?(?:remind me|don't forget|do not forget) to"
    r"|(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to|'ve (?:still )?got to"
    r"| (?:still |really |also )*(?:need to|have to|must|promised to|plan to|intend to)))"
    r" (?:(?:definitely|also|just|still|really|then|have to|need to|remember to) )*(?P<task>.+)"
)
_IDLE = re.compile(
    r"(?:be|see|think|feel|have|love|like|know|wait|say|admit|miss|try|keep|just|never|always|definitely|look|talk|go|"
    r"come|stay|live|enjoy|use|want|need|get|sleep|rest|relax|hope|believe|agree|not|support|show|reach|focus|stick)\b"
    r"|(?:tell|let) you\b|do (?:it|that|so|my best|our best|more|what)\b|make (?:some|sure|time|it|the most|memories)\b"
    r"|take (?:care|it|a break|your|the bet)\b|give .+ (?:try|shot|go)\b|find (?:some|joy|a (?:\w+ )?way)\b"
    r"|spread the word|check out|\w+ (?:it|them|these|this|that|everyone)\b"
)
"""What is said out of kindness or of habit, and what says «it» without saying what."""
_DONE = re.compile(
    r"\b(?:done|finished|completed?|fixed|shipped|resolved|merged|deployed|delivered|sorted out|taken care of|"
    r"no longer needed|cancel+ed|scrapped|dropped|never mind|all set|ready|closed|over with)\b|\[x\]"
)
_AT_ONCE = re.compile(r"(?:all )?(?:done|finished|completed|all set|sorted|sent|booked|fixed)\b|i(?:'ve| have) ")
_DENIED = re.compile(r"\b(?:not|never|cannot|\w+n't|nothing)\b")
_WHEN = re.compile(
    r" (?:by|before|on|at|until|this|next|tomorrow|tonight|today|later|soon|first thing|asap|in the|after|when|once)"
    r"\b.*"
)
_LEAST = 2
"""Words with a content that a task has."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done: the verb and its objects, without their endings."""

    verb: str
    objects: frozenset[str]
    phrase: Phrase

    @property
    def key(self) -> frozenset[str]:
        return self.objects | {self.verb}


def pending(entries: Sequence[Entry]) -> list[Phrase]:
    """Return the phrases that set a task which no later one says was done, the newest first.

    What a user means to do counts; of an agent's words only an explicit list of what is left does, since it does at
    once what it says it will. A task that is set again stands there once.
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
    if match := _OPEN.fullmatch(phrase.plain):
        return _made(match["box"] or match["todo"] or match["left"], phrase)
    if phrase.entry.role == "assistant" or not phrase.sure or _DENIED.search(phrase.plain.replace("don't forget", "")):
        return None
    match = _MEANT.fullmatch(phrase.plain)
    return None if match is None or _IDLE.match(match["task"]) else _made(match["task"], phrase)


def _made(text: str, phrase: Phrase) -> Task | None:
    words = [stem(word) for word in terms(_WHEN.sub("", text))]
    return Task(words[0], frozenset(words[1:]), phrase) if len(set(words)) >= _LEAST else None


def _completes(phrase: Phrase, task: Task) -> bool:
    if not phrase.sure or _DENIED.search(phrase.plain.replace("no longer", "")):
        return False
    same_turn = phrase.entry.episode and phrase.entry.episode == task.phrase.entry.episode
    if same_turn and phrase.entry.role == "assistant" and _AT_ONCE.match(phrase.plain):
        return True
    said = terms(phrase.plain)
    shared = sum(any(stem(word) == wanted for word in said) for wanted in task.objects)
    done = _DONE.search(phrase.plain) or any(stem(word) == task.verb and is_past(word) for word in said)
    return bool(done) and shared >= max(1, math.ceil(len(task.objects) / 2))
