"""Entries in memory, with their passages in the index of their scope."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace as changed
from typing import NamedTuple

from tidal_plugins.errors import InvalidScope, InvalidVector, NotFound
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import (
    HEAD,
    TAIL,
    Adjacent,
    Corpus,
    Entries,
    EntrySummary,
    Passage,
    Record,
    Span,
    Statistics,
    Where,
    WhereLinks,
)
from tidal_plugins.storage.memory.figures import Kept, KeptPassage, content_changed, count, count_passage, next_change
from tidal_plugins.storage.memory.filters import entry_filter
from tidal_plugins.storage.memory.index import Index, Unit
from tidal_plugins.storage.memory.links import erase_found
from tidal_plugins.storage.memory.log import erase_lines
from tidal_plugins.storage.memory.state import Draft, MemoryBase, State
from tidal_plugins.storage.rows import check_storable, from_row, to_row
from tidal_plugins.storage.values import unit_vector

SLACK = 64
"""How many passages beyond twice those in use an index holds before it is compacted."""


NEW_VECTORS = "new_vectors"
"""The table of vectors that are to take the place of those in use, by the key of the passage."""


class _Prepared(NamedTuple):
    """A record that was checked."""

    entry: Entry
    passages: Sequence[Passage] | None
    units: Sequence[Unit | None]


class EntryStore(MemoryBase, Entries):
    """Stores entries by id, in the order in which they came. Filters are scans."""

    def put(self, scope: Scope, records: Iterable[Record], *, replace: bool = False) -> list[str]:
        prepared = [_prepared(scope, record) for record in records]
        with self._draft() as draft:
            check_size(draft, [unit for item in prepared for unit in item.units])
            ids = [item.entry.id for item in prepared]
            known: dict[str, Kept] = dict(entries_of(draft, scope, ids))
            change = next_change(draft, scope)
            if not replace:
                new: dict[str, _Prepared] = {}
                for item in prepared:
                    if item.entry.id not in known and new.setdefault(item.entry.id, item) is item:
                        self._store(draft, scope, item, draft.next_key(), change)
                return list(new)
            if missing := [id_ for id_ in ids if id_ not in known]:
                raise NotFound(f"no entry {shown(missing[0])} in scope {shown_scope(scope)}")
            for item in prepared:
                self._replace(draft, scope, item, change)
            return ids

    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        return {id_: _copied(kept.entry) for id_, kept in entries_of(self._state(), scope, ids)}

    def summaries(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, EntrySummary]:
        state, passes = self._state(), entry_filter(where or Where())
        passages = state.table(scope, "passages")
        return {
            id_: _summary(kept.entry, [passages[key] for key in kept.passages])
            for id_, kept in entries_of(state, scope, ids)
            if passes(kept.entry)
        }

    def adjacent(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Adjacent]:
        state, passes = self._state(), entry_filter(where)
        asked = [kept for _, kept in entries_of(state, scope, ids) if kept.entry.thread is not None]
        threads: dict[tuple[str | None, str], list[Kept]] = {(one.entry.thread, one.entry.kind): [] for one in asked}
        for kept in state.table(scope, "entries").values():
            thread = threads.get((kept.entry.thread, kept.entry.kind))
            if thread is not None and passes(kept.entry):
                thread.append(kept)
        for thread in threads.values():
            thread.sort(key=_order)
        return [near for one in asked for near in _near(one, threads[one.entry.thread, one.entry.kind], reach)]

    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        found = sorted(_found(self._state(), scope, where), key=_order, reverse=newest_first)
        end = None if limit is None or limit < 0 else after + limit
        return [_copied(kept.entry) for kept in found[after:end]]

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        state, passes = self._state(), entry_filter(where)
        return sorted(
            scope
            for scope, *name in state.names()
            if name == ["entries"]
            and scope[: len(prefix)] == prefix
            and any(passes(kept.entry) for kept in state.table(scope, "entries").values())
        )

    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        with self._draft() as draft:
            found = dict(entries_of(draft, scope, draft.table(scope, "entries") if ids is None else ids))
            if found:
                entries = draft.change(scope, "entries")
                for kept in found.values():
                    self._unindex(draft, scope, kept)
                    count(draft, scope, kept.entry, -1)
                    del entries[kept.entry.id]
                content_changed(draft, scope)
                erase_found(draft, scope, WhereLinks(ends=found))
                erase_lines(draft, scope, found)
            for name in draft.names(scope) if ids is None else ():
                if name != (scope, "figures"):  # the number of erasures must not fall
                    draft.change(*name).clear()
            return len(found)

    def statistics(self, scope: Scope) -> Statistics:
        state = self._state()
        corpus = state.table("corpus")
        passages, words = corpus.get("passages", 0), corpus.get("words", 0)
        return Statistics(
            Corpus(passages, words / passages if passages else 0.0),
            sorted(state.table(scope, "speakers")),
            dict(state.table(scope, "volumes")),
            state.table(scope, "figures").get("erasures", 0),
        )

    def _store(self, draft: Draft, scope: Scope, item: _Prepared, number: int, change: int) -> None:
        passages = self._index(draft, scope, item)
        draft.change(scope, "entries")[item.entry.id] = Kept(number, item.entry, passages, change)
        count(draft, scope, item.entry, 1)

    def _replace(self, draft: Draft, scope: Scope, item: _Prepared, change: int) -> None:
        entries = draft.change(scope, "entries")
        kept: Kept = entries[item.entry.id]
        count(draft, scope, kept.entry, -1)
        if item.passages is not None:
            self._unindex(draft, scope, kept)
            self._store(draft, scope, item, kept.number, change)
        else:
            entries[item.entry.id] = kept._replace(entry=item.entry, changed=change)
            count(draft, scope, item.entry, 1)
        if item.passages is not None or changed(kept.entry, tier=item.entry.tier) != item.entry:
            content_changed(draft, scope)

    def _index(self, draft: Draft, scope: Scope, item: _Prepared) -> tuple[int, ...]:
        if not item.passages:
            return ()
        table, keys = draft.change(scope, "passages"), list[int]()
        for passage, unit in zip(item.passages, item.units, strict=True):
            index, words = _index_for(draft, scope, unit), passage.terms.split()
            keys.append(draft.next_key())
            index.add(keys[-1], words, unit)
            kept = KeptPassage(Span(item.entry.id, passage.start, passage.end, len(words)), unit is not None)
            table[keys[-1]] = kept
            count_passage(draft, kept, 1)
            if unit is not None:
                draft.change("corpus")["dimensions"] = len(unit)
        return tuple(keys)

    def _unindex(self, draft: Draft, scope: Scope, kept: Kept) -> None:
        table = draft.change(scope, "passages")
        for key in kept.passages:
            count_passage(draft, table.pop(key), -1)
            if key in draft.table(NEW_VECTORS):
                del draft.change(NEW_VECTORS)[key]


def entries_of(state: State, scope: Scope, ids: Iterable[str]) -> Iterable[tuple[str, Kept]]:
    """Return the entries found, by id, in the order asked."""
    table = state.table(scope, "entries")
    return [(id_, table[id_]) for id_ in dict.fromkeys(ids) if id_ in table]


def check_size(state: State, units: Iterable[Unit | None]) -> None:
    """Raise ``InvalidVector`` unless all vectors have the size of the store's, or, before it has any, one size."""
    corpus = state.table("corpus")
    expected = corpus.get("dimensions", 0) if corpus.get("vectors", 0) else 0
    for unit in units:
        if unit is not None and len(unit) != (expected := expected or len(unit)):
            raise InvalidVector(f"a vector has {len(unit)} dimensions, not {expected} as the store's")


