"""Search in an SQL store: over the columns of a scope, beside what only its tables tell."""

from __future__ import annotations

import json
import logging
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.errors import Corrupt, TidalError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import HEAD, TAIL, Adjacent, Match, Renewal, Search, Where
from tidal_plugins.storage.columns.binary import HALF, matrix, size_of
from tidal_plugins.storage.columns.cache import ColumnCache, Mark, Range, Source
from tidal_plugins.storage.columns.pieces import SIZE, Piece, SavedPiece, centre_of, packed, unsaved
from tidal_plugins.storage.columns.postings import NAME as POSTINGS
from tidal_plugins.storage.columns.postings import Posting, Postings, distinct, scored
from tidal_plugins.storage.columns.tables import EARLIEST, ENTRY, LATEST, Arrays, PassageRow, Rows, places_of
from tidal_plugins.storage.columns.view import Columns, Found
from tidal_plugins.storage.damage import PASSAGES, VECTORS, note, passage_checksum, vector_checksum
from tidal_plugins.storage.rows import unit_vector
from tidal_plugins.storage.sql.dialect import Dialect, SQLStore, condition

S = TypeVar("S", bound=SavedPiece)

_KEYS = "SELECT e.id, e.key FROM $by_id"
_HEADS = "SELECT e.key, $ends FROM $by_key"
_EMOTIONS = "SELECT e.key, e.emotions FROM $by_key AND e.emotions IS NOT NULL"


_REALS = {"importance": 0.0, "valence": 0.0, "weight": -1.0, "half_life": 1.0}
_TIMES = [name for name, kind in ENTRY.items() if kind == "i8" and name != "key"]
_ABSENT = dict.fromkeys(_TIMES, LATEST) | {"valid_from": EARLIEST} | _REALS
NUMBERS = ", ".join(
    f"CAST(coalesce({name}, '{_ABSENT[name]}') AS {'float8' if name in _REALS else 'bigint'})"
    for name in ENTRY
    if name in _ABSENT
)
"""The columns of an entry that are numbers, as ``EntryRow`` has them. Damage can change the type of a value;
the cast keeps one bad row from breaking the array of its scope."""


