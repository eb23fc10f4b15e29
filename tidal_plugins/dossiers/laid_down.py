"""Rules that people laid down in their own words, and that nobody lifted or replaced since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from tidal_plugins.dossiers.pieces import pieces
from tidal_plugins.dossiers.points import AGENT, Point
from tidal_plugins.english.chatter import content, jokes, retracts
from tidal_plugins.english.quotations import SPEECH
from tidal_plugins.english.rule_changes import changes_rule, replaces
from tidal_plugins.english.rules import lays_down, lifts
from tidal_plugins.model.entry import CONVERSATION, Entry
from tidal_plugins.model.supersession import Supersession
from tidal_plugins.model.trust import OWN

LIKELY = 0.5
"""Confidence of a supersession from which on a rule counts as replaced, as a value does."""
_SHARED = 2
"""Words that a rule shares with what lifts it, or all that the latter has: «the French rule»."""
_MARKS = (("“", "”"), ("«", "»"))


def rules(entries: Iterable[Entry], links: Sequence[Supersession], most: int) -> list[Point]:
    """Return the rules of at most ``most`` characters, in the order of their entries."""
    said = [entry for entry in entries if is_own(entry)]
    lifted = list(lifted_in(said))
    found = [point for entry in said for point in _laid_down(entry) if len(point.raw) <= most]
    left = [point for point in found if not is_lifted(point, lifted) and not _is_replaced(point, links)]
    return without_replaced(left)


def without_replaced(said: Sequence[Point]) -> list[Point]:
    """Return points without the rules in whose place a later one puts another value."""
    changed = [p for p in said if not p.by_agent and changes_rule(p.raw) and lays_down(p.raw)]
    return [point for point in said if not any(_replaces(later, point) for later in changed)]


def _replaces(later: Point, point: Point) -> bool:
    return later.entry.occurred_at > point.entry.occurred_at and replaces(later.raw, point.raw)


def is_own(entry: Entry) -> bool:
    """Return whether an entry is a person's own words, not a document's, an agent's or a tool's."""
    by_person = entry.role not in (AGENT, "tool") and entry.source is None
    return entry.kind == CONVERSATION and by_person and entry.trust >= OWN


@dataclass(frozen=True, slots=True)
class Lifted:
    """What somebody said no longer holds, as the stems of its words, and when."""

    about: frozenset[str]
    at: datetime


def lifted_in(entries: Iterable[Entry]) -> Iterator[Lifted]:
    """Yield what people lifted."""
    for entry in entries:
        if is_own(entry):
            yield from (Lifted(about, entry.occurred_at) for text in pieces(entry) if (about := lifts(text)))


def is_lifted(point: Point, lifted: Iterable[Lifted]) -> bool:
    """Return whether a rule was lifted after it was laid down."""
    return any(
        one.at > point.entry.occurred_at and len(one.about & point.words) >= min(_SHARED, len(one.about))
        for one in lifted
    )


def is_quoted(point: Point) -> bool:
    """Return whether a sentence is, or holds nothing but, what somebody quotes: a text to translate, a mail."""
    raw, text = point.raw, point.entry.text
    if raw.count('"') % 2 or any(raw.count(opening) != raw.count(closing) for opening, closing in _MARKS):
        return True
    if any(raw in match[0] for match in SPEECH.finditer(text)):
        return True
    return SPEECH.search(raw) is not None and len(content(SPEECH.sub(" ", raw))) <= 1


def _laid_down(entry: Entry) -> Iterator[Point]:
    said = list(pieces(entry))
    for text, after in zip_longest(said, said[1:], fillvalue=""):
        point = Point(text, entry)
        if lays_down(text) and not any(jokes(one) or retracts(one) for one in (text, after)) and not is_quoted(point):
            yield point


def _is_replaced(point: Point, links: Iterable[Supersession]) -> bool:
    return any(
        link.earlier in (point.entry.id, point.turn)
        and link.replacement.confidence >= LIKELY
        and link.replacement.old.casefold() in point.raw.casefold()
        and bool(link.replacement.old)
        for link in links
    )
