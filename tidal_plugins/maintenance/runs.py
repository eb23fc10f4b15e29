"""Runs of the consolidator as they are stored: to go on under the same id after a kill, to be listed and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.maintenance.recurring import Recurring
from tidal_plugins.model.clock import from_micros, hours_between, to_micros
from tidal_plugins.model.entry import Link, Scope, Tier, derive_id
from tidal_plugins.model.reports import Consolidation, MaintenanceRun
from tidal_plugins.storage.base import Line, Storage, WhereLinks
from tidal_plugins.storage.shorthands import read_document, set_tiers, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.storage.workers import begin_work, end_work, has_ended, worker_name

RUNS = "consolidation"
"""Collection with the last run's number, and log of what each run changed and how it was before, under its id."""

LEASE = 1.0
"""Hours after which a run of another process counts as cut off, whatever became of it."""

_LAST = "last"


class UnderWay(Exception):
    """Another run of the same scope is under way."""


class _State(NamedTuple):
    """The last run; while it is open, the worker whose it is, and since when."""

    number: int = 0
    open: bool = False
    owner: str = ""
    since: int = 0


@dataclass(slots=True)
class Run:
    """A run that begins before its first change, or goes on with one whose process has ended."""

    storage: Storage
    scope: Scope
    now: datetime
    keep: int
    owner: str = field(default_factory=lambda: worker_name(uuid4().hex))
    number: int | None = None
    _changed: bool = False
    """Whether the run has noted a change, or goes on with one that may have."""

    @retry
    def resume(self) -> None:
        """Go on with a run that was cut off. Raises ``UnderWay`` where one is not."""
        begin_work(self.owner)
        if not self._state().open:
            return
        with self.storage.transaction():
            state = self._state()
            if state.open and has_ended(state.owner):
                self._take(state)
                self._changed = True
            elif state.open and _is_leased(state, self.now):
                raise UnderWay

    def begin(self) -> None:
        """Begin before work that takes long, so that no other run does the same meanwhile.

        Raises ``UnderWay`` where another run has begun meanwhile, or has taken this one over.
        """
        with self.storage.transaction():
            self._hold()

    def note(self, before: Mapping[str, Any]) -> None:
        """Write down how it was before a change. Call it inside the transaction that makes the change.

        Raises ``UnderWay`` where another run has begun meanwhile, or has taken this one over.
        """
        number = self._hold()
        if not self._changed:
            self.storage.trim_log(self.scope, RUNS, keys=[run_id(self.scope, number - self.keep)])
            self._changed = True
        self.storage.append_log(self.scope, RUNS, [Line(str(self.id), self.now, before)])

    @retry
    def close(self) -> str | None:
        """End the run, and return its id if it has changed anything."""
        if self.number is not None:
            with self.storage.transaction():
                state = self._state()
                if state.open and state.owner == self.owner:
                    self._write(_State(state.number if self._changed else state.number - 1))
        return self.id

    def leave(self) -> None:
        """Say that nothing is under way here any more, closed or not."""
        end_work(self.owner)

    @property
    def id(self) -> str | None:
        """Return the id of this run, once it has changed anything."""
        return run_id(self.scope, self.number) if self.number is not None and self._changed else None

    def _hold(self) -> int:
        """Begin the run, or make sure that it is still this one, and return its number."""
        state = self._state()
        if self.number is None:
            return self._take(state)
        if (state.number, state.open, state.owner) != (self.number, True, self.owner):
            raise UnderWay
        return self.number

    def _take(self, state: _State) -> int:
        gone = state.open and has_ended(state.owner)
        if state.open and not gone and _is_leased(state, self.now):
            raise UnderWay
        self.number = state.number if gone else state.number + 1
        self._write(_State(self.number, True, self.owner, to_micros(self.now)))
        return self.number

    def _state(self) -> _State:
        document = read_document(self.storage, self.scope, RUNS, _LAST)
        return _State(*document.value) if document else _State()

    def _write(self, state: _State) -> None:
        write_document(self.storage, self.scope, RUNS, _LAST, state)


def run_id(scope: Scope, number: int) -> str:
    return derive_id(scope, RUNS, number)


def _is_leased(state: _State, now: datetime) -> bool:
    """Return whether an open run may go on. A clock that jumped must not let it go on for ever."""
    return abs(hours_between(from_micros(state.since), now)) < LEASE


DONE = "maintenance"
"""Log of the runs that did anything."""

