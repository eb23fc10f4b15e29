"""One batch of operations of a store: its reads as of one state, its writes in one transaction."""

from __future__ import annotations

import logging
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, Result, SearchItem, SearchOp

from tidal_plugins import Closed, Entry, InvalidInput, TidalError, TidalMemory, Tier
from tidal_plugins.ingestion.indexing import parts_of
from tidal_plugins.model.entry import Scope, check_scope, derive_id
from tidal_plugins.retrieval.search import Channels
from tidal_plugins.retrieval.understand import MAX_CHARS, to_query
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import EntrySummary, Record, Where
from tidal_plugins.storage.capabilities import within_deadline
from tidal_plugins.storage.scrubbing import mark_unscrubbed, scrub
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.validation import check_number, clean, mapping

if TYPE_CHECKING:
    from tidal_plugins.embedding.identity import QueryVector
    from tidal_plugins.services import Services

ROOT = "\x1fstore"
"""Segment between a memory's scope and the namespaces: no label becomes this one, since «%» is escaped in them."""

Namespace = tuple[str, ...]


Scalar = str | int | float | bool | None

logger = logging.getLogger(__name__)

SWEEP_MINUTES = 5
"""Minutes between sweeps if nobody says how many: as in LangGraph's own stores."""

UNFADING = 1e9
"""Half-life in hours: until its time is over an item counts in full."""

ITEM_KIND = "item"
"""No kind that a memory recalls: what is embedded of an item is its value alone, without its key."""

MAX_FILTER_BYTES = 64 * 1024

Scored = tuple[Entry, float | None]
"""An item, and how near it is; ``None`` if no search reads it."""

SWEEP_PAGE = 64
"""Items that a sweep reads at once, with their values."""


def to_scope(root: Scope, namespace: Namespace) -> Scope:
    """Return the scope of a namespace below ``root``: one segment for each label, escaped if a scope requires it."""
    below = tuple(map(_segment, namespace))
    return (*root, *(check_scope(below) if below else ()))


def from_scope(root: Scope, scope: Scope) -> Namespace:
    return tuple(unquote(segment, errors="surrogatepass") for segment in scope[len(root) :])


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path, in which «*» stands for any one label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"namespaces match by prefix or suffix, not by {shown(condition.match_type)}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def to_label(text: str) -> str:
    if not isinstance(text, str) or not text:
        raise InvalidInput(f"a namespace label is made from a text that is not empty, got {shown(text)}")
    return text.replace("%", "%25").replace(".", "%2E").replace("\0", "%00")


def _segment(label: str) -> str:
    plain = (char if char.isprintable() and char != "%" else quote(char, errors="surrogatepass") for char in label)
    return "".join(plain)


