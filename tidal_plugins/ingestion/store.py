"""Storing: plans and the jobs that follow them, in one transaction.

The writes of a batch are held (:class:`Batch`) and stored together at its end, so that a batch of turns costs few
statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from tidal_plugins.affect.state import COLLECTION, KEY, AffectLoop
from tidal_plugins.facts.versions import flag_claims
from tidal_plugins.ingestion.appraise import Impressions, appraised
from tidal_plugins.ingestion.episodes import SHOWS, TURNS, cited_by
from tidal_plugins.ingestion.follow import follow
from tidal_plugins.ingestion.gate import ADMISSIONS, GateTuning, counted, decided
from tidal_plugins.ingestion.plan import Plan, Prepared, Stored
from tidal_plugins.ingestion.uses import strengthen
from tidal_plugins.ingestion.writer import FIRST, Writer, first_link, reinforced, repeat_link
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.model.entry import Entry, Link, Scope, Tier, derive_id
from tidal_plugins.model.exchange import Episode
from tidal_plugins.scoring.decay import UseTuning
from tidal_plugins.storage.base import Record, WhereLinks


def store(
    writer: Writer,
    affect: AffectLoop | None,
    scope: Scope,
    plans: Sequence[Plan],
    ready: Prepared,
    felt: Impressions,
    now: datetime,
) -> list[Stored]:
    """Store plans and the jobs that follow them, and return what became of each. Call it inside a transaction."""
    batch = Batch(writer, scope, now)
    batch.load_documents(TURNS, [key for plan in plans if (key := _counter(scope, plan)) is not None])
    batch.load_links({FIRST: dict.fromkeys(ready.marks.values())})
    firsts = [link.target for mark in dict.fromkeys(ready.marks.values()) for link in batch.links(FIRST, mark)]
    batch.entries(firsts)
    stored = [_store(batch, affect, plan, ready, felt) for plan in plans]
    batch.store()
    follow(writer, scope, stored, felt.turns, now)
    return stored


def _store(batch: Batch, affect: AffectLoop | None, plan: Plan, ready: Prepared, felt: Impressions) -> Stored:
    writer, scope, now, settings = batch.writer, batch.scope, batch.now, batch.writer.settings
    entries, episode, intensity = list(plan.entries), plan.episode, 0.0
    if episode:
        episode = _numbered(batch, plan, episode)
    if episode and affect and episode.id in felt.turns:
        before = batch.document(COLLECTION, KEY)
        entries, intensity, after = appraised(affect, plan, felt, before, settings, now)
        if after is not None:
            batch.set_document(COLLECTION, KEY, after)
    if settings.recording.gate:
        entries = [
            decided(entry, intensity, ready.nearest.get(entry.id), now, settings[GateTuning]) for entry in entries
        ]
    if episode:
        row = ready.records[episode.id]
        row = replace(row, entry=replace(row.entry, position=episode.turn))
        batch.replace(row) if plan.known else batch.add(row)
    repeated = _put_entries(batch, entries, ready)
    if new := [entry.admission for entry in entries if entry.admission and entry.id not in repeated]:
        batch.set_document(ADMISSIONS, ADMISSIONS, counted(batch.document(ADMISSIONS, ADMISSIONS), new))
    shown = {}
    if episode and episode.surfaced:
        batch.store()  # what was shown may be of a turn of this batch
        shown = strengthen(writer, scope, episode, plan.known, now)
    if ready.claims:
        own = {entry.id for entry in entries}
        flag_claims(writer.storage, scope, [claim for claim in ready.claims if claim[0].id in own])
    if episode:
        cited = {each for message in episode.messages for each in cited_by(message, writer.delimiters)}
        batch.put_links(_shown_link(scope, episode.id, each, now) for each in sorted(cited))
    return Stored(entries, repeated, episode, plan.known, shown=shown)


def ahead(scope: Scope, plans: Iterable[Plan]) -> dict[str, Collection[str]]:
    """Return the keys of the documents that storing plans reads, by collection."""
    turns = [plan for plan in plans if plan.episode]
    counters = {key for plan in turns if (key := _counter(scope, plan)) is not None}
    return {TURNS: counters, COLLECTION: [KEY]} if turns else {}


def _counter(scope: Scope, plan: Plan) -> str | None:
    """Return the key of the counter that gives a turn its number, or ``None`` if it needs none."""
    if plan.episode is None or plan.known is not None or plan.episode.thread is None:
        return None
    return _counter_of(scope, plan.episode.thread)


@lru_cache(maxsize=256)
def _counter_of(scope: Scope, thread: str) -> str:
    return derive_id(scope, TURNS, thread)  # a hash: the thread's name may have to be forgotten


def _numbered(batch: Batch, plan: Plan, episode: Episode) -> Episode:
    """Return a new turn with its number. The turns of a thread count from 1 in the order in which they were recorded; a
    turn without a thread has the number 0."""
    key = _counter(batch.scope, plan)
    if key is None:
        return episode
    turn = 1 + (batch.document(TURNS, key) or 0)
    batch.set_document(TURNS, key, turn)
    return replace(episode, turn=turn)


def _put_entries(batch: Batch, entries: Sequence[Entry], ready: Prepared) -> frozenset[str]:
    """Store new entries, and return the ids of repetitions. One strengthens the first, and is found by its id alone."""
    settings, now, repeated = batch.writer.settings, batch.now, set[str]()
    for entry in entries:
        mark = ready.marks[entry.id]
        targets = [link.target for link in batch.links(FIRST, mark)[:1]]
        first = next(iter(batch.entries(targets).values()), None)  # none if it is damaged
        if first is None:
            record = ready.records[entry.id]
            batch.add(record if record.entry is entry else replace(record, entry=entry))
            batch.put_links([first_link(mark, entry, now)])
        elif batch.add(Record(entry)):
            batch.put_links([repeat_link(batch.scope, entry.id, first.id, now)])
            loud = is_shouted(entry.text)  # what is shouted again counts once
            if tier := None if loud else reinforced(first, settings[UseTuning].used, now, settings, used=True):
                batch.set_tier(first.id, tier)
            repeated.add(entry.id)
    return frozenset(repeated)


def _shown_link(scope: Scope, episode: str, cited: str, now: datetime) -> Link:
    """Return the link from a turn to what a frame in it cites."""
    return Link(derive_id(scope, SHOWS, episode, cited), SHOWS, episode, cited, now)


class Batch:
    """The reads and writes of one batch, inside one transaction.

    Nothing is read twice: call ``load_documents`` and ``load_links`` with all that a batch is going to read. Code that
    reads or writes entries or their links without this object calls :meth:`store` first.
    """

    def __init__(self, writer: Writer, scope: Scope, now: datetime) -> None:
        self.writer, self.scope, self.now = writer, scope, now
        self._forget()

    def document(self, collection: str, key: str) -> Any:
        """Return the value of a document, or ``None``."""
        self.load_documents(collection, [key])
        return self._documents[collection][key]

    def set_document(self, collection: str, key: str, value: Any) -> None:
        """Replace a document."""
        self._documents.setdefault(collection, {})[key] = value
        self._written.setdefault(collection, {})[key] = value

    def load_documents(self, collection: str, keys: Iterable[str]) -> None:
        """Read documents that the batch is going to use."""
        known = self._documents.setdefault(collection, {})
        if missing := [key for key in dict.fromkeys(keys) if key not in known]:
            found = {one.key: one.value for one in self.writer.storage.documents(self.scope, collection, missing)}
            known.update((key, found.get(key)) for key in missing)

    def entries(self, ids: Collection[str]) -> dict[str, Entry]:
        """Return the entries found, by id."""
        if missing := [id_ for id_ in dict.fromkeys(ids) if id_ not in self._entries]:
            found = self.writer.storage.get(self.scope, missing)
            self._entries.update((id_, found.get(id_)) for id_ in missing)
        return {id_: entry for id_ in ids if (entry := self._entries[id_]) is not None}

    def add(self, record: Record) -> bool:
        """Store a record unless its id is known to the batch, and return whether it is not."""
        id_ = record.entry.id
        if self._entries.get(id_) is not None:
            return False
        self._entries[id_] = record.entry
        self._new[id_] = record
        return True

    def replace(self, record: Record) -> None:
        """Store a record in place of the entry of the same id, which must exist."""
        id_ = record.entry.id
        self._entries[id_] = record.entry
        if id_ in self._new:
            new = self._new[id_]
            self._new[id_] = replace(new, entry=record.entry) if record.passages is None else record
        elif record.passages is None and id_ in self._replaced:
            self._replaced[id_] = replace(self._replaced[id_], entry=record.entry)
        else:
            self._replaced[id_] = record

    def set_tier(self, id_: str, tier: Tier) -> None:
        """Set the tier of an entry of the batch, or of one that it has read."""
        [entry] = self.entries([id_]).values()
        self.replace(Record(replace(entry, tier=tier), passages=None))

    def links(self, kind: str, source: str) -> list[Link]:
        """Return the links of a kind from a source, in the order in which they were first stored."""
        if (kind, source) not in self._links:
            self.load_links({kind: [source]})
        return list(self._links[kind, source].values())

    def load_links(self, sources: Mapping[str, Iterable[str]]) -> None:
        """Read links that the batch is going to use, by their kinds and sources."""
        wanted = {(kind, source) for kind, some in sources.items() for source in some}
        if missing := wanted.difference(self._links):
            self._links.update((place, {}) for place in missing)
            where = WhereLinks(kinds={kind for kind, _ in missing}, sources={source for _, source in missing})
            for link in self.writer.storage.links(self.scope, where):
                if (link.kind, link.source) in missing:
                    self._links[link.kind, link.source][link.id] = link

    def put_links(self, links: Iterable[Link]) -> None:
        """Store links, each in place of the one of the same id."""
        for link in links:
            self._put[link.id] = link
            if (known := self._links.get((link.kind, link.source))) is not None:
                known[link.id] = link

    def store(self) -> None:
        """Write what is held, and read anew from now on."""
        storage, scope = self.writer.storage, self.scope
        if self._new:
            self.writer.put(scope, list(self._new.values()))
        if self._replaced:
            self.writer.put(scope, list(self._replaced.values()), replace=True)
        if self._put:
            storage.put_links(scope, self._put.values())
        for collection, values in self._written.items():
            storage.write_documents(scope, collection, values)
        self._forget()

    def _forget(self) -> None:
        self._documents: dict[str, dict[str, Any]] = {}
        self._entries: dict[str, Entry | None] = {}
        self._links: dict[tuple[str, str], dict[str, Link]] = {}
        self._new: dict[str, Record] = {}
        self._replaced: dict[str, Record] = {}
        self._put: dict[str, Link] = {}
        self._written: dict[str, dict[str, Any]] = {}
