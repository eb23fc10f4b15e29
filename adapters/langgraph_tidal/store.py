"""LangGraph's long-term store in the memory's unified index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from langgraph_tidal.batch import ITEM_KIND, Batch, Write, filter_of, services_of
from langgraph_tidal.expiry import expired, lasting
from langgraph_tidal.filters import check
from langgraph_tidal.namespaces import ROOT, to_label, to_scope
from tidal_plugins import Entry, InvalidInput, TidalMemory
from tidal_plugins.model.entry import derive_id
from tidal_plugins.storage.base import Where
from tidal_plugins.validation import mapping


class TidalStore(BaseStore):
    """A ``BaseStore`` over a memory: ``graph.compile(store=TidalStore(memory))``.

    Each namespace is a separate scope below the memory's, so that no other recall sees its items. A search with a query
    uses both meaning and keywords. Its scores are a cosine plus a share for keywords, and are comparable across
    namespaces. ``index={"fields": ["text"]}`` names the fields that a search reads (default: the whole item). The
    memory embeds the texts, so ``dims`` and ``embed`` do not belong there. ``ttl`` is LangGraph's ``TTLConfig``.
    Expired items are never returned; ``sweep_ttl`` erases them, as does a write once in ``sweep_interval_minutes``.

    The reads of a batch see the store as it was before the batch, and its writes are one transaction. Values are JSON
    objects of up to ``Settings.ingestion.max_chars`` bytes. Raises ``InvalidInput``, and LangGraph's
    ``InvalidNamespaceError``.
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
        run = Batch(services_of(self._memory), self._root, self._memory.now())
        run.embed(op.query for op in ops if isinstance(op, SearchOp))
        results = run.read(ops)
        run.write(writes)
        if writes:
            self._sweep_when_due(run.now)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase expired items, and return how many there were."""
        storage, now = services_of(self._memory).storage, self._memory.now()
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

    def _write(self, op: PutOp) -> Write:
        """Return the write of a put; a put without a value erases."""
        scope = to_scope(self._root, op.namespace)
        id_ = derive_id(scope, op.key)
        if op.value is None:
            return Write(scope, id_)
        now, most = self._memory.now(), self._memory.settings.ingestion.max_chars
        value = mapping(op.value, f"the value of {op.key!r}", most)
        parts = [] if op.index is False else _texts(value, self._fields if op.index is None else op.index)
        entry = Entry(
            id=id_,
            kind=ITEM_KIND,
            text="\n".join(parts),
            scope=scope,
            occurred_at=now,
            recorded_at=now,
            tier=lasting(op.ttl, now),
            source=op.key,
            channel="agent",
            metadata=value,
        )
        return Write(scope, id_, entry, parts)


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
        check(filter_of(op))
    if isinstance(op, PutOp) and any("\ud800" <= character <= "\udfff" for character in op.key):
        raise InvalidInput(f"a key must be valid Unicode, got {op.key!r}")


def _texts(value: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """Return the texts of an item that a search reads: one for each path, or for each element if it has ``[*]``."""
    texts = [text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
    return [text for text in texts if text.strip()]
