"""Compression of recurring entries: those that several turns of a day use become a fact that cites them.

[Tidal §2.4]. Each entry becomes a fact once; what it says goes when an entry that it was made from is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from tidal_plugins.dossiers.drafting import Draft, Drafter, InPlace
from tidal_plugins.dossiers.scorer import worth
from tidal_plugins.dossiers.sentences import Reader, Sentence
from tidal_plugins.dossiers.sources import DossierTuning
from tidal_plugins.english.tags import tags
from tidal_plugins.ingestion.derived import purge, write_derived
from tidal_plugins.ingestion.uses import USES
from tidal_plugins.ingestion.writer import DECAYING, Writer
from tidal_plugins.language.importance import importance
from tidal_plugins.model.dossier import Dossier
from tidal_plugins.model.entry import FACT, SYNTHESIS, Entry, Scope
from tidal_plugins.protocols import Summariser
from tidal_plugins.retrieval.pipeline import without_secrets
from tidal_plugins.scoring.decay import recurrence
from tidal_plugins.storage.base import Line, Record, Storage, Where
from tidal_plugins.tuning import Weights, tunable

FACT_TOKENS = 200
"""Tokens that such a fact may have, about 6 characters each."""


@dataclass(frozen=True, kw_only=True)
class ConsolidationTuning(Weights, group="consolidation"):
    """Maintenance runs."""

    runs: int = tunable(30, gt=0)
    """The last runs that can be undone."""
    batch: int = tunable(200, gt=0)
    """Tiers, edges or uses that one transaction deals with."""
    turns: int = tunable(3, ge=1)
    """Distinct turns that use an entry within ``hours`` before it becomes a fact [Tidal §2.4]."""
    hours: float = tunable(24.0, gt=0)


RECURRING = "recurring"
"""Collection of derived documents: by entry, the fact that covers it."""


@dataclass(frozen=True, slots=True)
class Made:
    """A fact of a cluster of entries, or ``None`` where they say nothing that could be one."""

    covers: tuple[str, ...]
    record: Record | None = None

    @property
    def id(self) -> str | None:
        return self.record.entry.id if self.record else None


@dataclass(frozen=True, slots=True)
class Recurring:
    """Makes facts of the memories that recur in one scope.

    Without a summariser, a fact quotes the statement of each entry that matters most.
    """

    writer: Writer
    scope: Scope
    summariser: Summariser | None = None

    def due(self, lines: Sequence[Line], now: datetime) -> list[Entry]:
        """Return entries that the same turns used again and again, of those that ``lines`` are uses of.

        No fact covers them yet. Nothing is returned when none is left.
        """
        keys = dict.fromkeys(line.key for line in lines)
        for id_ in self._covered(keys):
            del keys[id_]
        since = min(line.at for line in lines) - timedelta(hours=self.settings.hours)
        history = self.storage.read_log(self.scope, USES, keys=keys, since=since) if keys else []
        turns = {key: self._turns(line for line in history if line.key == key) for key in keys}
        entries = self._entries([key for key in turns if turns[key]], now)
        first = next((key for key in turns if key in entries), None)
        return [entries[key] for key in entries if first and len(turns[key] & turns[first]) >= self.settings.turns]

    def make(self, entries: Sequence[Entry], now: datetime) -> Made:
        """Compress a cluster. It takes no lock, and may take its time."""
        reader = Reader(self.storage, self.scope)
        limits = replace(self.writer.settings[DossierTuning], max_tokens=FACT_TOKENS)
        drafter = Drafter(self.summariser, limits, self.writer.settings.models.timeout)
        draft = drafter.draft(list(_statements(reader, list(map(without_secrets, entries)))), InPlace(Dossier(""), {}))
        if not draft.findings:
            return Made(tuple(entry.id for entry in entries))
        cited = {id_ for finding in draft.findings for id_ in finding.sources}
        made_from = [entry for entry in entries if entry.id in (draft.fed or cited)]
        turns = {entry.episode for entry in made_from if entry.episode}
        covers = [entry for entry in entries if entry in made_from or entry.episode in turns]
        return Made(tuple(entry.id for entry in covers), self._record(draft, made_from, now))

    def write(self, made: Made) -> bool:
        """Store a fact; ``False`` where one of its entries is gone or covered meanwhile. Call it inside a
        transaction."""
        if self._covered(made.covers) or len(self.storage.summaries(self.scope, made.covers)) < len(made.covers):
            return False
        if made.record and not self._forgotten(made.record.entry):
            self.writer.put(self.scope, [made.record])
        sources = [*made.covers, *([made.id] if made.id else [])]
        for id_ in made.covers:
            write_derived(self.storage, self.scope, RECURRING, id_, {}, sources=sources, entry=made.id)
        return True

    def thin(self, now: datetime) -> None:
        """Remove the uses that are too old to count with new ones; the last of each entry stays, as it says that the
        entry was used."""
        for newest in self.storage.read_log(self.scope, USES, limit=1, newest_first=True):
            before = min(newest.at, now) - timedelta(hours=2 * self.settings.hours)
            self.storage.trim_log(self.scope, USES, before=before)

    def unmake(self, fact: str, now: datetime) -> int:
        """Remove a fact with everything made of it, and return whether it was there.

        The fact is not made again. Call it inside a transaction.
        """
        for document in self.storage.documents(self.scope, RECURRING):
            if document.value and document.value.get("entry") == fact:
                sources = [id_ for id_ in document.value["sources"] if id_ != fact]
                write_derived(self.storage, self.scope, RECURRING, document.key, {}, sources=sources)
        erased = self.storage.erase(self.scope, [fact])
        purge(self.storage, self.scope, [fact], now)
        return erased

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    @property
    def settings(self) -> ConsolidationTuning:
        return self.writer.settings[ConsolidationTuning]

    def _covered(self, ids: Collection[str]) -> set[str]:
        return {document.key for document in self.storage.documents(self.scope, RECURRING, ids) if document.value}

    def _turns(self, uses: Iterable[Line]) -> frozenset[str]:
        told = ((line.at, str(line.value["episode"])) for line in uses)
        return recurrence(told, turns=self.settings.turns, hours=self.settings.hours)

    def _entries(self, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """Return the entries that decay and are valid. An entry that does not decay is knowledge already."""
        where = Where(ids=ids, kinds=[DECAYING], active_at=now, include_archived=True)
        return {entry.id: entry for entry in self.storage.find(self.scope, where)}

    def _record(self, draft: Draft, entries: Sequence[Entry], now: datetime) -> Record:
        """Return a fact's record. A fact is found by its own words; its citations are not indexed."""
        said = "\n".join(finding.text for finding in draft.findings)
        citations = dict.fromkeys(citation for finding in draft.findings for citation in finding.citations)
        ids = [entry.id for entry in entries]
        entry = Entry(
            id=self.writer.id_of(self.scope, RECURRING, sorted(ids)),
            kind=FACT,
            text=said,
            scope=self.scope,
            occurred_at=max(entry.occurred_at for entry in entries),
            recorded_at=now,
            channel=SYNTHESIS,
            trust=min(entry.trust for entry in entries),
            importance=max(importance(said), *(entry.importance for entry in entries)),
            tags=tags(said),
            metadata={"sources": ids},
        )
        [record] = self.writer.records([entry])
        return replace(record, entry=replace(entry, text=" ".join([said, *(f"[{item}]" for item in citations)])))

    def _forgotten(self, fact: Entry) -> bool:
        return bool(self.writer.tombstoned(self.scope, [fact.id]) or self.writer.forgotten(self.scope, [fact.text]))


def _statements(reader: Reader, entries: Sequence[Entry]) -> Iterator[Sentence]:
    """Yield what matters most of what each entry states. Acknowledgements and what is said twice state nothing."""
    for _, said in groupby(reader.stated(entries), lambda one: one.entry.id):
        yield max(said, key=worth)
