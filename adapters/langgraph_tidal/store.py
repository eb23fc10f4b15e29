"""LangGraph's long-term store in the memory's unified index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from langgraph_tidal.batch import (
    ITEM_KIND,
    ROOT,
    SWEEP_MINUTES,
    Batch,
    Sweeper,
    Write,
    check_filter,
    filter_of,
    lasting,
    services_of,
    sweep,
    to_label,
    to_scope,
)
from tidal_plugins import Entry, InvalidInput, TidalMemory
from tidal_plugins.ingestion.indexing import SHORT, readable
from tidal_plugins.ingestion.writer import IngestionTuning
from tidal_plugins.model.entry import TRUST, derive_id
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Where
from tidal_plugins.turns import checked_memory
from tidal_plugins.validation import MAX_LABEL, MAX_LABEL_BYTES, MAX_TAGS, check_int, is_short, items, labels, mapping

S = TypeVar("S")


MAX_ITEMS = 2**31 - 1
"""Items that one search may return or pass over: all that there can be."""

WHOLE = "$"
"""The path of a whole value."""


@dataclass(slots=True)
class OpenedStore(Generic[S]):
    """Opens a memory, makes a store over it, and closes both at the end. It may be entered once.

    ``async with`` opens and closes on a worker thread, so that the event loop does not wait for the disk.
    """

    _open: Callable[[], TidalMemory]
    _over: Callable[[TidalMemory], S]
    _stop: Callable[[S], object]
    _opened: list[tuple[TidalMemory, S]] = field(default_factory=list)

    def __enter__(self) -> S:
        memory = self._open()
        store = self._over(memory)
        self._opened.append((memory, store))
        return store

    def __exit__(self, *error: Any) -> None:
        memory, store = self._opened.pop()
        self._stop(store)
        memory.close()

    async def __aenter__(self) -> S:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self.__exit__, *error)


class TidalStore(BaseStore):
    """A ``BaseStore`` over a memory: ``graph.compile(store=TidalStore(memory))``.

    Each namespace is a separate scope below the memory's, so that no other recall sees its items. Values are JSON
    objects of up to ``ingestion.max_value_bytes`` bytes. The reads of a batch see the store as it was before
    the batch, and its writes are one transaction.

    **What a search reads.** Without ``index=``, every item: whoever gives a memory as a store wants to search it, and a
    store without an index, as LangGraph's others are then, would return the newest for any query. Of an item it reads
    the fields and texts in it, one a line; ``index={"fields": ["text"]}`` names the fields instead, and a put may name
    its own. Of all these the first ``ingestion.indexed_chars`` characters are indexed, without binary data
    such as base 64. ``index=False`` and an empty list of fields mean none, for the store or for one put: such an item
    is got by its key, filtered and listed. The memory embeds the texts, so ``dims`` and ``embed`` do not belong there.

    **When.** A put stores an item and does not embed it. The next search of its namespace does, or the memory's
    background before it, so that a search finds all earlier puts, of other processes too.

    A search with a query uses both meaning and keywords. Its scores are a cosine plus a share for keywords, in [0, 1],
    and are comparable across queries and namespaces. Items that no search reads follow with the score ``None`` if
    fewer than ``limit`` have one.

    ``ttl`` is LangGraph's ``TTLConfig``. Expired items are never returned; ``sweep_ttl`` erases them, as does a write
    once in ``sweep_interval_minutes``, and the thread of ``start_ttl_sweeper``.

    ``delete`` rewrites the file so that no byte of the item stays: delete many in one ``batch``. A sweep does not.

    Raises ``InvalidInput``, and LangGraph's ``InvalidNamespaceError``.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: TidalMemory,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._memory = checked_memory(memory)
        self._root = (*memory.scope, ROOT)
        self._fields = _fields(index)
        self._swept = memory.now()
        self._sweeper = Sweeper(self.sweep_ttl)

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        **options: Any,
    ) -> OpenedStore[TidalStore]:
        """Open a memory and a store over it, for ``with`` or ``async with``, which closes both.

        ``conn_string`` is the path or URL of a memory, and ``options`` are further arguments of ``TidalMemory``.
        """
        return OpenedStore(
            lambda: TidalMemory(conn_string, **options),
            lambda memory: cls(memory, index=index, ttl=ttl),
            lambda store: store.stop_ttl_sweeper(),
        )

    def setup(self) -> None:
        """Do nothing: the memory made its tables when it was opened. LangGraph's stores on databases have this."""

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
        run.prepare(op for op in ops if isinstance(op, SearchOp))
        results = run.read(ops)
        run.write(writes)
        if writes:
            self._sweep_when_due(run.now)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase expired items, and return how many there were."""
        services, now = services_of(self._memory), self._memory.now()
        return sum(sweep(services, scope, now) for scope in services.storage.scopes(self._root, Where()))

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Erase expired items again and again on a thread, and return a future that ends it when it is cancelled.

        The interval in minutes is that of ``ttl``, or 5. Without ``ttl=`` there is no thread, and the future is done. A
        store has one thread at most; it ends with the store's memory.
        """
        if self.ttl_config is None:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        given = sweep_interval_minutes, self.ttl_config.get("sweep_interval_minutes"), SWEEP_MINUTES
        return self._sweeper.start(next(minutes for minutes in given if minutes is not None))

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the thread of :meth:`start_ttl_sweeper`, and return whether it has ended after ``timeout`` seconds."""
        return self._sweeper.stop(timeout)

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
        now, limits = self._memory.now(), self._memory.settings[IngestionTuning]
        value = mapping(op.value, f"the value of {shown(op.key)}", limits.max_value_bytes)
        value = services_of(self._memory).writer.redaction.value(value)
        paths = self._fields if op.index is None else () if op.index is False else op.index
        texts = (text for path in paths for text in _texts(value, path, limits.indexed_chars))
        parts = readable(texts, limits.indexed_chars, least=SHORT)
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
            trust=TRUST["agent"],
            metadata=value,
        )
        return Write(scope, id_, entry, parts)


def _fields(index: IndexConfig | Literal[False] | None) -> Sequence[str]:
    """Return the paths that a store's index names."""
    if index is False:
        return ()
    if index is not None and not isinstance(index, Mapping):
        raise InvalidInput(f"index must be a mapping with fields, or False, got {shown(index)}")
    if foreign := set(index or ()) - {"fields"}:
        names = sorted(name if isinstance(name, str) else shown(name) for name in foreign)
        raise InvalidInput(f"the memory embeds, so index= takes fields only, not {', '.join(names)}")
    fields = (index or {}).get("fields")
    return [WHOLE] if fields is None else labels(fields, "the fields of index", MAX_TAGS)


