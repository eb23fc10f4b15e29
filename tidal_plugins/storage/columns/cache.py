"""Columns held in memory, scope by scope: a reader loads what was written since it last looked, by whichever process.

The file stays the only truth, and nothing needs rebuilding after a crash.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from tidal_plugins.storage.columns.buffer import Buffer
from tidal_plugins.storage.columns.source import Mark, Source

if TYPE_CHECKING:
    from tidal_plugins.storage.columns.arrays import Arrays


class ColumnCache:
    """Keeps the columns of the scopes used last, which together take at most ``budget`` bytes, or one scope alone.

    Of a scope it holds at most ``exact`` vectors as they are, and of one that has more only their codes.
    """

    def __init__(self, exact: int, budget: int) -> None:
        self.exact, self.budget = exact, budget
        self._scopes: OrderedDict[object, Buffer] = OrderedDict()
        self._lock = threading.Lock()

    def arrays(self, scope: object, source: Source) -> tuple[Arrays, bool]:
        """Return the scope's columns, and whether they are newer than the source.

        A snapshot that is older than an erasure which the cache has seen has columns of its own. Those that are newer
        may hold entries that were stored after the snapshot.
        """
        mark = source.mark()
        with self._lock:
            held = self._scopes.pop(scope, None)  # until it is complete: reading may be interrupted
            if held is not None and held.mark.erasures > mark.erasures:
                self._scopes[scope] = held
                return self.anew(source), False
            if held is not None and held.mark.erasures < mark.erasures:
                gone = source.gone_after(held.mark.erasures)
                held = None if gone is None or held.damaged else held.without(gone, mark.erasures)
            held = held or Buffer(self.exact, mark.erasures)
            arrays = held.read(source, mark)
            self._scopes[scope] = held
            while len(self._scopes) > 1 and self.nbytes > self.budget:
                self._scopes.popitem(last=False)
            return arrays, held.mark.changes > mark.changes

    def unsaved(self, scope: object) -> tuple[Arrays, Mark] | None:
        """Return columns that should be saved, as much of them was read as rows, or ``None``. Once for each time."""
        with self._lock:
            held = self._scopes.get(scope)
            return None if held is None else held.unsaved()

    def entries(self, scope: object) -> int:
        """Return how many entries' columns are held of a scope."""
        held = self._scopes.get(scope)
        return 0 if held is None else held.entries

    def anew(self, source: Source) -> Arrays:
        """Return the columns of a source, read from the beginning and kept nowhere."""
        mark = source.mark()
        return Buffer(self.exact, mark.erasures).read(source, mark)

    def forget(self) -> None:
        """Drop all columns. Later searches read them again."""
        self._scopes, self._lock = OrderedDict(), threading.Lock()

    @property
    def nbytes(self) -> int:
        """Return the size of the columns that are held."""
        return sum(buffer.nbytes for buffer in self._scopes.values())
