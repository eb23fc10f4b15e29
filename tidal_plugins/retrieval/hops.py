"""Recall over several hops: later hops query for what the hits leave open, and append hits [Anamnesis G1]."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from tidal_plugins.aio import in_time
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.words import PLEASANTRIES, STOP_WORDS, stem
from tidal_plugins.errors import InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.recall import Coverage, Dropped, Hit, Hop, Recall, counted
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import CoverageAssessor
from tidal_plugins.retrieval.understand import Request, checked_query
from tidal_plugins.retrieval.weights import HopTuning
from tidal_plugins.scoring.ranking import dated
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown

COVERED, NO_QUERY, NO_HIT = "covered", "no new query", "no new hit"
HOPS, QUERIES, TIME, ASSESSOR = "hops", "queries", "time", "assessor"

SPARE = 1
"""Queries of a hop that may bring nothing new, beyond its leads."""

NEW_WORDS = 3
"""Words that a text without a name may have beyond the query's to lead on by them: what is short says one thing."""

_LARGE = r"(?<!\w)[^\W\d_a-z][\w'’-]*"
_NAME = lazy_re(rf"{_LARGE}(?: {_LARGE})*")
_TOKEN = lazy_re(r"(?<![^\W_])[^\W_]++(?:[-_./:]++[^\W_]++)*+")
_IDENTIFIER = lazy_re(r"[_./:]|\d|[a-z][A-Z]|-[A-Z]")
_LONGEST = 64
"""Characters of an identifier; what is longer is data."""
_POSSESSIVE = lazy_re(r"['’]s?$")
_SUBJECT = 1
"""Rank of a name that begins a sentence, where any word is written large: it leads on after the others."""
_NAMELESS = 2
"""Rank of what leads on without a name."""

Ask = Callable[[str], Recall]

logger = logging.getLogger(__name__)


def over_hops(
    recall: Callable[[Request], Recall], request: Request, assessor: CoverageAssessor | None, settings: Settings
) -> Recall:
    """Return the hits of ``recall`` for a request, followed by its hits for further queries.

    The first hits keep their order. Mixing others in lost answers on the development conversations, with any weights.
    Without an assessor, rules choose the further queries.
    """
    further = replace(request, limit=request.limit + settings[HopTuning].read, associative=False)

    def ask(text: str) -> Recall:
        return recall(replace(further, text=checked_query(text, settings)))

    return _Hops(recall(request), ask, assessor or HeuristicAssessor(), settings[HopTuning], request.hops).run()


@dataclass(slots=True)
class _Hops:
    """One recall over several hops, under way."""

    first: Recall
    ask: Ask
    assessor: CoverageAssessor
    settings: HopTuning
    most: int
    hops: list[Hop] = field(default_factory=list)
    brought: list[list[Hit]] = field(default_factory=list)
    missed: list[Dropped] = field(default_factory=list)
    degraded: tuple[str, ...] = ()
    end: float = 0.0

    def run(self) -> Recall:
        self.end = time.monotonic() + self.settings.ms / 1000
        stopped = next((reason for hop in range(2, self.most + 1) if (reason := self._hop(hop))), HOPS)
        appended = list(islice(_in_turn(self.brought), self.settings.appended))
        shown = {_one(hit) for hit in (*self.first, *appended)}
        beyond = [_unread(hit, "beyond what is appended") for hit in _in_turn(self.brought)]
        dropped = {_one(item): item for item in reversed([*self.first.dropped, *beyond, *self.missed])}
        hits = (*self.first.hits, *_below(self.first.hits, appended))
        return replace(
            self.first,
            hits=hits,
            dropped=tuple(item for one, item in reversed(dropped.items()) if one not in shown),
            degraded=tuple(dict.fromkeys((*self.first.degraded, *self.degraded))),
            hops=tuple(self.hops),
            stopped=stopped,
            peers=counted(self.first.peers, hits),
        )

    def _hop(self, number: int) -> str:
        """Make one hop. Return why it is the last one, or the empty text if there may be another."""
        try:
            coverage = self._assess()
        except TimeoutError:
            return TIME
        except Exception as error:
            pass_interrupt(error)
            logger.warning("the coverage assessor failed; recall ends here: %s", type(error).__name__)
            logger.debug("the coverage assessor failed", exc_info=True)
            return ASSESSOR
        if coverage.covered:
            return COVERED
        asked = {"", normal(self.first.query), *(normal(hop.query) for hop in self.hops)}
        queries = {normal(query): query for query in reversed(coverage.queries) if normal(query) not in asked}
        if not queries:
            return NO_QUERY
        news = 0
        for query in islice(reversed(queries.values()), self.settings.leads + SPARE):
            if news == self.settings.leads:
                break
            if len(self.hops) >= self.settings.queries:
                return QUERIES
            if time.monotonic() >= self.end:
                return TIME
            news += self._asked(number, query)
        return "" if news else NO_HIT

    def _assess(self) -> Coverage:
        """Ask the assessor. One given by the user is asked on a thread of its own, while there is time."""
        assess = partial(self.assessor.assess, self.first.query, self._texts())
        if isinstance(self.assessor, HeuristicAssessor):
            return assess()
        coverage = in_time(assess, max(0.001, self.end - time.monotonic()))
        queries = coverage.queries if isinstance(coverage, Coverage) else None
        if not isinstance(queries, tuple | list) or not all(isinstance(query, str) for query in queries):
            raise TypeError(f"an assessor returns a Coverage, its queries texts, got {shown(coverage)}")
        return coverage

    def _texts(self) -> list[str]:
        """Return the texts to assess, those of the last queries first."""
        groups = [*reversed(self.brought), self.first.hits[: self.settings.read]]
        return [_spoken(hit) for group in groups for hit in group]

    def _asked(self, number: int, query: str) -> bool:
        """Ask one query and keep its hits. Return whether there was anything new."""
        try:
            found = self.ask(query)
        except InvalidInput:  # a model may say anything
            logger.warning("a query of the coverage assessor cannot be asked")
            return False
        known = {_one(hit) for group in (self.first, *self.brought) for hit in group}
        least = self.settings.least * max((hit.score for hit in found), default=0.0)
        new = [_from_hop(hit, number, query) for hit in found if _one(hit) not in known and hit.score >= least]
        new = new[: self.settings.read]
        read = {_one(hit) for hit in new}
        self.missed += (_unread(_from_hop(hit, number, query), "not read") for hit in found if _one(hit) not in read)
        self.missed += (item._replace(reason=f"hop {number} («{query}»): {item.reason}") for item in found.dropped)
        self.hops.append(Hop(number, query, tuple(hit.id for hit in new)))
        self.brought.append(new)
        self.degraded += found.degraded
        return bool(new)


