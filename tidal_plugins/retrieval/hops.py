"""Recall over several hops: later hops query for what the hits leave open, and append hits [Anamnesis G1]."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from tidal_plugins.aio import in_time
from tidal_plugins.errors import InvalidText
from tidal_plugins.model.recall import Coverage, Dropped, Hit, Hop, Recall, counted
from tidal_plugins.protocols import CoverageAssessor
from tidal_plugins.retrieval.coverage import HeuristicAssessor
from tidal_plugins.retrieval.request import Request, checked_query
from tidal_plugins.scoring.text import normal
from tidal_plugins.shown import shown
from tidal_plugins.tuning import HopTuning, Tuning

COVERED, NO_QUERY, NO_HIT = "covered", "no new query", "no new hit"
HOPS, QUERIES, TIME, ASSESSOR = "hops", "queries", "time", "assessor"

SPARE = 1
"""Queries of a hop that may bring nothing new, beyond its leads."""

Ask = Callable[[str], Recall]

logger = logging.getLogger(__name__)


def over_hops(
    recall: Callable[[Request], Recall], request: Request, assessor: CoverageAssessor | None, settings: Tuning
) -> Recall:
    """Return the hits of ``recall`` for a request, followed by its hits for further queries.

    The first hits keep their order. Mixing others in lost answers on the development conversations, with any weights.
    Without an assessor, rules choose the further queries.
    """
    further = replace(request, limit=request.limit + settings.hops.read, associative=False)

    def ask(text: str) -> Recall:
        return recall(replace(further, text=checked_query(text, settings)))

    return _Hops(recall(request), ask, assessor or HeuristicAssessor(), settings.hops, request.hops).run()


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
        except InvalidText:  # a model may say anything
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