def _check(op: Op) -> None:
    """Refuse an operation that cannot be carried out, before any of its batch is."""
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise InvalidInput(f"a store takes GetOp, SearchOp, PutOp and ListNamespacesOp, got {type(op).__name__}")
    _check_namespace(op)
    if isinstance(op, ListNamespacesOp):
        if op.max_depth is not None:
            check_int(op.max_depth, "max_depth", 0, MAX_ITEMS)
        for condition in () if op.match_conditions is None else items(op.match_conditions, "match_conditions"):
            if not isinstance(condition, MatchCondition):
                raise InvalidInput(f"match_conditions are MatchConditions, got {shown(condition)}")
            labels(condition.path, "the path of a condition")
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp):
        check_int(op.limit, "limit", 0, MAX_ITEMS)
        check_int(op.offset, "offset", 0, MAX_ITEMS)
    if isinstance(op, SearchOp):
        if op.query is not None and not isinstance(op.query, str):
            raise InvalidInput(f"a query must be a text, got {type(op.query).__name__}")
        check_filter(filter_of(op))
    if isinstance(op, PutOp) and op.index is not None and op.index is not False:
        labels(op.index, "the fields of index", MAX_TAGS)  # of one text the letters would be paths
    if isinstance(op, GetOp | PutOp) and (not isinstance(op.key, str) or not is_short(op.key)):
        most = f"{MAX_LABEL:,} characters and {MAX_LABEL_BYTES:,} bytes"
        raise InvalidInput(f"a key is a text of at most {most}, got {shown(op.key)}")
    if isinstance(op, PutOp) and any("\ud800" <= character <= "\udfff" for character in op.key):
        raise InvalidInput(f"a key must be valid Unicode, got {shown(op.key)}")


def _check_namespace(op: Op) -> None:
    """Refuse a namespace that is no tuple of short texts, before LangGraph's own check shows it whole."""
    given = op.namespace_prefix if isinstance(op, SearchOp) else getattr(op, "namespace", ())
    parts = given if isinstance(given, tuple) else [None]
    if not all(isinstance(part, str) and len(part) <= MAX_LABEL for part in parts):
        raise InvalidInput(f"a namespace is a tuple of texts such as ('users', '42'), got {shown(given)}")


def _texts(value: Mapping[str, Any], path: str, most: int) -> list[str]:
    """Return the texts at a path that a search reads: one, or one for each element if the path has ``[*]``."""
    if path == WHOLE:
        return ["\n".join(readable(_lines(value), most))]
    return get_text_at_path(value, tokenize_path(path))


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts and numbers of a value, each after its own name: JSON's quotes and escapes say nothing."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item, name)
    elif value is not None and value != "":
        yield f"{name}: {value}"