class StoredSource(Source, ABC, Generic[S]):
    """One scope of an open snapshot, as the origin of columns, and of what only the tables know.

    It is all of the scope, or what has any of some words.
    """

    dialect: ClassVar[Dialect]
    number: int
    """The number of the scope."""

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        for passage, entry, start, end, words, vector, stored, of_vector, id_ in self.passages(changes, gaps, key):
            if vector is not None and vector_checksum(passage, self.number, vector) != of_vector:
                note(VECTORS, id_)
                vector = None
            if passage_checksum(self.number, passage, id_, start, end, words) == stored:
                yield PassageRow(passage, entry, start, end, words, vector)
            else:
                note(PASSAGES, id_)

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        for saved, piece in self.pieces():
            if piece is not None:
                yield (saved.first, saved.last), saved.changes, piece

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        found = self.stored_units(keys.tolist())
        empty = bytes(max(map(len, found.values()), default=0))
        return matrix([found.get(key, empty) for key in keys.tolist()], size_of(empty))

    def stored_units(self, keys: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of passages by key, without the damaged ones."""
        found = self.vectors(keys)
        return {key: vector for key, vector, sum_ in found if sum_ == vector_checksum(key, self.number, vector)}

    def is_current(self, mark: Mark) -> bool:
        """Return whether no entry has gone or was replaced since a mark. It stays so until the transaction ends."""
        return self.mark().erasures == mark.erasures

    @abstractmethod
    def last_entry(self) -> int:
        """Return a key that is at least that of the last entry which the snapshot sees."""

    @abstractmethod
    def query(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a query of entries. Those that cannot be read are left out, and noted."""

    @abstractmethod
    def passages(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[Any]:
        """Yield rows of passages by key, with the vector, the two checksums and the id of the entry."""

    @abstractmethod
    def vectors(self, keys: Sequence[int]) -> Iterable[tuple[int, bytes, int]]:
        """Return the vectors of passages by key, with their checksums."""

    @abstractmethod
    def postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        """Return what the index has beyond the known postings of words."""

    @abstractmethod
    def corpus(self) -> tuple[int, int]:
        """Return the numbers of passages and words of the whole store."""

    @abstractmethod
    def pieces(self) -> Iterator[tuple[S, Piece | None]]:
        """Yield what is saved by its keys, each with its piece; ``None`` for one that is damaged."""

    @abstractmethod
    def changed_after(self, changes: int) -> list[int]:
        """Return the keys of the entries that were stored or changed after that change, in order."""

    @abstractmethod
    def drop(self, pieces: Sequence[S]) -> None:
        """Delete saved pieces."""

    @abstractmethod
    def keep(self, first: int, last: int, changes: int, centre: int, data: bytes) -> None:
        """Save a piece in place of those that hold any of its entries, unless one of these is newer."""

    @abstractmethod
    def mark_as_of(self, pieces: Sequence[S], changes: int) -> None:
        """Note that saved pieces are as of a later change, unless they were replaced."""


class StoredColumns(Columns):
    """The columns of a scope, with what only the tables know. Use it inside the snapshot that it was made in.

    ``broken`` says why the vectors cannot be read.
    """

    def __init__(
        self,
        arrays: Arrays,
        source: StoredSource[Any],
        deadline: Callable[[], AbstractContextManager[None]],
        last: int | None = None,
        broken: Corrupt | None = None,
    ) -> None:
        super().__init__(arrays, last)
        self._source, self._bounded, self._broken = source, deadline, broken
        self._units: dict[int, bytes] = {}
        self._heads: dict[int, tuple[str, str]] = {}

    def nearest(self, unit: NDArray[np.float32], k: int, where: Where) -> Found:
        self._check_vectors()
        with self._bounded():
            return super().nearest(unit, k, where)

    def cosines(self, unit: NDArray[np.float32], rows: Rows) -> tuple[NDArray[np.float64], Rows]:
        self._check_vectors()
        return super().cosines(unit, rows)

    def units(self, passages: Rows) -> NDArray[np.float32]:
        """Return the vectors of passages. One recall asks for some of them several times, and they are read once."""
        self._check_vectors()
        if self.arrays.units is not None:
            return super().units(passages)
        keys = self.arrays.passages["key"][passages].tolist()
        unknown = [key for key in keys if key not in self._units]
        if unknown:
            self._units |= (found := self._source.stored_units(unknown))
            rows, _ = self.passages_of_keys(np.array([key for key in unknown if key not in found], np.int64))
            for id_ in dict.fromkeys(self.ids(self.arrays.passages["entry"][rows])):
                note(VECTORS, id_)  # it is damaged or not there
        return self._matrix(keys)

    def _matrix(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of passages by key, as far as they were read, and 0 for others."""
        empty = bytes(HALF * self.arrays.dimensions)
        return matrix([self._units.get(key, empty) for key in keys], self.arrays.dimensions)

    def matching(self, terms: Sequence[str], k: int, where: Where) -> Found:
        words = distinct(terms) if k > 0 else []
        held = self.arrays.notes.setdefault(POSTINGS, Postings()) if self._last is None else Postings()
        with self._bounded():
            postings = held.of(self._source.postings, words, self.arrays)
        passages, total = self._source.corpus()
        found = scored(postings, self.arrays.passages["words"], passages, total / max(passages, 1))
        return self.best(*found, k, where)

    def rows(self, ids: Sequence[str]) -> Rows:
        places, there = places_of(self.arrays.key, self._keys_of(ids))
        return np.where(there, places, -1)

    def heads(self, rows: Rows) -> list[tuple[str, str]]:
        """Return the ends of texts. One recall asks for most of them several times, and they are read once."""
        unknown = [row for row, key in zip(rows, self.arrays.key[rows].tolist(), strict=True) if key not in self._heads]
        read = self._of(_HEADS, np.array(unknown, np.int64))
        self._heads |= {key: (head[:HEAD], tail[-TAIL:]) for key, head, tail in read}
        return [self._heads.get(key, ("", "")) for key in self.arrays.key[rows].tolist()]

    def emotions(self, rows: Rows) -> list[Mapping[str, float] | None]:
        found = {}
        for key, emotions in self._of(_EMOTIONS, rows):
            with suppress(ValueError):  # noted when the entry is read
                found[key] = json.loads(emotions)
        return [found.get(key) for key in self.arrays.key[rows].tolist()]

    def select(self, where: Where) -> Rows:
        filter_ = condition(self._source.dialect, self._source.number, where)
        rows = self._source.query(f"SELECT e.key FROM @entries e WHERE {filter_.sql}", *filter_.parameters)
        return np.fromiter((row[0] for row in rows), np.int64)

    def _keys_of(self, ids: Sequence[str]) -> Rows:
        """Return the keys of entries by id, −1 for what is not there."""
        source = self._source
        found = dict(source.query(_KEYS, source.dialect.array(ids), source.number)) if len(ids) else {}
        return np.array([found.get(id_, -1) for id_ in ids], np.int64)

    def _of(self, sql: str, rows: Rows) -> list[Any]:
        keys = self.arrays.key[rows].tolist()
        return self._source.query(sql, self._source.dialect.array(keys), self._source.number) if keys else []

    def _check_vectors(self) -> None:
        if self._broken is not None:
            raise self._broken


class SearchStore(SQLStore, Search):
    """Searches the columns of scopes, and the words in the tables. It holds columns in memory until it is closed, and
    saves them in the background."""

    _held: ColumnCache
    _deadline: float
    _saving: BackgroundSaving

    def _open(self, exact_vectors_up_to: int, column_cache_bytes: int, query_deadline: float) -> None:
        """Begin to hold columns, once the store is open."""
        self._held, self._deadline = ColumnCache(exact_vectors_up_to, column_cache_bytes), query_deadline
        self._saving = BackgroundSaving(self._held, self._catch_up)
        _open_stores.add(self)

    def close(self) -> None:
        self._saving.finish()
        self._db.close()
        self._held.forget()

    def forked(self) -> None:
        """Start anew in a child process, where threads that do not exist may hold locks."""
        self._saving.forget()
        self._db.forked()
        self._held.forget()

    @contextmanager
    def within_deadline(self) -> Iterator[None]:
        with nullcontext() if self._db.bounded or self._db.writing else self._bounded():
            yield

    def columns(self, scope: Scope, *, whole: bool = True) -> Columns:
        source, broken = self._source(scope), None
        try:
            arrays, newer = self._arrays(scope, source)
        except Corrupt as error:  # and if it is not for the vectors, it is raised again
            source, broken = self._source(scope, vectors=False), error
            arrays, newer = self._held.anew(source), False
        if not self._db.writing and (unsaved := self._held.unsaved(scope)):
            self._saving.run(lambda: self._save(scope, *unsaved))
        for row in arrays.damaged:
            note(*row)
        return StoredColumns(arrays, source, self._bounded, source.last_entry() if newer else None, broken)

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            self._check_size(unit)
            columns = self.columns(scope, whole=False)
            return columns.matches(columns.nearest(unit, k, where))

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot():
            columns = self._worded(scope, terms) if self._db.writing else self.columns(scope, whole=False)
            return columns.matches(columns.matching(terms, k, where))

    def adjacent(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Adjacent]:
        with self.snapshot():
            columns = self.columns(scope, whole=False)
            rows = columns.rows(list(dict.fromkeys(ids)))
            near = columns.near(rows[rows >= 0], max(reach, 0), where)
            found = zip(columns.ids(near.row), columns.ids(near.other), near.places.tolist(), strict=True)
            return [Adjacent(*each) for each in found]

    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        units = {key: unit_vector(vector) for key, vector in vectors.items()}
        with self.transaction():
            return self._renew(units, most, anew)

    def _bounded(self) -> AbstractContextManager[None]:
        return self._db.deadline(self._deadline)

    def _worded(self, scope: Scope, terms: Sequence[str]) -> Columns:
        """Return columns of what has any of ``terms``: a transaction keeps none, and should not read a whole scope."""
        source = self._source(scope, terms=terms)
        return StoredColumns(self._held.anew(source), source, self._bounded)

    def _arrays(self, scope: Scope, source: StoredSource[Any]) -> tuple[Arrays, bool]:
        # What is not committed yet must not enter a cache that others read.
        return (self._held.anew(source), False) if self._db.writing else self._held.arrays(scope, source)

    def _catch_up(self, scope: Scope) -> None:
        """Bring the columns of a scope up to date, and save them."""
        with self.snapshot():
            self._arrays(scope, self._source(scope))
        if unsaved := self._held.unsaved(scope):
            self._save(scope, *unsaved)

    def _save(self, scope: Scope, arrays: Arrays, mark: Mark) -> None:
        """Save the columns of a scope as they were at a mark: the pieces that are missing, damaged or have changed.

        Each piece is one transaction. If entries have gone meanwhile, nothing more is saved. Another process may do the
        same at the same time: the newer piece stays. Raises ``Busy`` if others write for long.
        """
        with self.snapshot():
            source = self._source(scope)
            found = [(saved, piece is not None) for saved, piece in source.pieces()]
            rows = [saved for saved, intact in found if intact]
            oldest = min((row.changes for row in rows), default=mark.changes)
            changed = source.changed_after(oldest) if rows else []
        if damaged := [saved for saved, intact in found if not intact]:
            with self._brief():
                source.drop(damaged)
        kept, pieces = unsaved(arrays, rows, changed)
        for first, end in pieces:
            data = packed(arrays, first, end)
            with self._brief():
                if not source.is_current(mark):
                    return
                source.keep(int(arrays.key[first]), int(arrays.key[end - 1]), mark.changes, centre_of(arrays), data)
        with self._brief():
            if kept and source.is_current(mark):
                source.mark_as_of(kept, mark.changes)

    def _brief(self) -> AbstractContextManager[None]:
        """Run a transaction that is left for another time if it would wait for long."""
        return self.transaction()

    @abstractmethod
    def _source(self, scope: Scope, *, terms: Sequence[str] | None = None, vectors: bool = True) -> StoredSource[Any]:
        """Return the scope as the open snapshot sees it, or what of it has any of some words, or has no vectors."""

    @abstractmethod
    def _check_size(self, unit: NDArray[np.float32]) -> None:
        """Raise ``InvalidInput`` for a vector of another size than that of the store's."""

    @abstractmethod
    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        """Store new vectors, and put all of them in place once none is missing."""


_open_stores: weakref.WeakSet[SearchStore] = weakref.WeakSet()


def _forked() -> None:
    for store in _open_stores:
        store.forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)


UNSAVED_SHARE = 0.25
"""Share of the entries held as columns that may be stored before these are saved again. Each time reads every piece
once, so that a fixed number would make an import of a million read them 244 times."""

logger = logging.getLogger(__name__)


class BackgroundSaving:
    """Saves the columns of the scopes of one store.

    ``catch_up`` brings the columns of a scope up to date, and saves them if they should be.
    """

    def __init__(self, held: ColumnCache, catch_up: Callable[[Scope], None]) -> None:
        self._held, self._catch_up = held, catch_up
        self._threads: list[threading.Thread] = []
        self._unread: dict[Scope, int] = {}  # entries that were stored since the columns were last brought up to date

    def run(self, work: Callable[[], None]) -> None:
        """Do some work in a thread. An error of the store is logged: another time will do."""

        def guarded() -> None:
            try:
                work()
            except TidalError as error:
                logger.info("columns were not saved, and will be another time: %s", error)

        thread = threading.Thread(target=guarded, name="tidal-columns")
        with suppress(RuntimeError):  # the interpreter is shutting down, or there are too many threads
            thread.start()
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]

    @property
    def busy(self) -> bool:
        """Return whether a thread is at work."""
        return any(thread.is_alive() for thread in self._threads)

    def stored(self, scope: Scope, entries: int) -> None:
        """Bring columns up to date and save them, once many entries were stored since.

        So the next process need not read all rows of an import when it first searches. What is not committed yet is
        read the next time.
        """
        self._unread[scope] = self._unread.get(scope, 0) + entries
        many = max(SIZE, int(self._held.entries(scope) * UNSAVED_SHARE))
        if self._unread[scope] >= many and not self.busy:
            self._bring_up(scope)

    def finish(self) -> None:
        """Wait for what is being saved, and save those entries that fill a piece and were stored since."""
        self._wait()
        for scope in [scope for scope, entries in self._unread.items() if entries >= SIZE]:
            self._bring_up(scope)
        self._wait()

    def forget(self) -> None:
        """Start anew in a child process, which has none of the threads."""
        self._threads, self._unread = [], {}

    def _bring_up(self, scope: Scope) -> None:
        self._unread[scope] = 0
        self.run(lambda: self._catch_up(scope))

    def _wait(self) -> None:
        for thread in self._threads:
            thread.join()
