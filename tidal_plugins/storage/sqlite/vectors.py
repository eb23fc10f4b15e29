"""Vectors of a scope held in memory, so that an exact search is one matrix product.

A search reads the store's watermark (the last passage key and the number of erasures) and loads what was added since,
by whichever process: the file stays the only truth and nothing needs rebuilding after a crash. A scope that does not
fit into the budget is scanned inside SQLite instead, with the same result.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from tidal_plugins.storage.damage import VECTORS, note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Row = tuple[int, str, bytes | None]

BATCH = 1024
"""Vectors read from the file at a time."""


def top(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the positions of the ``count`` highest scores, best first, ties in the order stored."""
    import numpy as np

    if count < len(scores):
        threshold = np.partition(scores, -count)[-count]
        chosen = np.flatnonzero(scores >= threshold)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")][:count]


def note_vectors(damaged: int, scope: int) -> None:
    """Report that vectors of a scope are damaged, if any are."""
    if damaged:
        note(VECTORS, f"{damaged} of scope {scope}")


class Source(Protocol):
    """The origin of vectors: one scope of an open snapshot."""

    def watermark(self) -> tuple[int, int]:
        """Return the key of the last passage with a vector, and the number of erasures."""

    def size_after(self, key: int) -> tuple[int, int]:
        """Return how many vectors there are after ``key``, and their dimensions."""

    def vectors_after(self, key: int) -> Iterable[_Row]:
        """Yield passage key, kind and vector of the passages after ``key``, by key; no vector where it is damaged."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Passage keys (ascending), their kinds and their unit vectors, row by row."""

    keys: NDArray[np.int64]
    kinds: NDArray[np.int16]
    vectors: NDArray[np.float32]
    damaged: int = 0
    """How many more vectors of the scope were left out."""
    _asked: list[tuple[bytes, NDArray[np.float32]]] = field(default_factory=list)

    def cosines(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each row. Those of the last vector are kept, since one recall searches several times."""
        import numpy as np

        asked = unit.tobytes()
        for known, kept in self._asked:
            if known == asked:
                return kept
        # Row by row, not ``@``: a second BLAS thread gains half a millisecond and waits for many on a busy machine.
        cosines: NDArray[np.float32] = np.vecdot(self.vectors, unit)
        self._asked[:] = [(asked, cosines)]
        return cosines

    def rows(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the row of each passage, and whether there is one."""
        import numpy as np

        if not len(self.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        rows = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return rows, self.keys[rows] == keys


class VectorCache:
    """Keeps the matrices of the scopes used last, together at most ``budget`` bytes."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._scopes: OrderedDict[int, _Buffer] = OrderedDict()
        self._held = 0  # bytes; a sum over a thousand scopes for each of them took longer than to read them
        self._kinds: dict[str, int] = {}
        self._lock = threading.Lock()

    def matrix(self, scope: int, source: Source) -> Matrix | None:
        """Return the scope's matrix as the source sees it, or ``None`` when that is not to be had from here.

        It is not when the scope is larger than the budget, and when the source's snapshot is older than an erasure
        that the cache has seen. Passages stored after the snapshot may be in the matrix.
        """
        last, erasures = source.watermark()
        with self._lock:
            buffer = self._scopes.get(scope)
            if buffer is not None and buffer.erasures > erasures:
                return None
            before = buffer.size if buffer else 0
            if buffer is None or buffer.erasures < erasures:
                buffer = _Buffer(erasures)
            grows = buffer.last < last
            if self._scopes.pop(scope, None):  # until it is complete: reading may be interrupted
                self._held -= before
            if grows and not self._load(buffer, source):
                return None
            self._scopes[scope] = buffer
            self._held += buffer.size
            if grows:
                self._shrink()
            return buffer.matrix()

    def chosen(self, kinds: Collection[str]) -> NDArray[np.bool_]:
        """Return, for each number by which a matrix knows a kind, whether it is one of ``kinds``."""
        import numpy as np

        return np.array([kind in kinds for kind in self._kinds], dtype=bool)

    def _load(self, buffer: _Buffer, source: Source) -> bool:
        count, dimensions = source.size_after(buffer.last)
        if not buffer.reserve(count, dimensions, self.budget):
            return False
        for batch in _batches(source.vectors_after(buffer.last)):
            intact = [(key, kind, vector) for key, kind, vector in batch if vector is not None]
            keys, kinds, vectors = zip(*intact, strict=True) if intact else ((), (), ())
            numbers = [self._kinds.setdefault(kind, len(self._kinds)) for kind in kinds]
            buffer.extend(keys, numbers, vectors)
            buffer.passed(batch[-1][0], len(batch) - len(intact))
        return True

    def _shrink(self) -> None:
        while len(self._scopes) > 1 and self._held > self.budget:
            self._held -= self._scopes.popitem(last=False)[1].size


class _Buffer:
    """Holds arrays that grow. A row is written once, beyond the rows of earlier matrices, so these need no lock."""

    def __init__(self, erasures: int) -> None:
        self.erasures = erasures
        self.last = 0
        """The last passage that was read, 0 before the first."""
        self.damaged = 0
        """How many of the vectors read were left out."""
        self._count = 0
        self._held: Matrix | None = None
        self._keys, self._kinds, self._vectors = _arrays(0, 0)

    @property
    def size(self) -> int:
        return self._vectors.nbytes + self._keys.nbytes + self._kinds.nbytes

    def matrix(self) -> Matrix:
        """Return the vectors that are held, as the same object until there are more."""
        if self._held is None:
            held = slice(self._count)
            self._held = Matrix(self._keys[held], self._kinds[held], self._vectors[held], self.damaged)
        return self._held

    def reserve(self, rows: int, dimensions: int, budget: int) -> bool:
        """Make room for that many more rows. Return ``False`` if the budget does not allow it."""
        needed, allowed = self._count + rows, budget // (4 * dimensions + 10)
        if needed > allowed:
            return False
        if needed > len(self._keys) or self._vectors.shape[1] != dimensions:
            held, count = self.matrix(), self._count
            keys, kinds, vectors = _arrays(min(needed + needed // 4 + 64, allowed), dimensions)
            keys[:count], kinds[:count] = held.keys, held.kinds
            vectors[:count] = held.vectors.reshape(count, dimensions)
            # At once: an exception of a signal handler must not leave arrays that were not filled.
            self._keys, self._kinds, self._vectors, self._held = keys, kinds, vectors, None
        return True

    def passed(self, last: int, damaged: int) -> None:
        """Record that the passages up to ``last`` were read, and how many of them were left out."""
        self.last, self.damaged, self._held = last, self.damaged + damaged, None

    def extend(self, keys: Iterable[int], kinds: Iterable[int], vectors: Sequence[bytes]) -> None:
        import numpy as np

        if not vectors:
            return
        rows = np.frombuffer(b"".join(vectors), np.float32).reshape(-1, self._vectors.shape[1])
        end = self._count + len(rows)
        self._keys[self._count : end] = list(keys)
        self._kinds[self._count : end] = list(kinds)
        self._vectors[self._count : end] = rows
        self._count, self._held = end, None


def _arrays(rows: int, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.float32]]:
    import numpy as np

    return np.empty(rows, np.int64), np.empty(rows, np.int16), np.empty((rows, dimensions), np.float32)


def _batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch
