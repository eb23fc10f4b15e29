"""What is unfinished: tasks, promises, plans with a day, and questions that nobody answered, each from one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from tidal_plugins.dossiers.laid_down import is_own, is_quoted
from tidal_plugins.dossiers.pieces import pieces
from tidal_plugins.dossiers.points import AGENT, Point
from tidal_plugins.dossiers.recent import Newest
from tidal_plugins.english.calendar import TIME_WORDS
from tidal_plugins.english.chatter import content, jokes, opines, retracts
from tidal_plugins.english.intentions import (
    CALLED_OFF,
    CLAUSE_ENDS,
    CONDITIONAL,
    DONE_IN_PART,
    FICTION,
    INSTEAD,
    ITS_OWN,
    KEPT_FOR_LATER,
    MOVED,
    NOT_FORGOTTEN,
    NOT_KNOWN,
    OFF,
    POSTPONED,
    PURPOSE,
    SAID_DONE,
    UNWANTED,
    VAGUE,
    WORDS,
)
from tidal_plugins.english.negation import NEGATED
from tidal_plugins.english.questions import asks
from tidal_plugins.english.relative_dates import named_days
from tidal_plugins.english.requests import requests
from tidal_plugins.english.stems import stem
from tidal_plugins.model.clock import local
from tidal_plugins.model.entry import CONVERSATION, Entry
from tidal_plugins.model.trust import OWN
from tidal_plugins.scoring.text import stems

Kind = Literal["promise", "task", "plan", "question"]

RANGE = timedelta(days=2)
"""Days that one plan may name, from the first to the last: a weekend. Of days further apart no rule can tell which one
is the plan's: «from the 28th to the 4th»."""
SHARED = 2
"""Words with a content by which a later sentence concerns the same thing; a name that both have is enough."""
_LEAST_WORDS = 3
"""Words with a content that a plan needs to be understood by itself."""
_TIMES = frozenset(map(stem, TIME_WORDS)) | frozenset("today morning afternoon evening night noon day now".split())


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A thing that is open. ``due`` is the day by which it should be done, or on which it happens.

    A ``promise`` is what the agent keeps for later, a ``task`` what the person means to do, a ``plan`` what happens on
    a day, and a ``question`` what the agent could not answer.
    """

    kind: Kind
    point: Point
    due: date | None = None
    since: Point | None = None
    """What the person said of it since that is done in part: «gave Ada 20 already»."""

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of what it is about, without words of time."""
        return frozenset(word for word in self.point.stems if word not in _TIMES and not word.isdigit())

    @property
    def is_told(self) -> bool:
        """Return whether it says what it is about: «I will remind you on Wednesday» does not."""
        return len(self.words) >= _LEAST_WORDS

    @property
    def is_clear(self) -> bool:
        """Return whether it is understood without what was said around it: «I'll bring it up» is not."""
        return self.is_told and not VAGUE.search(self.point.plain.partition(",")[0])


def unfinished(newest: Newest) -> list[Unfinished]:
    """Return what is open of the newest memories of a scope, the newest first.

    Only what the person and the agent said in conversations counts: a document promises nothing. What was done,
    cancelled, put off or superseded since is left out.
    """
    today = local(newest.now, newest.settings.zone).date()
    found = [item for point in newest.points if (item := _read(point, today))]
    found += _unanswered(newest.entries)
    return [_as_of_now(item, newest.entries) for item in found if not _is_over(item, newest.entries)]


def alike(item: Unfinished, words: frozenset[str]) -> bool:
    """Return whether a thing is about the same as other words: they share most of the fewer."""
    shared = len(item.words & words)
    return shared >= SHARED and 2 * shared >= min(len(item.words), len(words))


def _read(point: Point, today: date) -> Unfinished | None:
    if point.entry.kind != CONVERSATION or is_quoted(point) or SAID_DONE.search(point.plain):
        return None
    named = named_days(point.raw, point.entry.occurred_at)
    days = [day for day in named if day >= point.entry.occurred_at.date()]
    if point.by_agent:
        if (point.part == "open" and ITS_OWN.search(point.plain)) or (days and KEPT_FOR_LATER.search(point.plain)):
            return Unfinished("promise", point, min(days, default=None))
        return None
    if point.entry.trust < OWN or not is_own(point.entry) or opines(point.raw) or FICTION.search(point.plain):
        return None
    if point.part == "open":
        if PURPOSE.search(point.plain):
            return None
        return Unfinished("task", point, max(days, default=None))
    if _is_plan(point, named, today):
        return Unfinished("plan", point, min(day for day in days if day >= today))
    return None


