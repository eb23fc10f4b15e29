"""Knowledge in the unified index: an entry of kind ``fact`` for each entity and relation that stands [Tidal §2.2].

The graph is the truth, and the entries are made from it: what says the same is left as it is, since every change of an
entry has recall read its vectors anew; what holds no more goes. They cite the first episodes that were known to say so
when they were written; ``memory.graph.evidence`` knows them all, with their words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.english.tags import tags
from tidal_plugins.graph.formats.loading import IMPORT
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.relations import KINDS
from tidal_plugins.graph.stale import settle, stale
from tidal_plugins.graph.stored import StoredGraph
from tidal_plugins.graph.unlearning import fact_id
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.graph import CHANNEL, Entity, Relation
from tidal_plugins.storage.base import Line, Record, Storage, WhereLinks

KIND = "fact"

CITED = 3
"""Episodes that an entry cites."""


@dataclass(frozen=True, slots=True)
class KnowledgeIndex:
    """Keeps the entries of one scope's graph up to date."""

    writer: Writer
    graph: KnowledgeGraph
    scope: Scope

    def update(self, now: datetime) -> int | None:
        """Bring up to date what changed first, some entries at a time, and return how many were written or removed;
        ``None`` when nothing was stale any more. It embeds without a lock."""
        lines = stale(self.storage, self.scope, self.writer.settings.graph.batch)
        if not lines:
            return None
        wanted = self._render(lines, now)
        there = self._there(lines)
        records = {record.entry.id: record for record in self.writer.records(_changed(wanted, there))}
        with self.storage.transaction():
            settled = settle(self.storage, self.scope, lines)
            lines = [line for line in lines if line.key in settled]
            return self._write(self._render(lines, now), self._there(lines), records, now)  # as it is now

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    def _write(
        self, wanted: Mapping[str, Entry], there: Mapping[str, Entry], records: Mapping[str, Record], now: datetime
    ) -> int:
        gone = [id_ for id_ in there if id_ not in wanted]
        self.storage.erase(self.scope, gone)
        changed = [entry for entry in _changed(wanted, there) if entry.id in records]
        cited = [replace(records[entry.id], entry=replace(_cited(entry), recorded_at=now)) for entry in changed]
        self.storage.put(self.scope, [record for record in cited if record.entry.id not in there])
        self.storage.put(self.scope, [record for record in cited if record.entry.id in there], replace=True)
        return len(gone) + len(changed)

    def _there(self, lines: Sequence[Line]) -> dict[str, Entry]:
        return self.storage.get(self.scope, [fact_id(self.scope, line.key) for line in lines])

    def _render(self, lines: Sequence[Line], now: datetime) -> dict[str, Entry]:
        """The entries that should be there, by id, as they are embedded: their citations are added when written."""
        with self.storage.snapshot():
            relations, entities = self._found([line.key for line in lines], now)
            standing = [relation for relation in relations if _holds(relation, now)]
            said = self.graph.sentences(standing)
        entries = [self._of_relation(relation, said[relation.id]) for relation in standing]
        entries += map(self._of_entity, entities)
        buried = self.writer.buried(self.scope, [entry.id for entry in entries])
        forgotten = self.writer.forgotten(self.scope, [entry.text for entry in entries])
        return {entry.id: entry for entry in entries if entry.id not in buried and entry.text not in forgotten}

    def _found(self, ids: Sequence[str], now: datetime) -> tuple[list[Relation], list[Entity]]:
        """The relations and entities of these ids, with all their episodes, as far as they are there."""
        graph = StoredGraph(self.storage, self.scope, self.writer.settings.graph, now, each=None)
        relations = graph.shown(self.storage.links(self.scope, WhereLinks(ids=ids, kinds=KINDS)))
        entities = graph.entities(set(ids) - {relation.id for relation in relations})
        return relations, [entity for id_, entity in entities.items() if entity.id == id_]  # else it goes by another

    def _of_relation(self, relation: Relation, said: str) -> Entry:
        entry = self._entry(relation.id, said, relation.episodes, relation.valid_from or relation.recorded_at)
        metadata = {"relation": relation.id, "predicate": relation.predicate, **entry.metadata}
        return replace(entry, metadata=metadata, valid_from=relation.valid_from, valid_until=relation.valid_until)

    def _of_entity(self, entity: Entity) -> Entry:
        others = f", also called {', '.join(entity.aliases)}" if entity.aliases else ""
        entry = self._entry(entity.id, f"{entity.name}: {entity.type}{others}", entity.episodes, entity.first_seen)
        return replace(entry, metadata={"entity": entity.id, "type": entity.type, **entry.metadata})

    def _entry(self, id_: str, said: str, episodes: Sequence[str], at: datetime) -> Entry:
        return Entry(
            id=fact_id(self.scope, id_),
            kind=KIND,
            text=said,
            scope=self.scope,
            occurred_at=at,
            recorded_at=at,
            channel=CHANNEL,
            tags=tags(said),
            metadata={"episodes": list(episodes[: -CITED - 1 : -1])},
        )


def _holds(relation: Relation, now: datetime) -> bool:
    """Whether a relation is true now, or will be."""
    return relation.superseded_at is None and (relation.valid_until is None or relation.valid_until > now)


def _changed(wanted: Mapping[str, Entry], there: Mapping[str, Entry]) -> list[Entry]:
    """What is not there yet, or says something else now: that it was said once more changes nothing."""
    return [entry for id_, entry in wanted.items() if id_ not in there or not _says(there[id_], entry)]


def _says(known: Entry, entry: Entry) -> bool:
    metadata = {**entry.metadata, "episodes": known.metadata["episodes"]}
    return known == _cited(replace(entry, metadata=metadata, recorded_at=known.recorded_at))


def _cited(entry: Entry) -> Entry:
    """An entry with its citations, by which it is not found. What came from another graph has none to cite."""
    citations = [f"[ep:{id_}]" for id_ in entry.metadata["episodes"] if not id_.startswith(IMPORT)]
    return replace(entry, text=" ".join([entry.text, *citations]))
