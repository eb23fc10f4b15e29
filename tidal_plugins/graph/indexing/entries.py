"""Entries for recall: one entry of kind ``fact`` for each entity and relation that holds [Tidal §2.2].

The graph is the source and the entries are made from it. An entry that would say the same is left as it is, because
every change of an entry makes recall read its vectors again. The entry of what holds no more is removed. A recall
without ``kinds`` passes these entries over, since they repeat what was said, but for what only an agent stated. An
entry cites the first episodes known when it was written; ``memory.graph.evidence`` returns all, with their words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from tidal_plugins.english.tags import tags
from tidal_plugins.graph.indexing.stale import ENTRIES
from tidal_plugins.graph.records.entities import IMPORT
from tidal_plugins.graph.records.relations import KINDS
from tidal_plugins.graph.stored import GraphTuning, StoredGraph
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import FACT, GRAPH_CHANNEL, STATED_CHANNEL, TRUST, Entry, Scope
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.storage.base import Record, Storage, WhereLinks
from tidal_plugins.storage.shorthands import entry_id

CITED = 3
"""Episodes that an entry cites."""


def graph_entry_id(storage: Storage, scope: Scope, id_: str) -> str:
    """Return the id of the entry by which recall finds a relation or an entity."""
    return entry_id(storage, scope, "knowledge", id_)


class EntryWriter(Protocol):
    """The part of the write path that makes entries findable and knows which were forgotten on request."""

    def records(self, entries: Sequence[Entry]) -> Sequence[Record]: ...

    def put(self, scope: Scope, records: Sequence[Record], *, replace: bool = False) -> list[str]: ...

    def tombstoned(self, scope: Scope, ids: Iterable[str]) -> Collection[str]: ...

    def forgotten(self, scope: Scope, texts: Iterable[str]) -> Collection[str]: ...


@dataclass(frozen=True, slots=True)
class EntryUpdate:
    """Brings entries of one scope's graph up to date."""

    storage: Storage
    scope: Scope
    settings: GraphTuning
    writer: EntryWriter

    def run(self, queue: Jobs, jobs: Sequence[Job]) -> int:
        """Return how many entries were written or removed. It embeds without holding locks."""
        ids, now = [job.subject for job in jobs], queue.now()
        changed = _changed(self._wanted(ids, now), self._stored(ids))
        records = {record.entry.id: record for record in self.writer.records(changed)}
        with self.storage.transaction():
            ids = [job.subject for job in queue.finish(self.scope, ENTRIES, jobs)]
            return self._write(self._wanted(ids, now), self._stored(ids), records, now)  # as the graph is by now

    def _write(
        self, wanted: Mapping[str, Entry], stored: Mapping[str, Entry], records: Mapping[str, Record], now: datetime
    ) -> int:
        gone = [id_ for id_ in stored if id_ not in wanted]
        self.storage.erase(self.scope, gone)
        changed = [entry for entry in _changed(wanted, stored) if entry.id in records]
        cited = [replace(records[entry.id], entry=replace(_cited(entry), recorded_at=now)) for entry in changed]
        self.writer.put(self.scope, [record for record in cited if record.entry.id not in stored])
        self.writer.put(self.scope, [record for record in cited if record.entry.id in stored], replace=True)
        return len(gone) + len(changed)

    def _stored(self, ids: Sequence[str]) -> dict[str, Entry]:
        return self.storage.get(self.scope, [graph_entry_id(self.storage, self.scope, id_) for id_ in ids])

    def _wanted(self, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """Return the entries that should be stored, by id, as they are embedded: without their citations."""
        with self.storage.snapshot():
            graph = StoredGraph(self.storage, self.scope, self.settings, now, each=None)
            relations, entities = self._found(graph, ids)
            standing = [relation for relation in relations if _holds(relation, now)]
            sentences, stated = graph.sentences(standing), graph.stated(standing)
        entries = [self._of_relation(one, sentences[one.id], stated=one.id in stated) for one in standing]
        entries += map(self._of_entity, entities)
        tombstoned = self.writer.tombstoned(self.scope, [entry.id for entry in entries])
        forgotten = self.writer.forgotten(self.scope, [entry.text for entry in entries])
        return {entry.id: entry for entry in entries if entry.id not in tombstoned and entry.text not in forgotten}

    def _found(self, graph: StoredGraph, ids: Sequence[str]) -> tuple[list[Relation], list[Entity]]:
        """Return the relations and entities with these ids; an entity that was merged into another is left out."""
        relations = graph.shown(self.storage.links(self.scope, WhereLinks(ids=ids, kinds=KINDS)))
        entities = graph.entities(set(ids) - {relation.id for relation in relations})
        return relations, [entity for id_, entity in entities.items() if entity.id == id_]

    def _of_relation(self, relation: Relation, sentence: str, *, stated: bool) -> Entry:
        entry = self._entry(relation.id, sentence, relation.episodes, relation.valid_from or relation.recorded_at)
        metadata = {"relation": relation.id, "predicate": relation.predicate, **entry.metadata}
        if stated:
            entry = replace(entry, channel=STATED_CHANNEL, trust=TRUST["agent"])
        return replace(entry, metadata=metadata, valid_from=relation.valid_from, valid_until=relation.valid_until)

    def _of_entity(self, entity: Entity) -> Entry:
        others = f", also called {', '.join(entity.aliases)}" if entity.aliases else ""
        entry = self._entry(entity.id, f"{entity.name}: {entity.type}{others}", entity.episodes, entity.first_seen)
        return replace(entry, metadata={"entity": entity.id, "type": entity.type, **entry.metadata})

    def _entry(self, id_: str, text: str, episodes: Sequence[str], at: datetime) -> Entry:
        return Entry(
            id=graph_entry_id(self.storage, self.scope, id_),
            kind=FACT,
            text=text,
            scope=self.scope,
            occurred_at=at,
            recorded_at=at,
            channel=GRAPH_CHANNEL,
            tags=tags(text),
            metadata={"episodes": list(episodes[: -CITED - 1 : -1])},
        )


def _holds(relation: Relation, now: datetime) -> bool:
    """Return whether a relation is true now or will be later."""
    return relation.superseded_at is None and (relation.valid_until is None or relation.valid_until > now)


def _changed(wanted: Mapping[str, Entry], stored: Mapping[str, Entry]) -> list[Entry]:
    """Return the wanted entries that are not stored or say something else; another episode changes nothing."""
    return [entry for id_, entry in wanted.items() if id_ not in stored or not _says(stored[id_], entry)]


def _says(stored: Entry, entry: Entry) -> bool:
    metadata = {**entry.metadata, "episodes": stored.metadata["episodes"]}
    return stored == _cited(replace(entry, metadata=metadata, recorded_at=stored.recorded_at))


def _cited(entry: Entry) -> Entry:
    """Return an entry with its citations, which are not embedded.

    What was loaded from a file has none, nor has what only an agent stated: it has a citation of its own among texts.
    """
    if entry.channel == STATED_CHANNEL:
        return entry
    citations = [f"[ep:{id_}]" for id_ in entry.metadata["episodes"] if not id_.startswith(IMPORT)]
    return replace(entry, text=" ".join([entry.text, *citations]))
