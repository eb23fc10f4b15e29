"""Tiers of a scope's entries: how many are in each, those that left recall, their return, and pins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.facts.versions import FACTS, fact_entry_id
from tidal_plugins.ingestion.derived import DERIVED
from tidal_plugins.ingestion.forget import forget
from tidal_plugins.ingestion.writer import DECAYING, Writer, fading, reinforced, unfading
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import CONVERSATION, EPISODE, FACT, GRAPH_CHANNEL, Entry, Scope, Tier
from tidal_plugins.model.reports import Retention
from tidal_plugins.scoring.decay import DecayTuning, UseTuning
from tidal_plugins.settings import RETAINED
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.storage.transactions import retry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.tables import Arrays

PERMANENT = "permanent"
"""Name of the entries that do not fade."""


def count_tiers(storage: Storage, scope: Scope, now: datetime) -> Mapping[str, int]:
    """Return how many entries are in each tier, episodes left out. Call it inside a snapshot."""
    arrays = storage.columns(scope).arrays
    said = ~_of_kind(arrays, EPISODE)
    time = to_micros(now)
    expired = said & (arrays.expires_at <= time)
    archived = said & ~expired & (arrays.archived_at <= time)
    fading = said & ~expired & ~archived & _fades(arrays)
    cold = fading & (arrays.cold_at <= time)
    found = {
        "warm": fading & ~cold,
        "cold": cold,
        "archived": archived,
        "expired": expired,
        PERMANENT: said & ~expired & ~archived & ~fading,
    }
    return {name: count for name, rows in found.items() if (count := int(rows.sum()))}


def count_days(storage: Storage, scope: Scope, now: datetime, days: int) -> dict[date, int]:
    """Return how many entries were stored on each of the last days in the zone of ``now``, episodes left out."""
    import numpy as np

    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
    starts = [first + timedelta(days=day) for day in range(days)]  # on the clock: a day may have 23 hours
    with storage.snapshot():
        arrays = storage.columns(scope).arrays
        stored = arrays.recorded_at[~_of_kind(arrays, EPISODE)]
    places = np.searchsorted([to_micros(start) for start in starts], stored, side="right") - 1
    counts = np.bincount(places[(places >= 0) & (stored <= to_micros(now))], minlength=days)
    return {start.date(): int(count) for start, count in zip(starts, counts, strict=True)}


def list_archived(storage: Storage, scope: Scope, now: datetime, limit: int, after: int) -> list[Entry]:
    """Return entries that are archived or have expired, those that left recall last first, without episodes."""
    import numpy as np

    time = to_micros(now)
    with storage.snapshot():
        columns = storage.columns(scope)
        arrays = columns.arrays
        left_at = np.minimum(arrays.archived_at, arrays.expires_at)
        rows = np.flatnonzero((left_at <= time) & ~_of_kind(arrays, EPISODE))
        newest = rows[np.argsort(-left_at[rows], kind="stable")][after : after + limit]
        ids = columns.ids(newest)
        found = storage.get(scope, ids)
    return [found[id_] for id_ in ids if id_ in found]


@retry
def restore(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> int:
    """Bring an entry back into recall, or an episode with all its entries, and return how many came back.

    What comes back is as warm as if it had just been used.
    """
    storage, settings = writer.storage, writer.settings
    with storage.transaction():
        tiers = dict[str, Tier]()
        for one in _with_parts(storage, scope, entry):
            if one.tier is None or one.tier.state(now) not in ("archived", "expired"):
                continue
            back = replace(one, tier=replace(one.tier, archived_at=None, expires_at=None))
            tiers[one.id] = reinforced(back, settings[UseTuning].used, now, settings, used=True) or one.tier
        set_tiers(storage, scope, tiers)
    return len(tiers)


@retry
def pin(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Let an entry fade no more, or an episode's entries, and bring them back into recall."""
    storage = writer.storage
    with storage.transaction():
        set_tiers(storage, scope, {one.id: unfading(now) for one in _with_parts(storage, scope, entry)})