def _index_for(draft: Draft, scope: Scope, unit: Unit | None) -> Index:
    """Return the scope's index to add to. One that holds mostly what is gone, or vectors of an earlier size, is
    compacted first."""
    index: Index | None = draft.table("indexes").get(scope)
    passages = draft.table(scope, "passages")
    resized = index is not None and unit is not None and index.dimensions not in (0, len(unit))
    if index is None or resized or index.size > 2 * len(passages) + SLACK:
        index = draft.change("indexes")[scope] = index.compacted(passages) if index else Index()
    return index


def _found(state: State, scope: Scope, where: Where) -> Iterable[Kept]:
    passes = entry_filter(where)
    if where.ids is not None:
        return [kept for _, kept in entries_of(state, scope, where.ids) if passes(kept.entry)]
    return [kept for kept in state.table(scope, "entries").values() if passes(kept.entry)]


def _order(kept: Kept) -> tuple[object, int]:
    return kept.entry.occurred_at, kept.number


def _near(one: Kept, thread: Sequence[Kept], reach: int) -> Iterable[Adjacent]:
    """Return what stands beside an entry, in the order of :meth:`find` on each side."""
    before = [kept for kept in thread if _order(kept) < _order(one)]
    behind = [kept for kept in thread if _order(kept) > _order(one)]
    for sign, side in ((-1, before[::-1]), (1, behind)):
        for place, kept in enumerate(side[: max(reach, 0)], 1):
            yield Adjacent(one.entry.id, kept.entry.id, sign * place)


def _summary(entry: Entry, passages: Sequence[KeptPassage]) -> EntrySummary:
    return EntrySummary(
        id=entry.id,
        importance=entry.importance,
        speaker=entry.speaker,
        role=entry.role,
        affect=entry.affect,
        tier=entry.tier,
        passages=len(passages),
        thread=entry.thread,
        words=sum(passage.span.words for passage in passages),
        head=entry.text[:HEAD],
        tail=entry.text[-TAIL:],
        occurred_at=entry.occurred_at,
    )


def _prepared(scope: Scope, record: Record) -> _Prepared:
    if record.entry.scope != scope:
        raise InvalidScope(
            f"entry {shown(record.entry.id)} is of scope {shown(record.entry.scope)}, not {shown(scope)}"
        )
    row = to_row(record.entry)
    check_storable(row)
    passages = record.passages
    check_storable(passage.terms for passage in passages or ())
    units = [None if passage.vector is None else unit_vector(passage.vector) for passage in passages or ()]
    return _Prepared(from_row(row, scope), passages, units)


def _copied(entry: Entry) -> Entry:
    """Return an entry whose values may be changed."""
    affect = entry.affect
    if affect and affect.emotions:
        affect = changed(affect, emotions=dict(affect.emotions))
    return changed(entry, affect=affect, metadata=copy.deepcopy(dict(entry.metadata)))
