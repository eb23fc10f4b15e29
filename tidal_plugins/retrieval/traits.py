"""Traits of entries that are read off their texts, once for each: whether it asks, tells a time, or is shouted."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tidal_plugins.english.moods import ends_asking
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.scoring.context import dated
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.columns.view import Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Flags = NDArray[np.bool_]

NAME = "traits"
UNKNOWN, NO, YES = 0, 1, 2


class Traits:
    """The traits of the entries of a scope that took part so far, by row."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reserve(0)

    def told(self, columns: Columns, rows: Rows) -> tuple[Flags, Flags]:
        """Return of entries whether each ends with a question, and whether it says when something was."""
        self._read(columns, rows)
        with self._lock:
            return self._asks[rows], self._dated[rows]

    def says(self, columns: Columns, rows: Rows, said: str) -> Flags:
        """Return which entries say ``said`` word for word, which is in the form of :func:`normal`.

        Only the beginning of a long entry is known, so a long entry never does.
        """
        import numpy as np

        if not said:
            return np.zeros(len(rows), bool)
        self._read(columns, rows)
        with self._lock:
            return np.asarray(self._said[rows] == hash(said))

    def shouted(self, columns: Columns, rows: Rows) -> Flags:
        """Return which entries are shouted."""
        import numpy as np

        with self._lock:
            self._reserve(len(columns.arrays.key))
            unknown = rows[self._shouted[rows] == UNKNOWN]
        if len(unknown):
            shouted = [YES if is_shouted(head) else NO for head, _ in columns.heads(unknown)]
            with self._lock:
                self._shouted[unknown] = shouted
        with self._lock:
            return np.asarray(self._shouted[rows] == YES)

    def _read(self, columns: Columns, rows: Rows) -> None:
        with self._lock:
            self._reserve(len(columns.arrays.key))
            unknown = rows[~self._known[rows]]
        if len(unknown):  # the texts are read without the lock: two threads may read the same
            heads = columns.heads(unknown)
            asks, dates = [ends_asking(tail) for _, tail in heads], [dated(head) for head, _ in heads]
            said = [hash(normal(head)) for head, _ in heads]
            with self._lock:
                self._asks[unknown], self._dated[unknown], self._said[unknown] = asks, dates, said
                self._known[unknown] = True

    def _reserve(self, rows: int) -> None:
        """Make room for entries that came since. The lock is held, lest what another thread writes gets lost."""
        import numpy as np

        if not rows:
            self._known, self._asks, self._dated = (np.zeros(0, bool) for _ in range(3))
            self._said, self._shouted = np.zeros(0, np.int64), np.zeros(0, np.int8)
        elif rows > len(self._known):
            known = self._known
            for name in ("_asks", "_dated", "_said", "_shouted", "_known"):
                old = getattr(self, name)
                new = np.zeros(rows + rows // 4 + 64, old.dtype)
                new[: len(known)] = old[: len(known)]
                setattr(self, name, new)


def traits_of(columns: Columns) -> Traits:
    """Return the traits of a scope. They live as long as its columns hold the same texts."""
    found: Traits = columns.arrays.notes.setdefault(NAME, Traits())
    return found
