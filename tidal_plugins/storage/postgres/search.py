"""Search a PostgreSQL database: with BM25 by keywords, and by vectors, over the columns of a scope."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tidal_plugins.errors import TidalError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Match, Renewal, Search, Where
from tidal_plugins.storage.columns.cache import ColumnCache
from tidal_plugins.storage.columns.source import Mark
from tidal_plugins.storage.columns.view import Arrays, Columns
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

logger = logging.getLogger(__name__)


class SearchStore(PostgresBase, Search):
    """Searches the columns of scopes, and the words in the database."""

    _held: ColumnCache
    _deadline: float
    _saving: list[threading.Thread]

    def columns(self, scope: Scope) -> Columns:
        source = ScopeSource(self._db, scope)
        if self._db.writing:  # what is not committed yet must not enter a cache that others read
            arrays, newer = self._held.anew(source), False
        else:
            arrays, newer = self._held.arrays(scope, source)
            if not self._db.read_only and (unsaved := self._held.unsaved(scope)):
                self._save(scope, *unsaved)
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

    def _save(self, scope: Scope, arrays: Arrays, mark: Mark) -> None:
        """Save columns in the background, so that no reader waits for it. Closing the store waits."""

        def run() -> None:
            try:
                save(self._db, scope, arrays, mark)
            except TidalError as error:
                logger.info("columns were not saved, and will be another time: %s", error)

        thread = threading.Thread(target=run, name="tidal-columns")
        with suppress(RuntimeError):  # the interpreter is shutting down, or there are too many threads
            thread.start()
            self._saving = [*(each for each in self._saving if each.is_alive()), thread]

    def _saved(self) -> None:
        """Wait for columns that are being saved."""
        for thread in self._saving:
            thread.join()
