"""The stored record of sessions: their owners, counts, annotations and decisions [tidalDB].

Each call is one transaction: what has returned is durable, and a process that dies leaves its sessions open and whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from tidal_plugins.errors import Conflict, InvalidInput, NotFound, PolicyViolation, SessionClosed
from tidal_plugins.model.clock import from_micros, hours_between, to_micros
from tidal_plugins.model.entry import EPISODE, Link, Scope, derive_id
from tidal_plugins.model.session import (
    Annotation,
    AuditEntry,
    Counts,
    Policy,
    SessionInfo,
    SessionSnapshot,
    SessionSummary,
    Signal,
    SignalTally,
    SignalType,
)
from tidal_plugins.scoring.decay import added, hours_until, weight
from tidal_plugins.scoring.windows import Buckets, counted, totals
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import META, STORE, Line, Storage, Where, WhereLinks
from tidal_plugins.storage.damage import intact, whole
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.tuning import Weights, tunable
from tidal_plugins.validation import MAX_ID, check_int, page_of

FADED = 0.001
"""Score below which a signal counts for nothing: it is worth 0.0002 then."""


@dataclass(frozen=True, kw_only=True)
class SignalTuning(Weights, group="signals"):
    """[tidalDB]."""

    annotations: int = tunable(100, ge=0)
    """The last annotations of a session that count."""
    audit: int = tunable(10_000, ge=0)
    """The last decisions that the audit of a session keeps."""
    hint: float = tunable(0.3, ge=0)
    """Gain in its session of an entry that has all keywords of an annotation, on a relevance of at most 1."""
    reward: float = tunable(0.2, ge=0)
    """Largest gain of an entry for rewards in its session."""
    shared: float = tunable(0.2, ge=0)
    """Largest change of an entry by signals outside a session."""


SESSIONS = "sessions"
COUNTERS = "session-counters"
THREADS = "session-threads"
LAST_ID = "last-session"

SLACK = 100
"""Lines that a log may have beyond its bound before it is cut, so that not every signal pays for the cut."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sessions of one scope, and the signals that belong to the scope itself."""

    storage: Storage
    scope: Scope
    settings: Settings
    missing: Callable[[str], NotFound]
    """Says why there is no such entry."""
    redact: Callable[[Any], Any]
    """Returns a JSON value as it may be stored."""

    # sessions

    @retry
    def open(self, info: SessionInfo, thread: str | None) -> SessionInfo:
        """Store a session under a new id, or return the one that is open already for the same thread and policy."""
        info = replace(info, metadata=self.redact(dict(info.metadata)))
        key = derive_id(self.scope, thread, info.user, info.agent, info.policy.model_dump_json(), info.policy_name)
        if thread and (standing := self._standing(key)):  # a recall that goes on in one must not wait for who writes
            return standing
        while True:
            last = read_document(self.storage, STORE, META, LAST_ID)  # before: nobody waits for who only reads it
            with suppress(Conflict), self.storage.transaction():  # another process took the id meanwhile
                if thread and (standing := self._standing(key)):
                    return standing
                opened = replace(info, id=int(last.value if last else 0) + 1)
                write_document(self.storage, STORE, META, LAST_ID, opened.id, expected=last.version if last else 0)
                self._write(opened)
                if thread:
                    write_document(self.storage, self.scope, THREADS, key, opened.id)
                return opened

    def _standing(self, key: str) -> SessionInfo | None:
        """Return the session that is open under a thread's key."""
        known = read_document(self.storage, self.scope, THREADS, key)
        info = self.info(known.value) if known else None
        return info if info and info.is_open else None

    @whole()
    def info(self, id: int) -> SessionInfo:
        """Return a session. Raises ``NotFound``, and ``InvalidInput`` for anything that is no id."""
        check_int(id, "a session's id", 0, MAX_ID)
        document = read_document(self.storage, self.scope, SESSIONS, str(id))
        if document is None:
            raise NotFound(f"no session {id} in scope {shown_scope(self.scope)}")
        counters = self._counters(session_node(id))
        return replace(_info(id, document.value), accepted=sum(counters.accepted.values()), rejected=counters.rejected)

    def all(self, *, newest_first: bool = False) -> Iterator[SessionInfo]:
        """Yield the sessions, the first opened first, or the last."""
        ids = [int(document.key) for document in self.storage.documents(self.scope, SESSIONS)]
        return iter(intact(sorted(ids, reverse=newest_first), self.info))

    @retry
    def close(self, id: int, now: datetime) -> SessionSummary:
        """Close a session, if it is open, and return its summary."""
        with self.storage.transaction():
            info = self.info(id)
            if info.is_open:
                info = replace(info, closed_at=max(now, info.opened_at))
                self._write(info)
            counters = self._counters(session_node(id))
        duration = (info.closed_at or now) - info.opened_at
        return SessionSummary(id, info.accepted, info.rejected, duration, dict(counters.accepted))

    def snapshot(self, id: int, now: datetime) -> SessionSnapshot:
        """Return what a session holds now, or held when it was closed."""
        with self.storage.snapshot():
            info, node = self.info(id), session_node(id)
            at = info.closed_at or now
            counts = self._counters(node).counts(at)
            return SessionSnapshot(info, at, self._scores.all(node, at), counts, tuple(self.annotations(id)))

    def annotations(self, id: int) -> list[Annotation]:
        """List the annotations of a session that count, in the order in which they were made."""
        if not self.settings[SignalTuning].annotations:
            return []
        lines = self.storage.read_log(
            self.scope, _notes(id), limit=self.settings[SignalTuning].annotations, newest_first=True
        )
        return [Annotation(line.key, line.value["type"], line.value["text"], line.at) for line in reversed(lines)]

    def audit(
        self, id: int, limit: int | None = None, after: int = 0, *, newest_first: bool = False
    ) -> list[AuditEntry]:
        """List the decisions of a session, the first first or the last first, as far as the audit goes back."""
        self.info(id)
        if not self.settings[SignalTuning].audit:
            return []
        most = (
            self.settings[SignalTuning].audit
            if limit is None or not newest_first
            else min(after + limit, self.settings[SignalTuning].audit)
        )
        lines = self.storage.read_log(self.scope, _audit(id), limit=most, newest_first=True)
        found = page_of(lines if newest_first else lines[::-1], limit, after)
        return [AuditEntry(at=line.at, **line.value) for line in found]

    # signals

    @retry
    def signal(self, session: int, signal: Signal, now: datetime) -> Signal:
        """Decide on a signal, audit the decision, and store an accepted signal, all in one transaction.

        Raises ``SessionClosed``, ``NotFound``, and the ``PolicyViolation`` that was audited.
        """
        signal = replace(signal, note=self.redact(signal.note))
        with self.storage.transaction():
            info = self._opened(session)
            self._check(signal.entry)
            refused = self._judged(info, signal, now)
            if not refused:
                signal = self._scored(session_node(session), signal)
                self._annotate(session, signal)
        if refused:
            raise refused  # only now: the refusal itself is to be stored
        return signal

    @retry
    def permit(self, session: int, action: str, subject: str, now: datetime) -> None:
        """Decide on an action beside signals, audit the decision and count the action, all in one transaction.

        Raises ``SessionClosed``, and the ``PolicyViolation`` that was audited.
        """
        with self.storage.transaction():
            refused = self._judged(self._opened(session), Signal(action, subject, 0.0, now, 0.0), now)
        if refused:
            raise refused

    def _opened(self, session: int) -> SessionInfo:
        info = self.info(session)
        if not info.is_open:
            raise SessionClosed(f"session {session} was closed: open a new one with memory.sessions.open(…)")
        return info

    def _judged(self, info: SessionInfo, signal: Signal, now: datetime) -> PolicyViolation | None:
        """Return why a session's policy refuses a signal, or ``None``; audit and count the decision."""
        refused = violation(info, signal.type, now)
        counters = self._counters(session_node(info.id))
        self._decided(info.id, signal, refused, now, sum(counters.accepted.values()) + counters.rejected)
        more = replace(counters, rejected=counters.rejected + 1)
        self._count(session_node(info.id), more if refused else counters.plus(signal.type, signal.at, now))
        return refused

    @retry
    def share(self, signal: Signal, now: datetime) -> Signal:
        """Store a signal of the scope itself, which no policy governs."""
        with self.storage.transaction():
            self._check(signal.entry)
            self._count(SHARED, self._counters(SHARED).plus(signal.type, signal.at, now))
            return self._scored(SHARED, signal)

    @property
    def shared_types(self) -> frozenset[str]:
        """Return the types of the settings of which there are signals of the scope itself."""
        return frozenset(self._counters(SHARED).accepted) & self.settings.signals.keys()

    def tally(self, now: datetime) -> SignalTally:
        """Return the signals of the scope itself."""
        with self.storage.snapshot():
            return SignalTally(now, self._scores.all(SHARED, now), self._counters(SHARED).counts(now))

    def _scored(self, node: str, signal: Signal) -> Signal:
        score = self._scores.add(node, signal.type, signal.entry, signal.weight, signal.at)
        return replace(signal, score=score)

    def _check(self, entry: str) -> None:
        if entry not in self.storage.summaries(self.scope, [entry]):
            raise self.missing(entry)
        if self.storage.summaries(self.scope, [entry], Where(kinds=[EPISODE])):
            raise InvalidInput(
                f"{entry} is an episode, and recall ranks its entries: signal memory.episodes.entry_ids({shown(entry)})"
            )

    def _decided(
        self, session: int, signal: Signal, refused: PolicyViolation | None, now: datetime, earlier: int
    ) -> None:
        reason = refused.reason if refused else None
        value = {"type": signal.type, "entry": signal.entry, "weight": signal.weight, "accepted": not refused}
        line = Line(str(session), now, {**value, "reason": reason})
        self.storage.append_log(self.scope, _audit(session), [line])
        if earlier >= self.settings[SignalTuning].audit and earlier % SLACK == 0:
            self.storage.trim_log(self.scope, _audit(session), keep=self.settings[SignalTuning].audit)

    def _annotate(self, session: int, signal: Signal) -> None:
        if signal.note is not None:
            line = Line(signal.entry, signal.at, {"type": signal.type, "text": signal.note})
            self.storage.append_log(self.scope, _notes(session), [line])
            self.storage.trim_log(self.scope, _notes(session), keep=self.settings[SignalTuning].annotations)

    def _counters(self, node: str) -> Counters:
        document = read_document(self.storage, self.scope, COUNTERS, node)
        return Counters(**document.value) if document else Counters()

    def _count(self, node: str, counters: Counters) -> None:
        value = {"accepted": counters.accepted, "rejected": counters.rejected, "windows": counters.windows}
        write_document(self.storage, self.scope, COUNTERS, node, value)

    def _write(self, info: SessionInfo) -> None:
        value = {
            "user": info.user,
            "agent": info.agent,
            "policy": info.policy.model_dump(mode="json"),
            "policy_name": info.policy_name,
            "metadata": dict(info.metadata),
            "opened_at": to_micros(info.opened_at),
            "closed_at": to_micros(info.closed_at) if info.closed_at else None,
        }
        write_document(self.storage, self.scope, SESSIONS, str(info.id), value)

    @property
    def _scores(self) -> Scores:
        return Scores(self.storage, self.scope, self.settings)


