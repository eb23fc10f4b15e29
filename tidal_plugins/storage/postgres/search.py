"""Search a PostgreSQL database: with BM25 by keywords, and by vectors, over the columns of a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Renewal
from tidal_plugins.storage.columns.background import BackgroundSaving
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.damage import note
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.columns import PostgresColumns, ScopeSource
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.renewal import check_size, renew, vector_size
from tidal_plugins.storage.postgres.saving import save
from tidal_plugins.storage.sql.search import SearchStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LAST = "SELECT coalesce(max(key), 0) FROM tidal_entries WHERE scope = %s"


class PostgresSearch(PostgresBase, SearchStore):
    """Searches a database."""

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

    def _check_size(self, unit: NDArray[np.float32]) -> None:
        check_size(len(unit), vector_size(self._db))

    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        return renew(self._db, units, most, anew)

    def _worded(self, scope: Scope, terms: Sequence[str]) -> Columns:
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