def equalities(wanted: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the part of a filter that the memory's own index can decide: fields that equal a string or a boolean."""
    return {name: value for name, value in wanted.items() if isinstance(value, str | bool)}


def check_filter(wanted: Any) -> None:
    """Raise ``InvalidInput`` if a filter has an unknown operator."""
    if isinstance(wanted, Mapping):
        for name, operand in wanted.items():
            if _is_operation(wanted):
                _operator(name)
            else:
                check_filter(operand)


def satisfies(value: Any, wanted: Any) -> bool:
    """Return whether ``value`` is as wanted. Only the named fields of a mapping count; a missing one is ``None``."""
    if _is_operation(wanted):
        return all(_operator(name)(value, operand) for name, operand in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(satisfies(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(satisfies, value, wanted))
    return _equal(value, wanted)


def _is_operation(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _OPERATORS:
        raise InvalidInput(f"a filter's operators are {' '.join(_OPERATORS)}, got {shown(name)}")
    return _OPERATORS[name]


def _equal(value: Any, other: Any) -> bool:
    """Return whether two values are equal as in JSON: 1 is 1.0, and neither ``true`` nor "1"."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_equal(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers with numbers and strings with strings. Other values are in no order."""

    def in_order(value: Any, other: Any) -> bool:
        same = all(map(_is_number, (value, other))) or all(isinstance(side, str) for side in (value, other))
        return same and compare(value, other)

    return in_order


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, other: not _equal(value, other),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
}


def lasting(minutes: float | None, now: datetime) -> Tier | None:
    """Return the tier of an item that is archived after some minutes and does not fade before.

    Raises ``InvalidInput`` for anything but a number above 0.
    """
    if minutes is None:
        return None
    try:
        end = now + timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"ttl must be a number of minutes, got {shown(minutes)}") from error
    if end <= now:
        raise InvalidInput(f"ttl must be more than 0 minutes, got {shown(minutes)}")
    return Tier(1.0, now, UNFADING, archived_at=end)


def renewed(tier: Tier, now: datetime) -> Tier:
    if tier.archived_at is None:
        return tier
    return replace(tier, anchored_at=now, archived_at=now + (tier.archived_at - tier.anchored_at))


def expired(item: Entry | EntrySummary, now: datetime) -> bool:
    return item.tier is not None and item.tier.state(now) == "archived"


class Sweeper:
    """Calls ``sweep`` at an interval, on a thread of its own."""

    def __init__(self, sweep: Callable[[], object]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._futures: list[Future[None]] = []

    def start(self, minutes: float) -> Future[None]:
        """Start the thread unless it runs, and return a future that ends it when it is cancelled.

        Raises ``InvalidInput`` for an interval that is not above 0.
        """
        seconds = 60 * check_number(minutes, "sweep_interval_minutes", 0, inf)
        if not seconds:
            raise InvalidInput("sweep_interval_minutes must be more than 0")
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._ended = threading.Event()
                arguments = self._ended, min(seconds, threading.TIMEOUT_MAX)
                self._thread = threading.Thread(target=self._loop, args=arguments, daemon=True, name="tidal-ttl")
                self._thread.start()
            future, ended = Future[None](), self._ended
            self._futures.append(future)
        future.add_done_callback(lambda one: ended.set() if one.cancelled() else None)
        return future

    def stop(self, timeout: float | None = None) -> bool:
        """End the thread, and return whether it has ended after ``timeout`` seconds; ``None`` waits for it."""
        with self._lock:
            thread = self._thread
            self._ended.set()
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def _loop(self, ended: threading.Event, seconds: float) -> None:
        while not ended.wait(seconds):
            try:
                self._sweep()
            except Closed:
                break
            except TidalError as error:
                logger.warning("expired items stay until the next sweep: %s", error)
        with self._lock:
            futures, self._futures = self._futures, []
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_result(None)


def services_of(memory: TidalMemory) -> Services:
    """Return the parts of a memory that no public method reaches: a store reads and writes entries of its own."""
    return memory._services


@dataclass(frozen=True, slots=True)
class Write:
    """The entry that a put stores, with the texts that it is made of, each of which is indexed on its own. One without
    an entry erases."""

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

    def prepare(self, ops: Iterable[SearchOp]) -> None:
        """Embed the queries, and index the earlier puts that they may find, before any snapshot is open."""
        asked = [op for op in ops if op.query and op.query.strip()]
        self._embed({op.query for op in asked})
        for prefix in {op.namespace_prefix for op in asked}:
            self.services.handlers.index.index(to_scope(self.root, prefix))

    def _embed(self, queries: Iterable[str | None]) -> None:
        texts = {query: to_query(_cleaned(query), ()).meaning for query in queries if query}
        if texts:  # reads by key must not wait for, or fail with, an embedder
            vectors = self.services.recaller.embedder.embed_queries(list(texts.values()))
            self.vectors.update(zip(texts, vectors, strict=True))

    # reading

    def read(self, ops: Sequence[Op]) -> list[Result]:
        """Return the results of operations, all as of one state of the store. Raises ``QueryTimeout``."""
        with within_deadline(self.services.storage), self.services.storage.snapshot():
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
        scopes = self.services.storage.scopes(to_scope(self.root, op.namespace_prefix), where)
        filters = {scope: self._narrowed(scope, where, rest) if rest else where for scope in scopes}
        found = self._ranked(filters, op.query, most) if op.query in self.vectors else []
        if len(found) < most:  # what no search reads follows without a score
            found += self._newest(filters, {entry.id for entry, _ in found}, most)
        found.sort(key=_order)
        chosen = found[op.offset : most]
        self._touch([entry for entry, _ in chosen], op.refresh_ttl)
        return [SearchItem(**self._fields(entry), score=_within(score)) for entry, score in chosen]

    def _narrowed(self, scope: Scope, where: Where, rest: Mapping[str, Any]) -> Where:
        """Leave out what fails the part of a filter that the index cannot decide."""
        entries = self.services.storage.find(scope, where)
        return replace(where, exclude=[entry.id for entry in entries if not satisfies(entry.metadata, rest)])

    def _ranked(self, filters: Mapping[Scope, Where], query: str, most: int) -> list[Scored]:
        """Return the items nearest to a query, of all namespaces together. An item is only what it says: it has no
        speaker, thread or mood, so that the other stages of a recall have nothing to add to both channels."""
        recaller, settings = self.services.recaller, self.services.settings[RecallTuning]
        asked = to_query(_cleaned(query), ())
        embedded = recaller.embedder.current(self.vectors[query], asked.meaning)
        near: list[tuple[float, Channels, str]] = []
        storage = self.services.storage
        for scope, where in filters.items():
            columns, corpus = storage.columns(scope), storage.statistics(scope).corpus
            channels = Channels(storage, scope, asked, embedded, where, columns, corpus, strict=True)
            found = channels.found(max(2 * most, settings.pool), settings)
            scores = found.nearness(settings).tolist()
            near += [(score, channels, id_) for id_, score in zip(found.ids, scores, strict=True)]
        near.sort(key=lambda item: -item[0])
        read = ((score, channels.entries([id_]).get(id_)) for score, channels, id_ in near)
        return list(islice(((entry, score) for score, entry in read if entry), most))

    def _newest(self, filters: Mapping[Scope, Where], known: Collection[str], most: int) -> list[Scored]:
        """Return the newest items of each namespace that are not known, without a score."""
        find = partial(self.services.storage.find, limit=most, newest_first=True)
        entries = (entry for scope, where in filters.items() for entry in find(scope, where))
        return [(entry, None) for entry in entries if entry.id not in known]

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
        if not writes and not self.read_on:
            return
        storage = self.services.storage
        with self.services.jobs.throttle.held(), storage.transaction():
            for scope, tiers in self.read_on.items():
                there = storage.summaries(scope, list(tiers))  # another process may have deleted some since
                set_tiers(storage, scope, {id_: tier for id_, tier in tiers.items() if id_ in there})
            for write in writes:
                if write.entry is None:
                    if storage.erase(write.scope, [write.id]):
                        mark_unscrubbed(storage)
                else:
                    self._put(write.entry, write.parts)
        self.services.worker.call(*{write.scope for write in writes if write.parts})
        if any(write.entry is None for write in writes):
            scrub(storage)

    def _put(self, entry: Entry, parts: Sequence[str]) -> None:
        """Store an entry. What a search reads of it is embedded later."""
        storage, indexer = self.services.storage, self.services.handlers.index
        before = storage.get(entry.scope, [entry.id]).get(entry.id)
        if before and not expired(before, self.now):
            entry = replace(entry, recorded_at=before.recorded_at)
        storage.put(entry.scope, [Record(entry)], replace=before is not None)
        if parts:
            indexer.add(entry, parts_of(parts), self.now)
        elif before:
            indexer.drop(entry)


def sweep(services: Services, scope: Scope, now: datetime) -> int:
    """Erase the expired items of a scope, and return how many there were.

    They are looked for a page at a time and without holding up writers, since their values may be large.
    """
    storage, found, after = services.storage, list[str](), 0
    while page := storage.find(scope, Where(), limit=SWEEP_PAGE, after=after):
        found += [entry.id for entry in page if expired(entry, now)]
        after += len(page)
    if not found:
        return 0
    with storage.transaction():  # another process may have renewed some since
        still = [id_ for id_, item in storage.summaries(scope, found).items() if expired(item, now)]
        return storage.erase(scope, still)


def filter_of(op: SearchOp) -> dict[str, Any]:
    """Return the filter of a search, with its values in the form of stored ones."""
    return mapping({} if op.filter is None else op.filter, "a filter", MAX_FILTER_BYTES, finite=False)


def _cleaned(query: str) -> str:
    return clean(query.strip()[:MAX_CHARS], max_chars=MAX_CHARS, name="a query")


def _within(score: float | None) -> float | None:
    """Return a score in [0, 1]: meaning alone gives −1 to 1, and keywords add to it."""
    return None if score is None else min(max(score, 0.0), 1.0)


def _order(found: Scored) -> tuple[bool, float, float]:
    """Return a sort key: the best score first, then items without a score, the newest first."""
    entry, score = found
    return score is None, -(score or 0.0), -entry.occurred_at.timestamp()