def _info(id: int, value: Mapping[str, Any]) -> SessionInfo:
    closed_at = value["closed_at"]
    times = {"opened_at": from_micros(value["opened_at"]), "closed_at": closed_at and from_micros(closed_at)}
    return SessionInfo(id, **{**value, **times, "policy": Policy.model_validate(value["policy"])})


_audit = partial(str.format, "audit:{}")
_notes = partial(str.format, "annotations:{}")


# Scores: one link from a node to each entry and type, heavier with each signal, lighter with time [tidalDB]. The node
# is a session lane, or the scope itself. Each signal is one read and one write, however many there were.


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
    settings: Settings

    def add(self, node: str, type: str, entry: str, amount: float, at: datetime) -> float:
        """Add a signal and return the score, faded to the later of this signal and the last one."""
        kind, known = self.settings.signals[type], self._link(node, type, entry)
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
        return {_KIND + type: kind for type, kind in self.settings.signals.items()}

    def _link(self, node: str, type: str, entry: str) -> Link | None:
        return next(iter(self.storage.links(self.scope, WhereLinks(ids={_id(node, type, entry)}))), None)

    def _weighing(self, node: str, type: str, entry: str, score: float, anchor: datetime) -> Link:
        hours = hours_until(score, FADED, self.settings.signals[type].half_life)
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
        return float(weight(link.weight, hours, self.settings.signals[_type(link)].half_life))


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


