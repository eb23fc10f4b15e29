"""The writes of a batch: held in memory, seen by the batch's own reads, and stored together at its end.

So the steps of a turn can follow each other as if each wrote at once, and a batch of turns costs few statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidal_plugins.ingestion.plan import Writing
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Entry, Scope, Tier
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Record, WhereLinks


class Batch:
    """What one batch reads and writes, inside one transaction.

    Nothing is read twice: call ``load_documents`` and ``load_links`` with all that a batch is going to read. What does
    without this object, and reads or writes entries or their links, calls :meth:`store` first.
    """

    def __init__(self, writing: Writing) -> None:
        self.writer: Writer = writing.writer
        self.scope: Scope = writing.scope
        self.now: datetime = writing.now
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