def _is_plan(point: Point, days: Sequence[date], today: date) -> bool:
    """Return whether a statement says what will be on a day that is not over, without ifs, buts and second days."""
    if not days or max(days) < today or max(days) - min(days) > RANGE:
        return False
    said_at = point.entry.occurred_at
    if point.part not in ("now", "decided") or point.was or not point.sure or jokes(point.raw):
        return False
    if CONDITIONAL.search(point.plain) or CALLED_OFF.search(point.plain) or _denies_a_day(point.raw, said_at):
        return False
    return len([word for word in content(point.raw) if stem(word) not in _TIMES]) >= _LEAST_WORDS


def _is_over(item: Unfinished, entries: Sequence[Entry]) -> bool:
    """Return whether somebody said later that a thing is called off, or gave another day for it, or does not want to
    hear of it."""
    later = _later(item, entries)
    return any(_changes(text, entry.occurred_at, item) for entry in later for text in pieces(entry))


def _as_of_now(item: Unfinished, entries: Sequence[Entry]) -> Unfinished:
    """Return a dated thing with the newest that the person said of how far it is."""
    if item.due is None:
        return item
    own = (entry for entry in _later(item, entries) if is_own(entry))
    told = (Point(text, entry) for entry in own for text in pieces(entry) if DONE_IN_PART.search(text.lower()))
    newest = max((p for p in told if _names(item, p)), key=lambda p: p.entry.occurred_at, default=None)
    return replace(item, since=newest)


def _names(item: Unfinished, later: Point) -> bool:
    """Return whether a later sentence speaks of a name of a thing."""
    shared = item.words & later.stems
    return not asks(later.raw) and any(_is_name(word, item.point.raw) for word in shared)


def _later(item: Unfinished, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what was said in later turns."""
    said_at, turn = item.point.entry.occurred_at, item.point.turn
    for entry in entries:
        spoken = entry.kind == CONVERSATION and entry.role != "tool"
        if spoken and entry.occurred_at > said_at and (entry.episode or entry.id) != turn:
            yield entry


def _changes(text: str, at: datetime, item: Unfinished) -> bool:
    """Return whether a later sentence gives a thing another day, or says that it will not be, or need not be said."""
    said = Point(text, item.point.entry)
    shared = item.words & said.stems
    if not shared or asks(text):
        return False
    if UNWANTED.search(said.plain) or item.due is None:
        return UNWANTED.search(said.plain) is not None
    days = named_days(text, at)
    names = {word for word in shared if _is_name(word, item.point.raw)}
    if days and item.due not in days:
        postponed = MOVED.search(said.plain) or (names and POSTPONED.search(said.plain))
        return (len(shared) >= SHARED and shared > names) or bool(postponed)
    replaced = CALLED_OFF.search(said.plain) or INSTEAD.search(said.plain)
    if item.due in days:
        return _denies_a_day(text, at) or bool(replaced)
    return _is_off(text, shared) or (len(shared) >= SHARED and (bool(replaced) or retracts(text)))


def _is_off(text: str, shared: frozenset[str]) -> bool:
    """Return whether the clause that names a thing says that it is off: «I cancelled the van» names no «cancel»."""
    clauses = [clause for clause in CLAUSE_ENDS.split(text.lower()) if OFF.search(clause)]
    return any(not shared.isdisjoint(stems(OFF.sub(" ", clause))) for clause in clauses)


def _denies_a_day(text: str, at: datetime) -> bool:
    """Return whether the clause that names a day denies: «no keys on the 26th», «Thursday is no good»."""
    clauses = CLAUSE_ENDS.split(NOT_FORGOTTEN.sub("", text))
    return any(NEGATED.search(clause.lower()) and named_days(clause, at) for clause in clauses)


def _is_name(word: str, raw: str) -> bool:
    """Return whether a stem stands in a sentence as a word with a capital letter."""
    return any(one[:1].isupper() and stem(one.lower()) == word for one in WORDS.findall(raw))


def _unanswered(entries: Sequence[Entry]) -> Iterator[Unfinished]:
    """Yield the questions that the agent could not answer, and that nothing it said later answers."""
    by_turn: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == CONVERSATION and entry.episode:
            by_turn.setdefault(entry.episode, []).append(entry)
    answers = [(entry.occurred_at, Point(entry.text, entry)) for entry in entries if entry.role == AGENT]
    for turn in by_turn.values():
        questions = [Point(text, entry) for entry in turn if is_own(entry) for text in pieces(entry) if asks(text)]
        told = [text.lower() for entry in turn if entry.role == AGENT for text in pieces(entry)]
        if len(questions) != 1 or requests(questions[0].raw) or not any(map(NOT_KNOWN.search, told)):
            continue
        item = Unfinished("question", questions[0])
        if len(item.words) < SHARED or is_quoted(item.point):
            continue
        at, enough = item.point.entry.occurred_at, max(SHARED, len(item.words) - 1)
        if not any(later > at and len(item.words & answer.stems) >= enough for later, answer in answers):
            yield item
