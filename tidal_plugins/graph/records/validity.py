"""The times of relations: each holds until a contradicting one begins [SIYA §3.3].

The times do not depend on the order in which texts are read. A text about last year changes last year and leaves today
as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from tidal_plugins.facts.claims import contradicts
from tidal_plugins.graph.records.entities import nodes, said_at
from tidal_plugins.graph.records.merging import Merged
from tidal_plugins.graph.records.relations import (
    DENIAL,
    EVER,
    LAST,
    STANDING,
    STATE,
    Triple,
    begin,
    chain,
    covers,
    evidence_of,
    move_evidence,
    new_row,
    revise,
    stated_end,
    triple,
    unused,
    with_confidence,
)
from tidal_plugins.model.clock import MICROSECOND, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.fact import Claim
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Storage, WhereLinks

GRADED = "is"
"""The functional predicate that allows several objects unless they exclude each other: a thing is many things."""


class Validity:
    """Computes the times of relations in one scope. Use it inside one transaction."""

    def __init__(
        self, storage: Storage, scope: Scope, functional: Collection[str], merged: Merged, now: datetime
    ) -> None:
        self._storage = storage
        self._scope = scope
        self._functional = functional
        self._merged = merged
        self._now = now

    def hold(
        self, said: Triple, begins: datetime, stated: datetime | None, observed_at: datetime, confidence: float = 0.0
    ) -> tuple[Link, set[str]]:
        """Let a triple be true from ``begins`` until ``stated``, or until something contradicts it.

        ``observed_at`` is when it was said, and ``confidence`` that of a new relation. Returns the relation that states
        it at that time, and the ids of the relations that are new or hold at other times now.
        """
        same = chain(self._storage, self._scope, said)
        rivals = self._rivals(said, begins)
        home = next((row for row in same if covers(row, begins)), None)
        if home is not None and (stated is None or stated_end(home) is not None):
            return home, set()
        if home is not None and stated is not None:
            return self._end(_stated(home, stated), home)
        later = _following(begins, same, rivals)
        if later is not None:
            home = self._revise(later, replace(later, valid_from=begins))
        else:
            home = self._open(said, begins, stated, [*same, *rivals], confidence)
        if not same and not rivals:
            return home, {home.id}
        home, changed = self._end(home, home)
        changed |= self._shorten(rivals, home, observed_at)
        [home] = self._storage.links(self._scope, WhereLinks(ids=[home.id]))
        return home, changed | {home.id}

    def refit(self, rows: Iterable[Link]) -> set[str]:
        """Compute the ends of relations again, after others came, went or were merged, and return the changed ids."""
        changed = set()
        for row in rows:
            changed |= self._end(row, row)[1]
        return changed

    def ended(self, row: Link) -> Link:
        """Return a relation with its computed end, as if it had never been believed to end elsewhere."""
        until = self._until(row)
        return replace(row, valid_until=until, expires_at=until)

    def states(self, subjects: Collection[str]) -> list[Link]:
        """Return the current relations of these entities with functional predicates."""
        where = WhereLinks(sources=subjects, kinds=[STATE], known_at=LAST)
        return self._storage.links(self._scope, where)

    def touching(self, ids: Collection[str]) -> list[Link]:
        """Return the relations whose times change when these entities are merged or parted.

        These are relations with functional predicates, denials, and the relations that are denied.
        """
        found = self._storage.links(self._scope, WhereLinks(ends=ids, kinds=[STATE, DENIAL], known_at=LAST))
        denials = [row for row in found if row.kind == DENIAL]
        found += self.states(self._merged.all_members(row.source for row in found if row.kind == STATE))
        for row in denials:
            subjects, objects = (ids if end in ids else self._merged.members(end) for end in (row.source, row.target))
            found += self._between(subjects, objects, triple(row).denied)
        return list({row.id: row for row in found}.values())

    def closed_by(self, gone: Link) -> list[Link]:
        """Return the relations that may have ended because ``gone`` began."""
        rivals = [*self.states(self._merged.members(gone.source)), *self._said(triple(gone).denied)]
        return [row for row in rivals if row.id != gone.id and row.valid_until == begin(gone)]

    def moved(self, before: Link, after: Link) -> list[Link]:
        """Return the relations that may end at another time now that ``before`` begins as late as ``after``."""
        rivals = self._rivals(triple(before), begin(before))
        return [*self.closed_by(before), *(row for row in rivals if begin(row) <= begin(after))]

    def _open(
        self, said: Triple, begins: datetime, stated: datetime | None, others: Collection[Link], confidence: float
    ) -> Link:
        opened = max([to_micros(self._now), *(1 + row.metadata["opened"] for row in others)])
        times = (begins, stated, self._now)
        id_ = unused(self._scope, said, others)
        row = new_row(id_, said, self._functional, *times, opened=opened, confidence=confidence)
        self._storage.put_links(self._scope, [row])
        return row

    def _end(self, row: Link, before: Link) -> tuple[Link, set[str]]:
        """Let ``row``, stored as ``before``, end where the first contradiction begins."""
        until = self._until(row)
        if row == before and until == row.valid_until:
            return row, set()
        return self._revise(before, replace(row, valid_until=until)), {row.id}

    def _until(self, row: Link) -> datetime | None:
        rivals = [*self._rivals(triple(row), begin(row)), *chain(self._storage, self._scope, triple(row))]
        end = min([begin(r) for r in rivals if _order(r) > _order(row)] + [stated_end(row) or LAST])
        return None if end == LAST else end

    def _shorten(self, rivals: Iterable[Link], home: Link, observed_at: datetime) -> set[str]:
        """End the rivals where ``home`` begins, and let them begin again where they were said again later."""
        end = begin(home)
        ended = [r for r in rivals if _order(r) < _order(home) and (r.valid_until is None or r.valid_until > end)]
        changed = {row.id for row in ended}
        for row in ended:
            self._revise(row, replace(row, valid_until=end))
        for row in ended:
            changed |= self._resume(row, max(end, observed_at))
        return changed

    def _resume(self, ended: Link, observed_at: datetime) -> set[str]:
        again = [piece for piece in evidence_of(self._storage, self._scope, ended.id) if said_at(piece) > observed_at]
        if not again:
            return set()
        first = min(map(said_at, again))
        row, changed = self.hold(triple(ended), first, stated_end(ended), first)
        move_evidence(self._storage, self._scope, again, row)
        rows = self._storage.links(self._scope, WhereLinks(ids=[row.id, ended.id]))
        self._storage.put_links(self._scope, with_confidence(self._storage, self._scope, rows))
        return changed

    def _rivals(self, said: Triple, since: datetime) -> list[Link]:
        """Return the relations that contradict a triple and hold at ``since`` or begin then or later."""
        denied = [row for row in self._said(said.denied) if row.valid_until is None or row.valid_until >= since]
        if said.negated or said.predicate not in self._functional:
            return denied
        where = WhereLinks(
            sources=self._merged.members(said.subject),
            kinds=[STATE],
            metadata={"predicate": said.predicate},
            known_at=LAST,
            lasting_at=since - MICROSECOND if since > EVER else EVER,
        )
        return [*denied, *self._excluding(said, self._storage.links(self._scope, where))]

    def _said(self, said: Triple) -> list[Link]:
        """Return the relations with this triple between all entities that are merged with its ends."""
        subjects, objects = self._merged.members(said.subject), self._merged.members(said.object)
        if len(subjects) == len(objects) == 1:
            return chain(self._storage, self._scope, said)
        return self._between(subjects, objects, said)

    def _between(self, subjects: Collection[str], objects: Collection[str], said: Triple) -> list[Link]:
        where = WhereLinks(
            sources=subjects,
            targets=objects,
            kinds=[DENIAL] if said.negated else STANDING,
            metadata={"predicate": said.predicate},
            known_at=LAST,
        )
        return self._storage.links(self._scope, where)

    def _excluding(self, said: Triple, rows: Iterable[Link]) -> list[Link]:
        one = self._merged.root(said.object)
        others = [row for row in rows if self._merged.root(row.target) != one]
        if not others:
            return []
        known = nodes(self._storage, self._scope, {said.object, *(row.target for row in others)})
        name = known[said.object].name
        verdicts = {
            target: contradicts(known[target].name, Claim("", name, "", explicit=said.predicate != GRADED))
            for target in {row.target for row in others}
        }
        return [row for row in others if verdicts[row.target]]

    def _revise(self, before: Link, after: Link) -> Link:
        return revise(self._storage, self._scope, before, after, self._now)


def _following(begins: datetime, same: Iterable[Link], rivals: Collection[Link]) -> Link | None:
    """Return the next relation with the same triple, unless a contradiction begins before it."""
    later = min((row for row in same if begin(row) > begins), key=begin, default=None)
    if later is None or any(begins <= begin(rival) <= begin(later) for rival in rivals):
        return None
    return later


def _stated(row: Link, end: datetime) -> Link:
    return replace(row, metadata={**row.metadata, "stated": to_micros(end)}) if begin(row) < end else row


def _order(row: Link) -> tuple[datetime, int]:
    return begin(row), row.metadata["opened"]
