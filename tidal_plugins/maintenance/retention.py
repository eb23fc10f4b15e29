"""Retention: what has been kept for as long as the settings say goes, in the one way of ``forget`` [Tidal §2.2]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidal_plugins.facts.versions import FACTS, fact_entry_id
from tidal_plugins.ingestion.derived import DERIVED
from tidal_plugins.ingestion.forget import forget
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import CONVERSATION, EPISODE, FACT, GRAPH_CHANNEL, Entry, Scope
from tidal_plugins.model.retention import Retention
from tidal_plugins.settings import RETAINED
from tidal_plugins.storage.base import Storage, Where

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
