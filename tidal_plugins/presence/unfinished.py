"""What is unfinished: tasks, promises, plans with a day, and questions that nobody answered, each from one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from tidal_plugins.dossiers.sections import Newest
from tidal_plugins.dossiers.sentences import AGENT, Reader, Sentence, is_own
from tidal_plugins.dossiers.tasks import closes, is_report
from tidal_plugins.english.dates import named_days
from tidal_plugins.english.intentions import CALLED_OFF, FICTION, INTENTION, REMIND, UNWANTED
from tidal_plugins.english.sentences import plain
from tidal_plugins.english.words import NEGATED, stem
from tidal_plugins.model.clock import local
from tidal_plugins.model.entry import CONVERSATION, OWN, Entry
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems

Kind = Literal["promise", "task", "plan", "question"]

RANGE = timedelta(days=2)
"""Days that one plan may name, from the first to the last: a weekend. Of days further apart nobody can tell which one
is the plan's: «from the 28th to the 4th»."""
SHARED = 2
"""Words with a content by which a later sentence concerns the same thing; a name that both have is enough."""
_LEAST_WORDS = 3
"""Words with a content that a plan needs to be understood by itself."""
_AT_LENGTH = 3
"""Sentences of the agent that concern a task, from which on it was no errand but what the talk was for."""
_CLAUSES = lazy_re(r"[,;:.!?–—]\s+")
_SURE = 0.5
"""Chance of an act from which on a sentence is taken for a question or a request."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A thing that is open. ``due`` is the day by which it should be done, or on which it happens.

    A ``promise`` is what the agent keeps for later, a ``task`` what the person means to do, a ``plan`` what happens on
    a day, and a ``question`` what the agent could not answer.
    """

    kind: Kind
    said: Sentence
    due: date | None = None
    since: Sentence | None = None
    """What the person said since is done of it: «gave Ada 20 already»."""
    associated: Sentence | None = None
    """What the person said in another conversation that brings it to mind."""

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of what it is about, without words of time."""
        return self.said.about

    @property
    def is_told(self) -> bool:
        """Return whether it says what it is about: «I will remind you on Wednesday», «I need to see it now» do not."""
        text = plain(self.said.raw)
        meant = INTENTION.match(text) or REMIND.match(text)
        words = stems(_CLAUSES.split(meant["task"])[0]) if meant else self.words
        return len(set(words)) >= _LEAST_WORDS


def unfinished(newest: Newest) -> list[Unfinished]:
    """Return what is open of the newest memories of a scope, the newest first.

    Only what the person and the agent said in conversations counts: a document promises nothing. What was done,
    cancelled, put off or superseded since is left out.
    """
    today = local(newest.now, newest.settings.zone).date()
    found = [item for said in newest.said if (item := _read(said, today))]
    found += _unanswered(newest.reader, newest.entries)
    off = (_is_refused, _is_worked_on)
    found = [item for item in found if not any(is_off(newest.reader, item, newest.entries) for is_off in off)]
    later = [(item, _later(newest.reader, item, newest.entries)) for item in found]
    return [_as_of_now(item, told) for item, told in later if not any(_ends(one, item) for one in told)]


def alike(item: Unfinished, words: frozenset[str]) -> bool:
    """Return whether a thing is about the same as other words: they share most of the fewer."""
    shared = len(item.words & words)
    return shared >= SHARED and 2 * shared >= min(len(item.words), len(words))


def _read(said: Sentence, today: date) -> Unfinished | None:
    entry = said.entry
    if entry.kind != CONVERSATION or said.is_quoted or said.part not in ("open", "now", "decided"):
        return None
    days = [day for day in said.days if day >= entry.occurred_at.date()]
    if said.by_agent:
        several = bool(days) and max(days) - min(days) > RANGE  # «it moves from the 9th to the 16th»
        return Unfinished("promise", said, min(days, default=None)) if said.part == "open" and not several else None
    if entry.trust < OWN or not is_own(entry) or said.was or (days and max(days) < today):
        return None
    text = plain(said.raw)
    if FICTION.search(text) or CALLED_OFF.search(text):
        return None
    if INTENTION.match(text) or REMIND.match(text) or (said.part == "open" and said.chance("request") >= _SURE):
        return None if said.raw.endswith("?") else Unfinished("task", said, max(days, default=None))
    ahead = [day for day in days if day >= today]
    if (
        not ahead
        or not said.has("plan")
        or said.denies
        or max(days) - min(days) > RANGE
        or len(said.about) < _LEAST_WORDS
    ):
        return None
    return Unfinished("plan", said, min(ahead))


def _ends(later: Sentence, item: Unfinished) -> bool:
    """Return whether a later sentence says that a thing is done or off, gives it another day, or does not want to hear
    of it."""
    shared = item.words & later.about
    named = not shared.isdisjoint(map(stem, item.said.marks | later.marks))  # a name may begin the other sentence
    if not shared or later.raw.endswith("?") or later.chance("question") >= _SURE:
        return False
    text = plain(later.raw)
    if UNWANTED.search(text) or CALLED_OFF.search(text):
        return True
    if is_report(later) and closes(later, item.said):
        return True
    if len(shared) < SHARED and not named:
        return False
    if _is_denied(later, item) and not item.said.denies and not later.has("plan"):
        return True
    if item.due is None or _is_partly(later, item):
        return False
    if later.has("change") and max(later.days, default=item.due) > item.due:
        return True  # «it moves from the 9th to the 16th»
    return (bool(later.days) and item.due not in later.days) or (is_report(later) and not later.has("plan"))


def _is_refused(reader: Reader, item: Unfinished, entries: Iterable[Entry]) -> bool:
    """Return whether the person denies the day of a plan in the same talk, whatever the words: «I can't Monday»."""
    said = item.said.entry
    if item.kind != "plan":
        return False
    talk = [
        one
        for one in entries
        if is_own(one) and one.thread == said.thread and one.occurred_at >= said.occurred_at
        if one.occurred_at.date() == said.occurred_at.date()
    ]
    return any(
        NEGATED.search(plain(clause)) and item.due in named_days(clause, one.occurred_at)
        for one in talk
        for other in reader.all_of(one)
        if other.raw != item.said.raw
        for clause in _CLAUSES.split(other.raw)
    )


