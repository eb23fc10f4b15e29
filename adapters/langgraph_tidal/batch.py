"""One batch of operations of a store: its reads as of one state, its writes in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, Result, SearchItem, SearchOp

from langgraph_tidal.expiry import expired, renewed
from langgraph_tidal.filters import equalities, holds
from langgraph_tidal.namespaces import Namespace, from_scope, matches, to_scope
from tidal_plugins import Entry, TidalMemory, Tier
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.understand import MAX_CHARS, to_query
from tidal_plugins.storage.base import Passage, Record, Where
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.validation import clean, mapping

if TYPE_CHECKING:
    from tidal_plugins.embedding.identity import QueryVector
    from tidal_plugins.services import Services

ITEM_KIND = "kb"
MAX_FILTER_BYTES = 64 * 1024


def services_of(memory: TidalMemory) -> Services:
    """Return the parts of a memory that no public method reaches: a store reads and writes entries of its own."""
    return memory._services


@dataclass(frozen=True, slots=True)
class Write:
    """The entry that a put stores, with its texts that are indexed each on its own; one without an entry erases."""

    scope: Scope
    id: str
    entry: Entry | None = None
    parts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch on one store, at one time. ``read_on`` holds the items whose time to live begins anew."""

    services: Services
    root: Scope
    now: datetime
    vectors: dict[str, QueryVector] = field(default_factory=dict)
    read_on: dict[Scope, dict[str, Tier]] = field(default_factory=dict)

    def embed(self, queries: Iterable[str | None]) -> None:
        """Embed the batch's queries, before any snapshot is open."""
        texts = {query: to_query(_cleaned(query), ()).meaning for query in queries if query and query.strip()}
        if texts:  # reads by key must not wait for, or fail with, an embedder
            vectors = self.services.recaller.embedder.embed_queries(list(texts.values()))
            self.vectors.update(zip(texts, vectors, strict=True))

    # reading

    def read(self, ops: Sequence[Op]) -> list[Result]:
        """Return the results of operations, all as of one state of the store."""
        with self.services.storage.snapshot():
            return [self._read(op) for op in ops]

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _get(self, op: GetOp) -> Item | None:
        scope = to_scope(self.root, op.namespace)
        entry = self.services.storage.get(scope, [id_ := derive_id(scope, op.key)]).get(id_)
        if entry is None or expired(entry, self.now):
            return None
        self._touch([entry], op.refresh_ttl)
        return Item(**self._fields(entry))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted, most = filter_of(op), op.offset + op.limit
        where = Where(kinds={ITEM_KIND}, metadata=equalities(wanted), active_at=self.now)
        rest = {name: value for name, value in wanted.items() if name not in where.metadata}
        found: list[tuple[Entry, float | None]] = []
        for scope in self.services.storage.scopes(to_scope(self.root, op.namespace_prefix), where):
            here = self._narrowed(scope, where, rest) if rest else where
            ranked = self._ranked(scope, op.query, here, most) if op.query in self.vectors else {}
            found += ranked.values()
            if len(ranked) < most:  # what no search reads follows without a score
                newest = self.services.storage.find(scope, here, limit=most, newest_first=True)
                found += [(entry, None) for entry in newest if entry.id not in ranked]
        found.sort(key=_order)
        chosen = found[op.offset : most]
        self._touch([entry for entry, _ in chosen], op.refresh_ttl)
        return [SearchItem(**self._fields(entry), score=score) for entry, score in chosen]

    def _narrowed(self, scope: Scope, where: Where, rest: Mapping[str, Any]) -> Where:
        """Leave out what fails the part of a filter that the index cannot decide."""
        entries = self.services.storage.find(scope, where)
        return replace(where, exclude=[entry.id for entry in entries if not holds(entry.metadata, rest)])

    def _ranked(self, scope: Scope, query: str, where: Where, most: int) -> dict[str, tuple[Entry, float | None]]:
        request = Request(scope, _cleaned(query), where, self.now, most, vector=self.vectors[query])
        recall = self.services.recaller.recall(request)
        return {hit.id: (hit.entry, hit.why.fused) for hit in recall}

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        scopes = self.services.storage.scopes(self.root, Where(active_at=self.now))
        found = [from_scope(self.root, scope) for scope in scopes]
        for condition in op.match_conditions or ():
            found = [namespace for namespace in found if matches(namespace, condition)]
        return sorted({namespace[: op.max_depth] for namespace in found})[op.offset : op.offset + op.limit]

    def _fields(self, entry: Entry) -> dict[str, Any]:
        return {
            "namespace": from_scope(self.root, entry.scope),
            "key": entry.source,
            "value": dict(entry.metadata),
            "created_at": entry.recorded_at,
            "updated_at": entry.occurred_at,
        }

    def _touch(self, entries: Iterable[Entry], refresh: bool) -> None:
        for entry in entries:
            if refresh and entry.tier:
                self.read_on.setdefault(entry.scope, {})[entry.id] = renewed(entry.tier, self.now)

    # writing

    def write(self, writes: Sequence[Write]) -> None:
        """Carry out writes in one transaction, and renew the times to live of the items that were read."""
        records = list(self._records(writes))
        if not writes and not self.read_on:
            return
        storage = self.services.storage
        with storage.transaction():
            for scope, tiers in self.read_on.items():
                there = storage.summaries(scope, list(tiers))  # another process may have deleted some since
                set_tiers(storage, scope, {id_: tier for id_, tier in tiers.items() if id_ in there})
            for write in writes:
                if write.entry is None:
                    storage.erase(write.scope, [write.id])
            for record in records:
                self._put(record)

    def _put(self, record: Record) -> None:
        writer, entry = self.services.writer, record.entry
        before = writer.storage.get(entry.scope, [entry.id]).get(entry.id)
        if before is None:
            writer.put(entry.scope, [record])
        else:
            created = entry.recorded_at if expired(before, self.now) else before.recorded_at
            writer.put(entry.scope, [replace(record, entry=replace(entry, recorded_at=created))], replace=True)

    def _records(self, writes: Sequence[Write]) -> Iterator[Record]:
        """Embed all the parts of all the entries in one go."""
        kept = [(write.entry, part) for write in writes if write.entry for part in write.parts]
        drafts = [replace(entry, text=part, id=str(n)) for n, (entry, part) in enumerate(kept)]
        indexed = iter(self.services.writer.records(drafts) if drafts else ())
        for write in writes:
            start, passages, record = 0, list[Passage](), Record(write.entry) if write.entry else None
            for part in write.parts:
                record = next(indexed)
                for passage in record.passages or ():
                    passages.append(replace(passage, start=passage.start + start, end=passage.end + start))
                start += len(part) + 1
            if record and write.entry:
                yield replace(record, entry=write.entry, passages=passages)


def filter_of(op: SearchOp) -> dict[str, Any]:
    """Return the filter of a search, with its values in the form of stored ones."""
    return mapping({} if op.filter is None else op.filter, "a filter", MAX_FILTER_BYTES)


def _cleaned(query: str) -> str:
    return clean(query.strip()[:MAX_CHARS], max_chars=MAX_CHARS, name="a query")


def _order(found: tuple[Entry, float | None]) -> tuple[bool, float, float]:
    """Return a sort key: the best score first, then items without a score, the newest first."""
    entry, score = found
    return score is None, -(score or 0.0), -entry.occurred_at.timestamp()