def _in_turn(groups: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the best hit of each query, then the second of each, and so on."""
    depth = max(map(len, groups), default=0)
    return [group[place] for place in range(depth) for group in groups if place < len(group)]


def _below(hits: Sequence[Hit], appended: Sequence[Hit]) -> list[Hit]:
    """Return hits of other queries with scores below those of ``hits``: each at most as high as the one before it."""
    below, floor = [], min((hit.score for hit in hits), default=1.0)
    for hit in appended:
        floor = min(floor, floor * min(1.0, hit.score))
        below.append(replace(hit, score=floor))
    return below


def _from_hop(hit: Hit, number: int, query: str) -> Hit:
    return replace(hit, why=replace(hit.why, hop=number, asked=query))


def _unread(hit: Hit, reason: str) -> Dropped:
    return Dropped(hit.id, "hop", f"hop {hit.why.hop} («{hit.why.asked}»): {reason}", hit.origin)


def _spoken(hit: Hit) -> str:
    return f"{hit.entry.speaker}: {hit.passage}" if hit.entry.speaker else hit.passage


def _one(item: Hit | Dropped) -> tuple[str, str]:
    """Return a key of an entry, which two stores never share."""
    return item.origin, item.id


class Lead(NamedTuple):
    """A further query: a name that a text brings up, or its new words, with the words that the text lacks."""

    apart: bool
    open: int
    rank: int
    place: int
    name: str
    gap: tuple[str, ...]


class HeuristicAssessor:
    """Assesses coverage without a model.

    A query is covered where one text has all of its words. Else what a text says of some of them names somebody or
    something new, and that name is asked for together with the words that the text leaves open: of «What does Ada's
    sister play?» the text «Maria is Ada's sister» leads to «Maria play». Texts that name whom the query names lead
    first, and those that name who is named there; then those that leave least open.
    """

    def assess(self, query: str, texts: Sequence[str]) -> Coverage:
        """Return what ``texts`` leave open; linear in their length."""
        wanted = _stems(query)
        covered = [wanted.keys() & _stems(text).keys() for text in texts]
        if not wanted or any(len(found) == len(wanted) for found in covered):
            return Coverage()
        open_ = tuple(word for root, word in wanted.items() if not any(root in found for found in covered))
        leads = dict.fromkeys(f"{lead.name} {' '.join(lead.gap)}" for lead in sorted(_leads(query, texts)))
        return Coverage(open_ or tuple(wanted.values()), tuple(leads))


def _leads(query: str, texts: Sequence[str]) -> Iterator[Lead]:
    wanted = _stems(query)
    named = {root for name, _ in _names(query) for root in _stems(name)}
    anchors = named or set(wanted)
    stems = [_stems(text) for text in texts]
    names = [list(_names(text)) for text in texts]
    near = [not anchors.isdisjoint(found) for found in stems]
    known = {
        root for found, there in zip(names, near, strict=True) if there for name, _ in found for root in _stems(name)
    }
    for place, (found, there) in enumerate(zip(stems, near, strict=True)):
        linked = there or not known.isdisjoint(found)
        gap = tuple(word for root, word in wanted.items() if root not in found and root not in named)
        if not gap or not (linked or not wanted.keys().isdisjoint(found)):
            continue
        fresh = [(name, first) for name, first in names[place] if wanted.keys().isdisjoint(_stems(name))]
        for name, first in fresh:
            yield Lead(not linked, len(gap), _SUBJECT if first else 0, place, name, gap)
        new = [word for root, word in found.items() if root not in wanted]
        if not fresh and 0 < len(new) <= NEW_WORDS:
            yield Lead(not linked, len(gap), _NAMELESS, place, " ".join(new), gap)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names in a text, each with whether it begins a sentence.

    A name is known by its form: capitalised words, or an identifier.
    """
    starts = {start for start, _ in sentences(text)}
    for match in _NAME.finditer(text):
        first = match.start() in starts
        words = [_POSSESSIVE.sub("", word) for word in match[0].split()]
        if not words[0][:1].isupper():
            continue
        while words and (words[0].lower() in STOP_WORDS | PLEASANTRIES or not terms(words[0])):
            words, first = words[1:], False
        if words and not dated(" ".join(words)) and words != ["May"]:
            yield " ".join(words), first
    for match in _TOKEN.finditer(text):
        if (
            match.end() - match.start() <= _LONGEST
            and _IDENTIFIER.search(match[0])
            and re.search("[^\\W\\d_]{2}", match[0])
        ):
            yield match[0], False


def _stems(text: str) -> dict[str, str]:
    """Return the words of a text by their stems."""
    return {stem(word): word for word in terms(text)}
