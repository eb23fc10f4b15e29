"""Search an SQLite file: with BM25 by keywords, and by vectors, over the columns of a scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from tidal_plugins.errors import Corrupt, InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Renewal
from tidal_plugins.storage.checksums import vector_checksum
from tidal_plugins.storage.columns.background import BackgroundSaving
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.damage import VECTORS, note
from tidal_plugins.storage.sql.search import SearchStore
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.columns import LAST_ENTRY, ScopeSource, SQLiteColumns, expression
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.renewal import renew
from tidal_plugins.storage.sqlite.saving import save

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.arrays import Arrays


class SQLiteSearch(SQLiteBase, SearchStore):
    """Searches the indexes of an SQLite file."""

    _saving: BackgroundSaving[int]

    def columns(self, scope: Scope) -> Columns:
        key, broken = self._key(scope), None
        try:
            arrays, newer = self._arrays(ScopeSource(self._db, key))
        except Corrupt as error:  # and if it is not for the vectors, it is raised again
            broken, source = error, ScopeSource(self._db, key, vectors=False)
            arrays, newer = self._held.anew(source), False
        if not self._db.writing and (unsaved := self._held.unsaved(key)):
            self._saving.run(lambda: save(self._db, key, *unsaved))
        for row in arrays.damaged:
            note(*row)
        last = self._db.one(LAST_ENTRY) if newer else None
        return SQLiteColumns(arrays, self._db, key, self._deadline, last, broken)

    def _worded(self, scope: Scope, terms: Sequence[str]) -> Columns:
        key = self._key(scope)
        source = ScopeSource(self._db, key, vectors=False, query=expression(key, terms))
        return SQLiteColumns(self._held.anew(source), self._db, key, self._deadline, None, None)

    def _stored(self, scope: Scope, entries: int) -> None:
        self._saving.stored(self._key(scope), entries)

    def _catch_up(self, scope: int) -> None:
        """Bring the columns of a scope up to date, and save them."""
        with self.snapshot():
            self._arrays(ScopeSource(self._db, scope))
        if unsaved := self._held.unsaved(scope):
            save(self._db, scope, *unsaved)

    def _arrays(self, source: ScopeSource) -> tuple[Arrays, bool]:
        # What is not committed yet must not enter a cache that others read.
        return (self._held.anew(source), False) if self._db.writing else self._held.arrays(source.scope, source)

    def _check_size(self, unit: NDArray[np.float32]) -> None:
        check_size(self._db, [unit])

    def _renew(self, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
        return renew(self._db, units, most, anew)


def check_size(db: Connections, units: Iterable[NDArray[np.float32] | None]) -> None:
    """Raise ``InvalidInput`` for a vector of another size than the first. All vectors of a store have one size."""
    expected = _dimensions(db)
    for unit in units:
        if unit is not None and len(unit) != (expected := expected or len(unit)):
            raise InvalidInput(f"a vector has {len(unit)} dimensions, not {expected} as the store's")


def _dimensions(db: Connections) -> int:
    """Return the size of the store's vectors, as the first intact one has it, or 0 if there is none."""
    for limit in (1, -1):
        with closing(db.readable(VECTORS, "SELECT * FROM vectors LIMIT ?", limit)) as rows:
            for passage, scope, vector, stored in rows:
                if stored == vector_checksum(passage, scope, vector):
                    return len(vector) // 4
    return 0