KEPT = 1_000
"""Runs of a scope that are kept."""

_KEY = "run"


@retry
def note_run(storage: Storage, scope: Scope, report: Consolidation) -> None:
    """Note a run, unless it did nothing."""
    done = MaintenanceRun(
        at=report.at,
        run=report.run,
        forgotten=len(report.retention.ids) if report.retention else 0,
        learned=report.learned,
        settled=report.settled,
        pruned=report.pruned,
        facts=len(report.facts),
        seeds=len(report.seeds),
        errors=tuple(": ".join(error.split(": ")[:2]) for error in report.errors),  # a message may quote a memory
    )
    if not done:
        return
    value = asdict(done)
    del value["at"]
    with storage.transaction():
        storage.append_log(scope, DONE, [Line(_KEY, report.at, value)])
        storage.trim_log(scope, DONE, keep=KEPT)


def noted_runs(storage: Storage, scope: Scope, limit: int) -> list[MaintenanceRun]:
    """Return the last runs of a scope that did anything, the newest first."""
    lines = storage.read_log(scope, DONE, limit=limit, newest_first=True)
    return [MaintenanceRun(at=line.at, **{**line.value, "errors": tuple(line.value["errors"])}) for line in lines]


SETTLED, PRUNED, COMPRESSED = "settled", "pruned", "fact"
"""Keys of a line of the log: tiers by id, edges, the id of a fact."""


def settled(tier: Tier, cold: float) -> Tier:
    """Return the tier of an entry that has turned cold.

    It is anchored at that moment with weight 1 and the half-life ``cold``, in hours. The time of its archiving does not
    change [Tidal §2.4].
    """
    return replace(tier, weight=1.0, anchored_at=tier.cold_at or tier.anchored_at, half_life=cold)


def tier_value(tier: Tier) -> list[float]:
    """Return the values of a tier that settling changes, by which it is recognised afterwards."""
    return [tier.weight, to_micros(tier.anchored_at), tier.half_life, to_micros(tier.cold_at or tier.anchored_at)]


def edge_value(edge: Link) -> list[Any]:
    times = [to_micros(time) if time else None for time in (edge.recorded_at, edge.anchored_at, edge.expires_at)]
    return [edge.id, edge.source, edge.target, edge.weight, *times]


def restore(storage: Storage, scope: Scope, line: Mapping[str, Any], recurring: Recurring, now: datetime) -> int:
    """Put back what a line tells of, and return how much that was. Call it inside a transaction; once more changes
    nothing."""
    if PRUNED in line:
        return _restore_edges(storage, scope, [_edge(*value) for value in line[PRUNED]])
    if SETTLED in line:
        return _restore_tiers(storage, scope, line[SETTLED])
    return recurring.unmake(line[COMPRESSED], now)


def _restore_tiers(storage: Storage, scope: Scope, before: Mapping[str, Sequence[Any]]) -> int:
    """Restore the tiers of entries that are as settling left them.

    An entry that was used since is warm, and stays so.
    """
    found = storage.summaries(scope, before.keys())
    tiers = {}
    for id_, (weight, anchored_at, half_life, cold_at) in before.items():
        tier = found[id_].tier if id_ in found else None
        if tier and tier.cold_at and tier.anchored_at == tier.cold_at == from_micros(cold_at):
            tiers[id_] = replace(tier, weight=weight, anchored_at=from_micros(anchored_at), half_life=half_life)
    set_tiers(storage, scope, tiers)
    return len(tiers)


def _restore_edges(storage: Storage, scope: Scope, edges: Sequence[Link]) -> int:
    """Restore the edges between entries that are still there and have not come up together since."""
    known = storage.summaries(scope, {end for edge in edges for end in (edge.source, edge.target)})
    anew = {edge.id for edge in storage.links(scope, WhereLinks(ids=[edge.id for edge in edges]))}
    gone = [edge for edge in edges if edge.id not in anew and {edge.source, edge.target} <= known.keys()]
    storage.put_links(scope, gone)
    return len(gone)


def _edge(
    id: str, source: str, target: str, weight: float, recorded: int, anchored: int | None, expires: int | None
) -> Link:
    return Link(
        id,
        ASSOCIATION,
        source,
        target,
        from_micros(recorded),
        weight=weight,
        anchored_at=None if anchored is None else from_micros(anchored),
        expires_at=None if expires is None else from_micros(expires),
    )
