"""Scores of signals: one link from a node to each entry and type, heavier with each, lighter with time [tidalDB].

The node is a session lane, or the scope itself. Each signal is one read and one write, however many there were.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link
from tidal_plugins.model.session import SignalType
from tidal_plugins.scoring.decay import added, hours_until, weight
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.tuning import SignalTuning

SHARED = "signals"
"""The node of the scope itself."""

_KIND = "signal:"


def session_node(session: int) -> str:
    """Return the node that a session's signals start from. No entry has such an id."""
    return f"session:{session}"


class Score(NamedTuple):
    """The score of one type of signals for one entry."""

    type: str
    entry: str
    score: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores in one scope. Writing belongs inside a transaction."""

    storage: Storage
    scope: Scope
    settings: SignalTuning

    def add(self, node: str, type: str, entry: str, amount: float, at: datetime) -> float:
        """Add a signal and return the score, faded to the later of this signal and the last one."""
        kind, known = self.settings.types[type], self._link(node, type, entry)
        last = (known.anchored_at if known else None) or at
        score = added(known.weight if known else 0.0, hours_between(last, at), amount, kind.half_life)
        anchor = max(last, at)
        self.storage.put_links(self.scope, [self._weighing(node, type, entry, score, anchor)])
        return score

    def all(self, node: str, now: datetime) -> dict[str, dict[str, float]]:
        """Return the scores of a node by type and entry, faded to ``now``."""
        found: dict[str, dict[str, float]] = {}
        for link in self.storage.links(self.scope, WhereLinks(kinds=self._kinds, sources={node})):
            found.setdefault(_type(link), {})[link.target] = self._faded(link, now)
        return found

    def of(self, node: str, types: Collection[str], entries: Collection[str], now: datetime) -> list[Score]:
        """Return the scores of these types that a node's signals give these entries."""
        ids = [_id(node, type_, entry) for type_ in types for entry in entries]
        links = self.storage.links(self.scope, WhereLinks(ids=ids, lasting_at=now))
        return [Score(_type(link), link.target, self._faded(link, now)) for link in links]

    def strongest(self, node: str, type: str, now: datetime, limit: int) -> list[str]:
        """Return the ids of the entries with the highest scores."""
        where = WhereLinks(lasting_at=now)
        steps = self.storage.frontier(self.scope, [node], [_KIND + type], each=limit, where=where) if limit else []
        return [step.other for step in steps]

    @property
    def _kinds(self) -> Mapping[str, SignalType]:
        return {_KIND + type: kind for type, kind in self.settings.types.items()}

    def _link(self, node: str, type: str, entry: str) -> Link | None:
        return next(iter(self.storage.links(self.scope, WhereLinks(ids={_id(node, type, entry)}))), None)

    def _weighing(self, node: str, type: str, entry: str, score: float, anchor: datetime) -> Link:
        hours = hours_until(score, self.settings.faded, self.settings.types[type].half_life)
        return Link(
            id=_id(node, type, entry),
            kind=_KIND + type,
            source=node,
            target=entry,
            recorded_at=anchor,
            weight=score,
            anchored_at=anchor,
            expires_at=_later(anchor, hours),
        )

    def _faded(self, link: Link, now: datetime) -> float:
        hours = hours_between(link.anchored_at or link.recorded_at, now)
        return float(weight(link.weight, hours, self.settings.types[_type(link)].half_life))


def _id(node: str, type: str, entry: str) -> str:
    return f"{node}:{type}:{entry}"  # not a hash: a recall asks for a hundred of them


def _later(time: datetime, hours: float) -> datetime | None:
    """Return so much later, or ``None`` for a time beyond the calendar."""
    try:
        return time + timedelta(hours=hours)
    except OverflowError:
        return None


def _type(link: Link) -> str:
    return link.kind.removeprefix(_KIND)
