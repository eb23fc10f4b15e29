"""The vectors of one scope in memory: as they are up to a number of them, and beyond it as sign codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.storage.columns.codes import Codes, encoded
from tidal_plugins.storage.columns.tables import room

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Read = Callable[[NDArray[np.int64]], NDArray[np.float32]]
    """A function that returns the stored vectors of passages by key."""

GROWTH = 4
"""Times by which the vectors of a scope become more until the mean that their codes are about is taken anew. At 100,000
vectors the mean of the first 20,000 led to .999 of the ten nearest, and that of all to 1 (measured)."""

SAMPLE = 20_000
"""Vectors, spread evenly, whose mean the codes are about when it is taken anew."""

BATCH = 4096
"""Vectors that are read at a time."""


class Units:
    """Vectors of length 1, row by row, that grow: at most ``exact`` are held as they are, more as their codes."""

    def __init__(self, exact: int) -> None:
        import numpy as np

        self.exact = exact
        self.rows = self.dimensions = self.centred = 0
        self.centre: NDArray[np.float32] | None = None
        self._rows, self._words = np.empty((0, 0), np.float32), np.empty((0, 0), np.uint64)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._words.nbytes

    @property
    def outgrown(self) -> bool:
        """Return whether there are so many more vectors that the codes should be made anew."""
        return self.centre is not None and self.rows > GROWTH * self.centred

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Append vectors."""
        import numpy as np

        self.dimensions = vectors.shape[1]
        end = self.rows + len(vectors)
        if self.centre is None and end > self.exact:
            held = np.concatenate([self._rows[: self.rows].reshape(-1, self.dimensions), vectors])
            self.rows, self._rows = 0, np.empty((0, 0), np.float32)
            self.about(held.mean(axis=0), end)
            self.append(encoded(held, held.mean(axis=0)))
        elif self.centre is not None:
            self.append(encoded(vectors, self.centre))
        else:
            if end > len(self._rows):
                grown = np.empty((min(room(end), self.exact), self.dimensions), np.float32)
                grown[: self.rows] = self._rows[: self.rows].reshape(-1, self.dimensions)
                self._rows = grown
            self._rows[self.rows : end] = vectors
            self.rows = end

    def about(self, centre: NDArray[np.float32], centred: int) -> None:
        """Hold codes about a centre, which was the mean when there were ``centred`` vectors. Call it without any."""
        self.centre, self.centred, self.dimensions = centre, centred, len(centre)

    def append(self, words: NDArray[np.uint64]) -> None:
        """Append vectors by their codes, word by word."""
        import numpy as np

        end = self.rows + words.shape[1]
        if end > self._words.shape[1]:
            grown = np.empty((len(words), room(end)), np.uint64)
            grown[:, : self.rows] = self._words[:, : self.rows] if self.rows else 0
            self._words = grown
        self._words[:, self.rows : end] = words
        self.rows = end

    def anew(self, keys: NDArray[np.int64], read: Read) -> Units:
        """Return the codes of all vectors about their mean now. ``keys`` are those of their passages, by row."""
        new = Units(self.exact)
        centre = read(keys[:: max(1, len(keys) // SAMPLE)]).mean(axis=0)
        new.about(centre, len(keys))
        for start in range(0, len(keys), BATCH):
            new.append(encoded(read(keys[start : start + BATCH]), centre))
        return new

    def taken(self, rows: NDArray[np.int64]) -> Units:
        """Return new ones of some rows, in that order."""
        new = Units(self.exact)
        if not len(rows):
            return new
        if self.centre is None:
            new.extend(self._rows[rows])
        else:
            new.about(self.centre, self.centred)
            new.append(self._words[:, rows])
        return new

    def held(self) -> NDArray[np.float32] | None:
        """Return the vectors, or ``None`` if only codes are held."""
        return self._rows[: self.rows] if self.centre is None else None

    def codes(self) -> Codes | None:
        """Return the codes, or ``None`` if the vectors are held as they are."""
        return None if self.centre is None else Codes(self.centred, self.centre, self._words[:, : self.rows])


def matrix(vectors: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return vectors as the rows of an array."""
    import numpy as np

    return np.frombuffer(b"".join(vectors), np.float32).reshape(len(vectors), dimensions)