# Counters by type and by window of time, and the rules that a signal is held against, in this order: duration, count,
# deny, allow [tidalDB].


@dataclass(frozen=True, slots=True)
class Counters:
    """The signals counted for a session or the scope, by type."""

    accepted: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    windows: Mapping[str, Buckets] = field(default_factory=dict)

    def plus(self, type: str, at: datetime, now: datetime) -> Counters:
        buckets = counted(self.windows.get(type, {}), to_micros(at), to_micros(now))
        accepted = {**self.accepted, type: self.accepted.get(type, 0) + 1}
        return replace(self, accepted=accepted, windows={**self.windows, type: buckets})

    def counts(self, now: datetime) -> dict[str, Counts]:
        return {type: Counts(**totals(buckets, to_micros(now))) for type, buckets in self.windows.items()}


UNNAMED = "of the session"


def violation(info: SessionInfo, type: str, now: datetime) -> PolicyViolation | None:
    """Return why the policy of a session refuses a signal of this type now, or ``None``."""
    policy, name, most = info.policy, info.policy_name or UNNAMED, info.policy.max_duration
    refused = partial(PolicyViolation, signal=type, policy=name)
    if most is not None and (not most or now - info.opened_at > most):  # none at all, on a clock that stands, too
        return refused(f"the session may last {policy.max_duration}: open a new one", rule="max_duration")
    if info.remaining == 0:
        return refused(f"the session has its {policy.max_signals} signals already", rule="max_signals")
    if type in policy.deny:
        return refused(f"{type} is denied", rule="deny")
    if policy.allow and type not in policy.allow:
        return refused(f"only these are allowed: {', '.join(sorted(policy.allow))}", rule="allow")
    return None