@retry
def unpin(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Let an entry that was said fade from now on as any other, or an episode's entries. Other kinds never fade."""
    storage, settings = writer.storage, writer.settings
    with storage.transaction():
        tiers = {
            one.id: fading(one.affect, now, settings[DecayTuning], settings[AffectTuning].threshold)
            for one in _with_parts(storage, scope, entry)
            if one.kind == DECAYING and (one.tier is None or one.tier.cold_at is None)
        }
        set_tiers(storage, scope, tiers)


def _with_parts(storage: Storage, scope: Scope, entry: Entry) -> list[Entry]:
    """Return an entry as it is stored now; of an episode it and all its entries."""
    found = storage.get(scope, [entry.id])
    if entry.kind == EPISODE:
        found |= {one.id: one for one in storage.find(scope, Where(episodes={entry.id}, include_archived=True))}
    return list(found.values())


def _fades(arrays: Arrays) -> NDArray[np.bool_]:
    """Return which entries turn cold some day."""
    from tidal_plugins.storage.columns.tables import LATEST

    fades: NDArray[np.bool_] = arrays.cold_at < LATEST
    return fades


def _of_kind(arrays: Arrays, kind: str) -> NDArray[np.bool_]:
    """Return which entries are of a kind."""
    import numpy as np

    return np.isin(arrays.kind, arrays.names.known([kind]))


TOGETHER = 500
"""Turns and entries that are forgotten in one transaction: each rewrites the file once."""


@dataclass(frozen=True, slots=True)
class Retainer:
    """Enforces the rules of one scope."""

    writer: Writer
    scope: Scope

    def run(self, now: datetime, *, dry_run: bool) -> Retention:
        """Forget what no rule keeps any longer, and report it; with ``dry_run`` only report it."""
        if not any(self._days(kind) for kind in RETAINED):
            return Retention(now, dry_run)
        due = {entry.id: entry for kind in RETAINED for entry in self._due(kind, now)}
        kept = self._rested_on(due, now) if due else set()
        going = {id_: entry for id_, entry in due.items() if id_ not in kept}
        ids = list(going)
        if not dry_run:
            for start in range(0, len(ids), TOGETHER):
                forget(self.writer, self.scope, ids[start : start + TOGETHER], now)
        kinds = Counter(CONVERSATION if entry.kind == EPISODE else entry.kind for entry in going.values())
        return Retention(now, dry_run, dict(kinds), tuple(ids), tuple(id_ for id_ in due if id_ in kept))

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    def _days(self, kind: str) -> float | None:
        """Return for how many days a kind is kept here, by the longest rule that holds for it; ``None`` for good."""
        rules = self.writer.settings.retention
        found = [rule.days for rule in rules if kind in rule.kinds and rule.scope == self.scope[: len(rule.scope)]]
        return max(found, default=None)

    def _due(self, kind: str, now: datetime) -> Iterator[Entry]:
        """Yield the entries of a kind that are too old. A turn stands for its entries, and its age is that of its last
        message."""
        if (days := self._days(kind)) is None:
            return
        before = now - timedelta(days=days)
        kinds = {kind, EPISODE} if kind == CONVERSATION else {kind}
        where = Where(kinds=kinds, known_at=before, include_archived=True, not_channels={GRAPH_CHANNEL})
        for entry in self.storage.find(self.scope, where):
            if entry.kind == EPISODE or entry.episode is None:
                yield entry

    def _rested_on(self, due: dict[str, Entry], now: datetime) -> set[str]:
        """Return those of the entries that are due on which a fact rests that is kept longer."""
        rests = [*self._facts(), *self._derived_facts()]
        facts = self.storage.get(self.scope, {fact for fact, _ in rests})
        kept = {id_ for id_, fact in facts.items() if id_ not in due and fact.kind == FACT}
        sources = {source for fact, found in rests if fact in kept for source in found}
        said = self.storage.get(self.scope, sources)
        return {*sources, *(entry.episode for entry in said.values() if entry.episode)} & due.keys()

    def _derived_facts(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the entries of derived documents with the ids that these rest on."""
        for collection in self.storage.documents(self.scope, DERIVED):
            for document in self.storage.documents(self.scope, collection.key):
                if document.value and "entry" in document.value:
                    yield document.value["entry"], document.value["sources"]

    def _facts(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the entries of facts with those that a value, now or earlier, was taken from."""
        for document in self.storage.documents(self.scope, FACTS, versions=True):
            if document.value and document.value["entry"]:
                yield fact_entry_id(self.storage, self.scope, document.key), [document.value["entry"]]
