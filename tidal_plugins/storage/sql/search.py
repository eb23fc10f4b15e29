"""Search in an SQL store: over the columns of a scope, beside what only its tables tell."""

from __future__ import annotations

import json
import os
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import HEAD, TAIL, Match, Renewal, Search, Where
from tidal_plugins.storage.columns.arrays import Arrays
from tidal_plugins.storage.columns.background import BackgroundSaving
from tidal_plugins.storage.columns.cache import ColumnCache
from tidal_plugins.storage.columns.postings import NAME as POSTINGS
from tidal_plugins.storage.columns.postings import Posting, Postings, distinct, scored
from tidal_plugins.storage.columns.units import matrix
from tidal_plugins.storage.columns.view import Columns, Found
from tidal_plugins.storage.damage import VECTORS, note
from tidal_plugins.storage.sql.conditions import condition
from tidal_plugins.storage.sql.dialect import Blocks, Dialect, SQLStore
from tidal_plugins.storage.values import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.arrays import Rows

_KEYS = "SELECT e.id, e.key FROM $by_id"
_HEADS = "SELECT e.key, $ends FROM $by_key"
_EMOTIONS = "SELECT e.key, e.emotions FROM $by_key AND e.emotions IS NOT NULL"


class StoredColumns(Columns):
    """The columns of a scope, with what only the tables know. Use it inside the snapshot that it was made in."""

    dialect: ClassVar[Dialect]

    def __init__(self, arrays: Arrays, db: Blocks, number: int, deadline: float, last: int | None) -> None:
        super().__init__(arrays, last)
        self._blocks, self._number, self._deadline = db, number, deadline
        self._units: dict[int, bytes] = {}

    def nearest(self, unit: NDArray[np.float32], k: int, where: Where) -> Found:
        with self._blocks.deadline(self._deadline):
            return super().nearest(unit, k, where)

    def units(self, passages: Rows) -> NDArray[np.float32]:
        """Return the vectors of passages. One recall asks for some of them several times, and they are read once."""
        import numpy as np

        if self.arrays.units is not None:
            return super().units(passages)
        keys = self.arrays.passages["key"][passages].tolist()
        unknown = [key for key in keys if key not in self._units]
        if unknown:
            self._units |= (found := self._stored_units(unknown))
            rows, _ = self.passages_of_keys(np.array([key for key in unknown if key not in found], np.int64))
            for id_ in dict.fromkeys(self.ids(self.arrays.passages["entry"][rows])):
                note(VECTORS, id_)  # it is damaged or not there
        empty = bytes(4 * self.arrays.dimensions)
        return matrix([self._units.get(key, empty) for key in keys], self.arrays.dimensions)

    def matching(self, terms: Sequence[str], k: int, where: Where) -> Found:
        words = distinct(terms) if k > 0 else []
        held = self.arrays.notes.setdefault(POSTINGS, Postings()) if self._last is None else Postings()
        with self._blocks.deadline(self._deadline):
            postings = held.of(self._postings, words, self.arrays)
        passages, total = self._corpus()
        found = scored(postings, self.arrays.passages["words"], passages, total / max(passages, 1))
        return self.best(*found, k, where)

    def rows(self, ids: Sequence[str]) -> Rows:
        import numpy as np

        found = dict(self._query(_KEYS, self.dialect.array(ids), self._number)) if len(ids) else {}
        keys, known = np.array([found.get(id_, -1) for id_ in ids], np.int64), self.arrays.key
        if not len(known) or not len(keys):
            return np.full(len(keys), -1, np.int64)
        places = np.searchsorted(known, keys).clip(max=len(known) - 1)
        return np.where(known[places] == keys, places, -1)

    def heads(self, rows: Rows) -> list[tuple[str, str]]:
        found = {key: (head[:HEAD], tail[-TAIL:]) for key, head, tail in self._of(_HEADS, rows)}
        return [found.get(key, ("", "")) for key in self.arrays.key[rows].tolist()]

    def emotions(self, rows: Rows) -> list[Mapping[str, float] | None]:
        found = {}
        for key, emotions in self._of(_EMOTIONS, rows):
            try:
                found[key] = json.loads(emotions)
            except ValueError:
                continue  # noted when the entry is read
        return [found.get(key) for key in self.arrays.key[rows].tolist()]

    def select(self, where: Where) -> Rows:
        import numpy as np

        filter_ = condition(self.dialect, self._number, where)
        rows = self._query(f"SELECT e.key FROM @entries e WHERE {filter_.sql}", *filter_.parameters)
        return np.fromiter((row[0] for row in rows), np.int64)

    def _of(self, sql: str, rows: Rows) -> list[Any]:
        keys = self.arrays.key[rows].tolist()
        return self._query(sql, self.dialect.array(keys), self._number) if keys else []

    @abstractmethod
    def _query(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a query of entries. Those that cannot be read are left out, and noted."""

    @abstractmethod
    def _stored_units(self, keys: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of passages by key, without the damaged ones."""

    @abstractmethod
    def _postings(self, asked: Sequence[tuple[str, Posting | None]]) -> NDArray[np.int64]:
        """Return what the index has beyond the known postings of words."""

    @abstractmethod
    def _corpus(self) -> tuple[int, int]:
        """Return the numbers of passages and words of the whole store."""


class SearchStore(SQLStore, Search):
    """Searches the columns of scopes, and the words in the tables. It holds columns in memory until it is closed."""

    _held: ColumnCache
    _deadline: float
    _saving: BackgroundSaving[Any]

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
        if self._db.bounded or self._db.writing:
            yield
        else:
            with self._db.deadline(self._deadline):
                yield

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            self._check_size(unit)
            columns = self.columns(scope)
            return columns.matches(columns.nearest(unit, k, where))

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot():
            columns = self._worded(scope, terms) if self._db.writing else self.columns(scope)
            return columns.matches(columns.matching(terms, k, where))

    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        units = {key: unit_vector(vector) for key, vector in vectors.items()}
        with self.transaction():
            return self._renew(units, most, anew)

    @abstractmethod
    def _catch_up(self, scope: Any) -> None:
        """Bring the columns of a scope up to date, and save them. It is given as the cache names it."""

    @abstractmethod
    def _check_size(self, unit: NDArray[np.float32]) -> None:
        """Raise ``InvalidInput`` for a vector of another size than that of the store's."""

    @abstractmethod
    def _worded(self, scope: Scope, terms: Sequence[str]) -> Columns:
        """Return columns of what has any of ``terms``: a transaction keeps none, and should not read a whole scope."""

    @abstractmethod
    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        """Store new vectors, and put all of them in place once none is missing."""


_open_stores: weakref.WeakSet[SearchStore] = weakref.WeakSet()


def _forked() -> None:
    for store in _open_stores:
        store.forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
