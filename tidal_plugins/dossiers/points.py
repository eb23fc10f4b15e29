"""Points: what entries state, sentence by sentence, dated, without questions, requests and chatter.

Of an exchange the person's words come first. The agent's words stand for them where they say the same more clearly, or
answer what the person asked or ordered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tidal_plugins.dossiers.pieces import LONG, pieces, plain_of, real_pieces, split
from tidal_plugins.english.chatter import (
    advises,
    content,
    is_fragment,
    jokes,
    reacts,
    reports,
    retracts,
    without_acknowledgement,
    without_lead,
)
from tidal_plugins.english.excerpt import shortened
from tidal_plugins.english.hedges import HEDGED
from tidal_plugins.english.importance import importance
from tidal_plugins.english.negation import NEGATED
from tidal_plugins.english.people import NAMING
from tidal_plugins.english.questions import asks
from tidal_plugins.english.relative_dates import with_dates
from tidal_plugins.english.requests import requests
from tidal_plugins.english.shouting import only_shouts
from tidal_plugins.english.stems import stem
from tidal_plugins.model.dossier import Part
from tidal_plugins.model.entry import CONVERSATION, Entry
from tidal_plugins.model.fence import inert
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems, terms

LONGEST = 240
"""Characters of a point. A longer sentence is cut at a word."""
AGENT, AGENT_NAME = "assistant", "Agent"

_RESTATED = 0.5
"""Share of the words of a person's sentence that an agent's has where it says the same again."""
_ANSWERS = 3
"""Sentences of an agent's answer to a question or an order that are taken."""
_SAID = 0.6
"""Share of the words of an agent's sentence from which on the person has said it already."""
_LEAST_WORDS = 3
"""Words with a content from which on a person's sentence is clear by itself."""
_VAGUE = lazy_re(
    r"\W*(?:(?:and|but|so|then|ok|okay|yes|no|oh|well)\b[ ,]*)*(?:it|he|she|they|that|this|those|these|both)\b", re.I
)
_ARTICLES = frozenset(("a", "an", "the"))
_BULLET = lazy_re(r"\A\s*(?:#{1,6}\s+|[-*+•>]\s+|\d{1,2}[.)]\s+)+")


@dataclass(frozen=True, slots=True)
class Point:
    """A statement of an entry. ``part`` is where it belongs in a document, and ``was`` what it replaces."""

    raw: str
    entry: Entry
    part: Part = "now"
    was: str = ""

    @property
    def plain(self) -> str:
        """Return what rules read: lower case, one line, straight apostrophes, no mark at the end."""
        return plain_of(self.raw)

    @property
    def text(self) -> str:
        """Return the statement on one line, with dates for the days that it names, so that nothing in it can act."""
        if self.entry.kind != CONVERSATION:
            return shortened(inert(self.raw), LONGEST)
        said = with_dates(self.raw if self.by_agent else without_lead(self.raw), self.entry.occurred_at)
        return shortened(inert(said), LONGEST)

    @property
    def stems(self) -> frozenset[str]:
        return _stems(self.raw)

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of all words but articles."""
        return _words(self.raw)

    @property
    def weight(self) -> float:
        return importance(self.raw, role=self.entry.role)

    @property
    def sure(self) -> bool:
        return not HEDGED.search(self.plain)

    @property
    def by_agent(self) -> bool:
        return self.entry.role == AGENT

    @property
    def turn(self) -> str:
        return self.entry.episode or self.entry.id


@lru_cache(maxsize=1 << 13)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stems(text))


@lru_cache(maxsize=1 << 13)
def _words(text: str) -> frozenset[str]:
    return frozenset(map(stem, terms(text, stop=_ARTICLES)))


def points(entries: Iterable[Entry]) -> list[Point]:
    """Return what some entries state, in the order in which it was said."""
    return [point for turn in turns(entries) for point in _of_turn(turn)]


def turns(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return entries by the turns in which they were said, in order; of one time in the order in which they came."""
    grouped: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0)):
        grouped.setdefault(entry.episode or entry.id, []).append(entry)
    return list(grouped.values())


def told(entry: Entry) -> list[str]:
    """Return the sentences of an entry that state something, fragments together with what they belong to."""
    if entry.kind != CONVERSATION:
        unmarked = (_unmarked(long[:LONG]) for long in split(entry.text))
        return [one for one in unmarked if content(one) and not only_shouts(one)]
    kept: list[str] = []
    by_agent = entry.role == AGENT
    for said in real_pieces(entry):
        plain = without_acknowledgement(said) if by_agent and not reports(said) else said
        if jokes(said):
            del kept[len(kept) - is_fragment(said) :]  # «joke!» says it of the sentence before
        elif not _is_idle(plain, by_agent):
            kept.append(_unmarked(plain))
    return kept if by_agent else list(_joined(kept))


def _of_turn(turn: Sequence[Entry]) -> Iterator[Point]:
    """Yield the person's points, or the agent's where they are clearer, and what the agent answered or reports."""
    persons = [Point(said, entry) for entry in turn if entry.role not in (AGENT, "tool") for said in told(entry)]
    agents = [Point(said, entry) for entry in turn if entry.role == AGENT for said in told(entry)]
    if any(jokes(said) or retracts(said) for entry in turn if entry.role != AGENT for said in pieces(entry)):
        agents = []
    for person in persons:
        clearer = next((agent for agent in agents if _restates(agent, person)), None) if _is_vague(person) else None
        yield clearer or person
        agents = [agent for agent in agents if agent is not clearer]
    asked = not persons or any(
        asks(said) or requests(said) for entry in turn if entry.role != AGENT for said in pieces(entry)
    )
    known = frozenset[str]().union(*(person.stems for person in persons))
    fresh = [agent for agent in agents if len(agent.stems & known) < _SAID * len(agent.stems)]
    answers = [agent for agent in fresh if asked or reports(agent.raw)]
    best = sorted(answers, key=lambda point: -point.weight)[:_ANSWERS]
    yield from (agent for agent in answers if agent in best)


def _restates(agent: Point, person: Point) -> bool:
    """Return whether an agent says a person's point again, with more of its words and with what it is about."""
    shared = agent.stems & person.stems
    return len(shared) >= max(2, _RESTATED * len(person.stems)) and len(agent.stems) > len(person.stems)


def _is_vague(point: Point) -> bool:
    return len(content(point.raw)) < _LEAST_WORDS or _VAGUE.match(point.raw) is not None


def _is_idle(said: str, agent: bool) -> bool:
    if (
        asks(said) or retracts(said) or reacts(said) or only_shouts(said) or said.rstrip("*_ ").endswith(":")
    ):  # what leads a list or a text, without it
        return True
    return (advises(said) or is_fragment(said)) if agent else requests(said) and not NAMING.search(said)


def _joined(kept: Sequence[str]) -> Iterator[str]:
    """Yield sentences, each fragment together with the one after it, or with the one before it at the end."""
    said: list[str] = []
    waiting = ""
    for sentence in filter(content, kept):
        sentence = f"{waiting} {sentence}".strip()
        waiting = sentence if is_fragment(sentence) else ""
        if not waiting:
            said.append(sentence)
    if waiting and said and len(said[-1]) + len(waiting) < LONGEST:
        said[-1] = f"{said[-1]} {waiting}"
    yield from said


def _unmarked(said: str) -> str:
    return _BULLET.sub("", said).replace("**", "")


def is_denied(point: Point) -> bool:
    """Return whether a point denies something."""
    return _is_denied(point.plain)


@lru_cache(maxsize=1 << 13)
def _is_denied(plain: str) -> bool:
    return NEGATED.search(plain) is not None