def _is_worked_on(reader: Reader, item: Unfinished, entries: Iterable[Entry]) -> bool:
    """Return whether a task without a day is what the agent was asked for, and dealt with at length in that talk."""
    said = item.said.entry
    if item.kind != "task" or item.due or said.thread is None:
        return False
    told = (
        one
        for entry in entries
        if entry.role == AGENT and entry.thread == said.thread and entry.occurred_at >= said.occurred_at
        for one in reader.all_of(entry)
    )
    return sum(len(item.words & one.about) >= SHARED for one in told) >= _AT_LENGTH


def _is_denied(later: Sentence, item: Unfinished) -> bool:
    """Return whether a later sentence denies something in a clause that is about a thing: «I can't believe it» says
    nothing of the choir that the next clause names."""
    clauses = _CLAUSES.split(plain(later.raw))
    return any(NEGATED.search(one) and not item.words.isdisjoint(stems(one)) for one in clauses)


def _is_partly(later: Sentence, item: Unfinished) -> bool:
    """Return whether a report names another amount than the thing that it is of: 100 of 300 euros."""
    told, all_ = (
        {*filter(str.isdigit, said.marks)} - {str(day.day) for day in said.days} for said in (later, item.said)
    )
    return bool(told and all_) and told.isdisjoint(all_)


def _as_of_now(item: Unfinished, later: Iterable[Sentence]) -> Unfinished:
    """Return a dated thing with the newest that the person said is done of it."""
    if item.due is None:
        return item
    told = [one for one in later if is_own(one.entry) and one.has("done") and item.said.marks & one.marks]
    return replace(item, since=max(told, key=lambda one: one.entry.occurred_at, default=None))


def _later(reader: Reader, item: Unfinished, entries: Iterable[Entry]) -> list[Sentence]:
    """Return the sentences of later turns."""
    said_at, turn = item.said.entry.occurred_at, item.said.turn
    return [
        said
        for entry in entries
        if entry.kind == CONVERSATION and entry.role != "tool" and entry.occurred_at > said_at
        if (entry.episode or entry.id) != turn
        for said in reader.all_of(entry)
    ]


def _unanswered(reader: Reader, entries: Sequence[Entry]) -> Iterator[Unfinished]:
    """Yield the questions to which the agent said nothing of what they are about, then or later."""
    spoken = [entry for entry in entries if entry.kind == CONVERSATION and entry.episode]
    answers = [(entry, said) for entry in spoken if not is_own(entry) for said in reader.all_of(entry)]
    for entry in spoken:
        questions = [said for said in reader.all_of(entry) if said.chance("question") >= _SURE] if is_own(entry) else []
        if len(questions) != 1 or len(questions[0].about) < SHARED or questions[0].is_quoted:
            continue
        item = Unfinished("question", questions[0])
        told = [said for one, said in answers if one.occurred_at >= entry.occurred_at]
        at_once = [said for said in told if said.turn == item.said.turn]
        if at_once and not any(said.denies for said in at_once):
            continue  # «understood?» and «Understood.»
        if not any(_answers(said, item) for said in told):
            yield item


def _answers(said: Sentence, item: Unfinished) -> bool:
    if said.turn == item.said.turn:
        return said.tags.act == "statement" and not said.denies
    return len(item.words & said.about) >= max(SHARED, len(item.words) - 1)
