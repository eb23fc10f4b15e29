"""Relations as they are stored: a link for each time that one held, its earlier versions, and links to the evidence.

The link of a relation keeps its id and always holds what is believed now. An earlier version is a copy with an id of
its own, whose ``superseded_at`` says until when it was believed. A link expires when it is no longer true or believed,
so that the index returns current relations first.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

from tidal_plugins.facts.claims import contradicts
from tidal_plugins.graph.records.entities import Place, newest, nodes, said_at
from tidal_plugins.graph.records.merging import Merged
from tidal_plugins.model.clock import MICROSECOND, from_micros, to_micros
from tidal_plugins.model.entry import Link, Scope, derive_id
from tidal_plugins.model.fact import Claim
from tidal_plugins.scoring.decay import combined
from tidal_plugins.storage.base import Storage, WhereLinks

MAX_ASSERTIONS = 500
"""Assertions that are kept of one message."""


RELATION, STATE, DENIAL = "relation", "state", "denial"
"""Kinds of links between entities: relations that may coexist, relations of functional predicates, and denials."""

VACANT = "vacant"
"""Kind of the link that keeps the number of a forgotten relation while later ones have the same triple."""

STANDING = (RELATION, STATE)
KINDS = (RELATION, STATE, DENIAL)

EVIDENCE = "evidence"
"""Kind of the link from a relation to an episode that states it. Its weight is the confidence."""

COUNTED = 64
"""Pieces of evidence, the most confident ones, that make up a confidence. More would not change it visibly."""

EVER = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
"""Before and after all times."""

Times = tuple[datetime | None, datetime | None]
"""The times from which and until which something is true, as far as a text states them."""

FIRST_LOOK = 1
"""Numbers that are looked up first: most relations hold only once."""


class Triple(NamedTuple):
    """A statement without its time. Subject and object are ids of entities."""

    subject: str
    predicate: str
    object: str
    negated: bool

    @property
    def denied(self) -> Triple:
        return self._replace(negated=not self.negated)


def triple(row: Link) -> Triple:
    return Triple(row.source, predicate(row), row.target, row.kind == DENIAL)


def predicate(row: Link) -> str:
    return str(row.metadata["predicate"])


def relation_id(row: Link) -> str:
    """Return the id of the relation that a link belongs to, which may be an earlier version of it."""
    return str(row.metadata.get("of", row.id))


def begin(row: Link) -> datetime:
    return row.valid_from or EVER


def covers(row: Link, time: datetime) -> bool:
    return begin(row) <= time and (row.valid_until is None or time < row.valid_until)


def stated_end(row: Link) -> datetime | None:
    """Return until when a relation is true as far as texts state it, without regard to contradictions."""
    stated = row.metadata["stated"]
    return None if stated is None else from_micros(stated)


def chain(storage: Storage, scope: Scope, said: Triple) -> list[Link]:
    """Return the relations with this triple, one for each time that it held, in the order of their numbers.

    Ids are derived from the number, so that the other relations of a busy entity need not be read.
    """
    found: list[Link] = []
    start, size = 0, FIRST_LOOK
    while True:
        ids = [numbered(scope, said, number) for number in range(start, start + size)]
        rows = {row.id: row for row in storage.links(scope, WhereLinks(ids=ids))}
        found += [rows[id_] for id_ in ids if id_ in rows and rows[id_].kind != VACANT]
        if ids[-1] not in rows:
            return found
        start, size = start + size, 2 * size


def known_among(storage: Storage, scope: Scope, said: Collection[Triple]) -> set[Triple]:
    """Return those of the triples that were ever stored, even if they were forgotten since."""
    ids = {numbered(scope, one, 0): one for one in said}
    return {ids[row.id] for row in storage.links(scope, WhereLinks(ids=ids))}


def numbered(scope: Scope, said: Triple, number: int) -> str:
    return derive_id(scope, RELATION, *said, number)


def unused(scope: Scope, said: Triple, rows: Iterable[Link]) -> str:
    """Return the id for another relation with this triple beside ``rows``."""
    taken = {row.id for row in rows}
    return next(id_ for number in count() if (id_ := numbered(scope, said, number)) not in taken)


def remove(storage: Storage, scope: Scope, row: Link) -> None:
    """Remove a relation with its earlier versions."""
    last = chain(storage, scope, triple(row))[-1]
    storage.erase_links(scope, WhereLinks(ids=[row.id, *(version.id for version in earlier(storage, scope, row))]))
    if last.id != row.id:
        storage.put_links(scope, [Link(row.id, VACANT, row.id, row.id, row.recorded_at)])


def new_row(
    id_: str,
    said: Triple,
    functional: Collection[str],
    begins: datetime | None,
    stated: datetime | None,
    now: datetime,
    *,
    opened: int,
    confidence: float = 0.0,
) -> Link:
    """Return a relation without evidence. Of two that begin at one time, the later has the higher ``opened``."""
    kind = DENIAL if said.negated else STATE if said.predicate in functional else RELATION
    end = None if stated is None else to_micros(stated)
    return Link(
        id=id_,
        kind=kind,
        source=said.subject,
        target=said.object,
        recorded_at=now,
        weight=confidence,
        anchored_at=now,
        expires_at=stated,
        valid_from=begins,
        valid_until=stated,
        metadata={"predicate": said.predicate, "stated": end, "opened": opened},
    )


def revise(storage: Storage, scope: Scope, before: Link, after: Link, now: datetime) -> Link:
    """Store what is believed of a relation from now on, keep what was believed before, and return the former."""
    moment = max(now, before.recorded_at)  # the clock may have gone back
    if before.recorded_at < moment:
        id_ = derive_id(scope, "version", before.id, to_micros(before.recorded_at))
        old = replace(before, id=id_, superseded_at=moment, metadata={**before.metadata, "of": before.id})
        storage.put_links(scope, [replace(old, expires_at=moment)])
    after = replace(after, recorded_at=moment, expires_at=after.valid_until)
    storage.put_links(scope, [after])
    return after


def earlier(storage: Storage, scope: Scope, row: Link) -> list[Link]:
    """Return the earlier versions of a relation."""
    where = WhereLinks(sources=[row.source], targets=[row.target], kinds=[row.kind], metadata={"of": row.id})
    return storage.links(scope, where)


# evidence


def add_evidence(storage: Storage, scope: Scope, evidence: Link) -> bool:
    """Store a piece of evidence, and return whether it is new."""
    known = bool(storage.links(scope, WhereLinks(ids=[evidence.id])))
    storage.put_links(scope, [evidence])
    return not known


def piece(
    scope: Scope,
    row: Link,
    place: Place,
    span: tuple[int, int],
    confidence: float,
    now: datetime,
    times: Times,
) -> Link:
    """Return a piece of evidence that is not stored yet. ``times`` are those that the text itself states."""
    start, end = span
    stated = {name: to_micros(time) for name, time in zip(("begins", "ends"), times, strict=True) if time}
    link = Link(
        id="",
        kind=EVIDENCE,
        source=row.id,
        target=place.episode,
        recorded_at=now,
        weight=confidence,
        valid_from=place.at,
        metadata=place.metadata() | {"start": start, "end": end} | stated,
    )
    return replace(link, id=_evidence_id(scope, row.id, link))


def evidence_of(storage: Storage, scope: Scope, id_: str) -> list[Link]:
    """Return every piece of evidence of a relation."""
    return storage.links(scope, WhereLinks(sources=[id_], kinds=[EVIDENCE]))


def supported_by(row: Link, evidence: Collection[Link]) -> Link:
    """Return a relation as only these pieces of evidence support it.

    It begins no earlier than they say, and ends when one of them says so.
    """
    begins = max(begin(row), min(map(_begins, evidence)))
    ends = [end for piece in evidence if (end := piece.metadata.get("ends")) and from_micros(end) > begins]
    stated = row.metadata["stated"] if row.metadata["stated"] in ends else min(ends, default=None)
    if (begins, stated) == (begin(row), row.metadata["stated"]):
        return row
    was, until = stated_end(row), row.valid_until
    if until is not None and until == was:
        until = None if stated is None else from_micros(stated)
    from_ = row.valid_from if begins == begin(row) else begins
    metadata = {**row.metadata, "stated": stated}
    return replace(row, valid_from=from_, valid_until=until, metadata=metadata)


def _begins(evidence: Link) -> datetime:
    """Return from when on evidence says that something is true. Loaded evidence without a time has no beginning."""
    stated = evidence.metadata.get("begins")
    if stated is None:
        return EVER if "source" in evidence.metadata else said_at(evidence)
    return from_micros(stated)


def move_evidence(storage: Storage, scope: Scope, pieces: Collection[Link], row: Link) -> None:
    """Move evidence to another relation, which has the same triple at another time."""
    storage.erase_links(scope, WhereLinks(ids=[piece.id for piece in pieces]))
    storage.put_links(scope, [replace(p, id=_evidence_id(scope, row.id, p), source=row.id) for p in pieces])


def with_confidence(storage: Storage, scope: Scope, rows: Sequence[Link]) -> list[Link]:
    """Return relations with the confidence that their evidence gives them."""
    pieces: dict[str, list[tuple[Hashable, float]]] = {row.id: [] for row in rows}
    for link in newest(storage, scope, pieces, EVIDENCE, COUNTED):
        pieces[link.source].append((_origin(link), link.weight))
    return [replace(row, weight=combined(pieces[row.id])) for row in rows]


def _evidence_id(scope: Scope, relation: str, piece: Link) -> str:
    said = piece.metadata
    by = [said["reader"]] if "reader" in said else []  # the same words, read by two, are two pieces of evidence
    return derive_id(scope, EVIDENCE, relation, piece.target, said["position"], said["start"], said["end"], *by)


def _origin(evidence: Link) -> Hashable:
    """Return the source of evidence: repetitions by one speaker in one episode, or by one other graph, count once."""
    source = evidence.metadata.get("source")
    return source or (evidence.target, evidence.metadata["speaker"])


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
