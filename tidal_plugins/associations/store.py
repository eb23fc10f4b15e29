"""The association store: entries that come up together are linked, and recall of one reaches the others [Capsule].

The sources call it the spiderweb. An edge between two entries grows with each context in which both are active, fades
every day, and is removed when little of it is left.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import combinations
from math import inf
from typing import NamedTuple

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.clock import aware, hours_between
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.scoring import decay
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Step, Storage, WhereLinks
from tidal_plugins.tuning import Weights, tunable
from tidal_plugins.validation import check_int, check_number


@dataclass(frozen=True, kw_only=True)
class AssociationTuning(Weights, group="associations"):
    """[Capsule]."""

    new: float = tunable(1.0, gt=0)
    """Weight of an edge when two entries first come up together."""
    step: float = tunable(1.0, ge=0)
    """Added each time they do so again."""
    cap: float = tunable(10.0, gt=0)
    daily: float = tunable(0.95, gt=0, le=1)
    """Share of its weight that an edge keeps per day."""
    floor: float = tunable(0.01, gt=0)
    """Weight below which an edge is pruned."""
    context: int = tunable(32, ge=2, le=500)
    """Entries of one context that are linked, the strongest: 32 are 496 pairs."""
    threshold: float = tunable(0.15, ge=0, le=1)
    """Activation below which spreading stops: one new edge passes .5, two .25, three .125."""
    depth: int = tunable(2, ge=0)
    """Hops that activation spreads."""
    limit: int = tunable(20, ge=0, le=1000)
    """Entries that spreading returns."""


ASSOCIATION = "association"
MAX_DEPTH = 100
"""The largest number of hops that activation may spread."""


@dataclass(frozen=True, slots=True)
class Context:
    """The entries that are active at one time, as ids with strengths. Immutable, and safe to share between threads."""

    strengths: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for id_, strength in zip(_ids(self.strengths), self.strengths.values(), strict=True):
            if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 < strength < inf:
                raise InvalidInput(
                    f"a strength must be a finite number above 0, got {shown(strength)} for {shown(id_)}"
                )


class Activation(NamedTuple):
    """A context, and when it was active.

    If it continues an earlier one, ``counted`` are the ids of that one: pairs among them do not count again.
    """

    context: Context
    at: datetime
    counted: frozenset[str] = frozenset()


class Reached(NamedTuple):
    """An entry that activation spread to, the activation in (0, 1), and the path from the origin."""

    id: str
    activation: float
    path: tuple[str, ...]


class Association(NamedTuple):
    """Two entries and the weight of the edge between them."""

    source: str
    target: str
    weight: float


class AssociationStore:
    """The edges between the entries of a store."""

    def __init__(self, storage: Storage, settings: AssociationTuning | None = None) -> None:
        self._storage = storage
        self._settings = settings or AssociationTuning()

    def activate(self, ids: str | Iterable[str], context: Context | None = None, *, strength: float = 1.0) -> Context:
        """Return ``context``, or a new one, with these ids active too. Strengths of the same id are added.

        Writes nothing. Raises ``InvalidInput`` for an empty id, and for a strength that is not above 0.
        """
        strengths = dict(context.strengths) if context else {}
        Context({"strength": strength})
        for id_ in dict.fromkeys(_ids(ids)):
            strengths[id_] = strengths.get(id_, 0.0) + strength
        return Context(strengths)

    def commit_contexts(self, scope: Scope, activations: Sequence[Activation]) -> int:
        """Link every two entries of each context, in order and in one transaction, and return the number of pairs.

        Only the strongest entries of a large context count, and of equal ones the first. Ids without an entry are
        skipped, because it may have been forgotten. An edge that has faded below the floor begins anew, pruned or not.
        If the clock went back, an edge grows without fading.
        """
        several = [one for one in activations if len(one.context.strengths) > 1]
        if not several:
            return 0
        with self._storage.transaction():
            known = self._storage.summaries(scope, {id_ for one in several for id_ in one.context.strengths})
            pairs = [(_edge(*pair), pair, one.at) for one in several for pair in self._pairs(one, known)]
            edges = {link.id: link for link in self._storage.links(scope, WhereLinks(ids={id_ for id_, *_ in pairs}))}
            for id_, pair, at in pairs:
                edges[id_] = self._grown(id_, pair, edges.get(id_), aware(at, "now"))
            self._storage.put_links(scope, edges.values())
        return len(pairs)

    def spread(
        self,
        scope: Scope,
        origins: str | Iterable[str],
        now: datetime,
        *,
        threshold: float | None = None,
        depth: int | None = None,
        limit: int | None = None,
    ) -> list[Reached]:
        """Return the entries that activation spreads to from ``origins``, the most activated first.

        An edge of weight w, faded to ``now``, passes w / (w + 1). A path passes the product, and the best path of at
        most ``depth`` hops counts. Activation stops below ``threshold``. Origins are left out. Archived entries are
        included: the caller filters them.
        """
        now, settings = aware(now, "now"), self._settings
        threshold = check_number(settings.threshold if threshold is None else threshold, "threshold", 0, 1)
        depth = check_int(settings.depth if depth is None else depth, "depth", 0, MAX_DEPTH)
        limit = check_int(settings.limit if limit is None else limit, "limit", 0)
        start = frozenset(_ids(origins))
        best: dict[str, Reached] = {}
        frontier = {id_: Reached(id_, 1.0, (id_,)) for id_ in start}
        with self._storage.snapshot():
            for _ in range(depth):
                # What lies behind a node's strongest edges, or behind a node that is not among the best itself, is
                # outdone by ``limit`` others: leaving it unread changes nothing, however many edges a hub has.
                steps = self._steps(scope, frontier, limit + len(start), now)
                reached = (self._passed(step, frontier[step.node], now) for step in steps if step.other not in start)
                better = _better((r for r in reached if r.activation >= threshold), best)
                best = {r.id: r for r in sorted((best | better).values(), key=_rank)[:limit]}
                frontier = {id_: best[id_] for id_ in better if id_ in best}
        return list(best.values())

    def edges(self, scope: Scope, id: str, now: datetime, *, limit: int | None = None) -> list[Association]:
        """List the edges of one entry, the heaviest first, with their weights at ``now``."""
        now, (id,) = aware(now, "now"), _ids(id)
        where = WhereLinks(kinds=[ASSOCIATION], ends=[id], lasting_at=now)
        most = None if limit is None else check_int(limit, "limit", 0)
        links = self._storage.links(scope, where, limit=most, strongest_first=True)
        ends = ((link, link.target if link.source == id else link.source) for link in links)
        return [Association(id, other, self._weight(link, now)) for link, other in ends]

    def strongest(self, scope: Scope, now: datetime, limit: int) -> list[Association]:
        """List the ``limit`` strongest edges with their weights at ``now``."""
        now = aware(now, "now")
        where = WhereLinks(kinds=[ASSOCIATION], lasting_at=now)
        links = self._storage.links(scope, where, limit=check_int(limit, "limit", 0), strongest_first=True)
        return [Association(link.source, link.target, self._weight(link, now)) for link in links]

    def prune(self, scope: Scope, now: datetime) -> int:
        """Remove the edges that have faded below the floor by ``now``, and return their number."""
        return self._storage.erase_links(scope, WhereLinks(kinds=[ASSOCIATION], expired_at=aware(now, "now")))

    def _pairs(self, activation: Activation, known: Container[str]) -> list[tuple[str, str]]:
        """Return the pairs to link, each in order, so that an edge has one id from either end."""
        strengths = activation.context.strengths
        active = [id_ for id_ in strengths if id_ in known]
        strongest = sorted(active, key=lambda id_: -strengths[id_])[: self._settings.context]
        return [pair for pair in combinations(sorted(strongest), 2) if not activation.counted.issuperset(pair)]

    def _grown(self, id: str, pair: tuple[str, str], edge: Link | None, now: datetime) -> Link:
        settings = self._settings
        weight, since, anchor = min(settings.new, settings.cap), now, now
        if edge and (edge.expires_at is None or edge.expires_at > now):
            weight = decay.coactivate(self._weight(edge, now), settings.step, settings.cap)
            since, anchor = edge.recorded_at, max(now, edge.anchored_at or now)
        expires_at = _later(anchor, decay.days_until(weight, settings.floor, settings.daily))
        return Link(id, ASSOCIATION, *pair, since, weight=weight, anchored_at=anchor, expires_at=expires_at)

    def _weight(self, edge: Link | Step, now: datetime) -> float:
        days = hours_between(edge.anchored_at or now, now) / 24
        return decay.edge_weight(edge.weight, days, self._settings.daily)

    def _steps(self, scope: Scope, nodes: Collection[str], each: int, now: datetime) -> list[Step]:
        return self._storage.frontier(scope, nodes, [ASSOCIATION], each=each, where=WhereLinks(lasting_at=now))

    def _passed(self, step: Step, origin: Reached, now: datetime) -> Reached:
        activation = origin.activation * decay.transmission(self._weight(step, now))
        return Reached(step.other, activation, (*origin.path, step.other))


def _edge(source: str, target: str) -> str:
    """Return the id of the edge between two entries."""
    return blake2b(json.dumps([ASSOCIATION, source, target]).encode(), digest_size=12).hexdigest()


def _better(reached: Iterable[Reached], best: Mapping[str, Reached]) -> dict[str, Reached]:
    """Return the best path to each entry, if it is better than the one in ``best``."""
    found: dict[str, Reached] = {}
    for one in reached:
        known = found.get(one.id) or best.get(one.id)
        if known is None or _rank(one) < _rank(known):
            found[one.id] = one
    return found


def _rank(reached: Reached) -> tuple[float, str, int, tuple[str, ...]]:
    """Return a sort key: by activation, then by id, then the shorter path."""
    return -reached.activation, reached.id, len(reached.path), reached.path


def _later(now: datetime, days: float) -> datetime | None:
    """Return the time that many days after ``now``, or ``None`` if it is beyond the calendar."""
    try:
        return now + timedelta(days=days)
    except OverflowError:
        return None


def _ids(ids: str | Iterable[str]) -> list[str]:
    found = [ids] if isinstance(ids, str) else list(ids)
    for id_ in found:
        if not isinstance(id_, str) or not id_:
            raise InvalidInput(f"an entry's id is a non-empty string, got {shown(id_)}")
    return found
