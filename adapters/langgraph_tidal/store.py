"""LangGraph's long-term store in the memory's unified index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from langgraph_tidal.expiry import expired, lasting, renewed
from langgraph_tidal.filters import check, equalities, holds
from langgraph_tidal.namespaces import ROOT, Namespace, from_scope, matches, to_label, to_scope
from tidal_plugins import Entry, InvalidInput, TidalMemory, Tier
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.understand import MAX_CHARS, to_query
from tidal_plugins.storage.base import Record, Where
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.validation import clean, mapping

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.services import Services

KIND = "kb"
MAX_FILTER_BYTES = 64 * 1024


class TidalStore(BaseStore):
    """A ``BaseStore`` over a memory: ``graph.compile(store=TidalStore(memory))``.

    Each namespace is a scope of its own below the memory's: what is stored here is seen by no other recall. A search
    with a query goes by meaning and keywords both; its scores are a cosine plus what keywords add, comparable across
    namespaces. ``index={"fields": ["text"]}`` says which fields a search reads (default: the whole item); it is the
    memory that embeds, so ``dims`` and ``embed`` are not for here. ``ttl`` is LangGraph's ``TTLConfig``: what has
    expired is never returned, and erased by ``sweep_ttl`` or, once in ``sweep_interval_minutes``, with a write.

    A batch's reads see the store as it was before it, and its writes are one transaction. Values are JSON objects of up
    to ``Settings.ingestion.max_chars`` bytes. Raises ``InvalidInput``, and LangGraph's ``InvalidNamespaceError``.
    """

    supports_ttl = True

    def __init__(self, memory: TidalMemory, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        super().__init__()
        if foreign := set(index or ()) - {"fields"}:
            raise InvalidInput(f"the memory embeds, so index= takes fields only, not {', '.join(sorted(foreign))}")
        self.ttl_config = ttl
        self._memory = memory
        self._root = (*memory.scope, ROOT)
        self._fields = (index or {}).get("fields") or ["$"]
        self._swept = memory.now()

    @staticmethod
    def label(text: str) -> str:
        """Return ``text``, such as an e-mail address, as a namespace label; ``urllib.parse.unquote`` reverses it."""
        return to_label(text)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        for op in ops:
            _check(op)
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        writes = [self._write(op) for op in puts.values()]
        run = _Batch(self._memory._services, self._root, self._memory.now())
        run.embed(op.query for op in ops if isinstance(op, SearchOp))
        with run.services.storage.snapshot():
            results = [run.read(op) for op in ops]
        run.write(writes)
        if writes:
            self._sweep_when_due(run.now)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase what has expired and return how many items that were."""
        storage, now = self._memory._services.storage, self._memory.now()
        gone = 0
        for scope in storage.scopes(self._root, Where()):
            with storage.transaction():
                gone += storage.erase(scope, [e.id for e in storage.find(scope, Where()) if expired(e, now)])
        return gone

    def _sweep_when_due(self, now: datetime) -> None:
        interval = (self.ttl_config or {}).get("sweep_interval_minutes")
        if interval is not None and now - self._swept >= timedelta(minutes=interval):
            self._swept = now
            self.sweep_ttl()

    def _write(self, op: PutOp) -> _Write:
        """The entry that a put becomes; one without a value is to be erased."""
        scope = to_scope(self._root, op.namespace)
        id_ = derive_id(scope, op.key)
        if op.value is None:
            return _Write(scope, id_)
        now, most = self._memory.now(), self._memory.settings.ingestion.max_chars
        value = mapping(op.value, f"the value of {op.key!r}", most)
        parts = [] if op.index is False else _texts(value, self._fields if op.index is None else op.index)
        entry = Entry(
            id=id_,
            kind=KIND,
            text="\n".join(parts),
            scope=scope,
            occurred_at=now,
            recorded_at=now,
            tier=lasting(op.ttl, now),
            source=op.key,
            channel="agent",
            metadata=value,
        )
        return _Write(scope, id_, entry, parts)


@dataclass(frozen=True, slots=True)
class _Write:
    """What a put comes to: the entry to store, with the texts that are indexed each on its own."""

    scope: Scope
    id: str
    entry: Entry | None = None
    parts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch on one store, at one time. ``read_on`` are the items whose time begins anew."""

    services: Services
    root: Scope
    now: datetime
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    read_on: dict[Scope, dict[str, Tier]] = field(default_factory=dict)

    def embed(self, queries: Iterable[str | None]) -> None:
        """Embed the batch's queries, before any snapshot is open."""
        texts = {query: to_query(_cleaned(query), ()).meaning for query in queries if query and query.strip()}
        if texts:  # reads by key must not wait for, or fail with, an embedder
            rows = self.services.recaller.embedder.embed(list(texts.values()))
            self.vectors.update(zip(texts, rows, strict=True))

    # reading

    def read(self, op: Op) -> Result:
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
        wanted, most = _filter(op), op.offset + op.limit
        where = Where(kinds={KIND}, metadata=equalities(wanted), active_at=self.now)
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

    def write(self, writes: Sequence[_Write]) -> None:
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
        storage, entry = self.services.storage, record.entry
        before = storage.get(entry.scope, [entry.id]).get(entry.id)
        if before is None:
            storage.put(entry.scope, [record])
        else:
            created = entry.recorded_at if expired(before, self.now) else before.recorded_at
            storage.put(entry.scope, [replace(record, entry=replace(entry, recorded_at=created))], replace=True)

    def _records(self, writes: Sequence[_Write]) -> Iterator[Record]:
        """Embed all the parts of all the entries in one go."""
        kept = [(write.entry, part) for write in writes if write.entry for part in write.parts]
        drafts = [replace(entry, text=part, source=None, id=str(n)) for n, (entry, part) in enumerate(kept)]
        indexed = iter(self.services.writer.records(drafts) if drafts else ())
        for write in writes:
            start, passages = 0, []
            for part in write.parts:
                for passage in next(indexed).passages or ():
                    passages.append(replace(passage, start=passage.start + start, end=passage.end + start))
                start += len(part) + 1
            if write.entry:
                yield Record(write.entry, passages)


def _check(op: Op) -> None:
    """Refuse an operation that cannot be carried out, before any of its batch is."""
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise InvalidInput(f"a store takes GetOp, SearchOp, PutOp and ListNamespacesOp, got {type(op).__name__}")
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp) and (op.limit < 0 or op.offset < 0):
        raise InvalidInput(f"limit and offset must not be negative, got {op.limit} and {op.offset}")
    if isinstance(op, SearchOp):
        if op.query is not None and not isinstance(op.query, str):
            raise InvalidInput(f"a query must be a text, got {type(op.query).__name__}")
        check(_filter(op))
    if isinstance(op, PutOp) and any("\ud800" <= character <= "\udfff" for character in op.key):
        raise InvalidInput(f"a key must be valid Unicode, got {op.key!r}")


def _filter(op: SearchOp) -> dict[str, Any]:
    """The filter, its values as stored ones are."""
    return mapping({} if op.filter is None else op.filter, "a filter", MAX_FILTER_BYTES)


def _cleaned(query: str) -> str:
    return clean(query.strip()[:MAX_CHARS], max_chars=MAX_CHARS, name="a query")


def _texts(value: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """What a search reads of an item: a text for each path, and for each element where a path has ``[*]``."""
    texts = [text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
    return [text for text in texts if text.strip()]


def _order(found: tuple[Entry, float | None]) -> tuple[bool, float, float]:
    """Best first, then what has no score, newest first."""
    entry, score = found
    return score is None, -(score or 0.0), -entry.occurred_at.timestamp()
