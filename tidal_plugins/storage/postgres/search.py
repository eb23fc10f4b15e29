"""Search a PostgreSQL database: with BM25 by keywords, and by vectors, over the columns of a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, Renewal, Search, Where
from tidal_plugins.storage.columns.background import BackgroundSaving
from tidal_plugins.storage.columns.cache import ColumnCache
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.damage import note
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.columns import PostgresColumns, ScopeSource
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.renewal import renew
from tidal_plugins.storage.postgres.saving import save
from tidal_plugins.storage.postgres.state import check_size, vector_size
from tidal_plugins.storage.values import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LAST = "SELECT coalesce(max(key), 0) FROM tidal_entries WHERE scope = %s"


class SearchStore(PostgresBase, Search):
    """Searches the columns of scopes, and the words in the database."""

    _held: ColumnCache
    _deadline: float
    _saving: BackgroundSaving[Scope]

    def columns(self, scope: Scope) -> Columns:
        source = ScopeSource(self._db, scope)
        if self._db.writing:  # what is not committed yet must not enter a cache that others read
            arrays, newer = self._held.anew(source), False
        else:
            arrays, newer = self._held.arrays(scope, source)
            if not self._db.read_only and (unsaved := self._held.unsaved(scope)):
                self._saving.run(lambda: save(self._db, scope, *unsaved))
        for row in arrays.damaged:
            note(*row)
        last = self._db.one(scope, _LAST, number_of(scope)) if newer else None
        return PostgresColumns(arrays, self._db, scope, self._deadline, last)

    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        unit = unit_vector(vector)
        with self.snapshot():
            check_size(len(unit), vector_size(self._db))
            columns = self.columns(scope)
            return columns.matches(columns.nearest(unit, k, where))

    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        with self.snapshot():
            columns = self._worded(scope, terms) if self._db.writing else self.columns(scope)
            return columns.matches(columns.matching(terms, k, where))

    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        units = {key: unit_vector(vector) for key, vector in vectors.items()}
        with self.transaction():
            return renew(self._db, units, most, anew)

    def _worded(self, scope: Scope, terms: Sequence[str]) -> Columns:
        """Return columns of what has any of ``terms``: a transaction keeps none, and should not read a whole scope."""
        source = ScopeSource(self._db, scope, terms)
        return PostgresColumns(self._held.anew(source), self._db, scope, self._deadline, None)

    def _stored(self, scope: Scope, entries: int) -> None:
        self._saving.stored(scope, entries)

    def _catch_up(self, scope: Scope) -> None:
        """Bring the columns of a scope up to date, and save them."""
        with self.snapshot():
            self._held.arrays(scope, ScopeSource(self._db, scope))
        if unsaved := self._held.unsaved(scope):
            save(self._db, scope, *unsaved)
