"""The vectors of one scope in memory: as they are up to a number of them, and beyond it as binary codes.

A code has one bit for each dimension, which says on which side of the mean of the scope's vectors a vector lies. The
fewer bits of two codes differ, the nearer the vectors are. Codes choose candidates, which are then compared exactly, by
the vectors as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Passes = Callable[[Rows], NDArray[np.bool_]]
"A function that returns for rows of codes whether a filter lets them through."
Read = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"A function that returns the stored vectors of passages by key."
WORD = 64
"""Bits of a word of a code."""

COARSE = 3
"""Words of each code that the first pass compares: half of a code of 384 bits. With 2 the best 1,000 of a million held
.995 of the ten nearest, with 3 and with all .998 (measured)."""

BLOCK = 1 << 15
"""Codes that are compared at a time, so that what is in between stays in the processor's cache."""

SAMPLED = 1 << 16
"""Distances, spread evenly, by which it is told how near the nearest are."""

SURVIVORS = 16
"""Codes that outlast the first pass for each one that is asked for."""

REFINED = 2
"""Codes for each one that is asked for whose bits are weighed with the numbers of the query. Of a million, 1,000 codes
held .987 of the ten nearest without it, .998 with it (measured)."""

MOST_EQUAL = 4
"""Codes that a pass keeps at most for each one that it should, the first stored of those that are as near. Without it,
600,000 equal vectors took 4.6 s and 1.2 GB, with it 0.01 s (measured)."""

CANDIDATES = 200
"""Passages, at least, that are compared exactly where codes choose them."""

PER_ENTRY = 2
"""Passages that are compared for each entry that is asked for, if these are more. With 2 as with 3, each of 70 recalls
of 100,000 entries returned the ten that the exact path returns, and so did those with five kinds of filters."""

SHARE = 2000
"""One passage more is compared for so many that have a vector. Among 100,000 vectors near those of real sentences, 240
candidates held .997 of the ten nearest; among a million, 700 held .985 (measured)."""


class Codes(NamedTuple):
    """The codes of some vectors, word by word: ``words`` has one row for each word. They are shared: read only.

    They are about a ``centre``, which was the mean when there were ``centred`` vectors.
    """

    centred: int
    centre: NDArray[np.float32]
    words: NDArray[np.uint64]

    def nearest(self, unit: NDArray[np.float32], count: int, passes: Passes, among: Rows | None = None) -> Rows:
        """Return the rows of codes that are likely nearest to a vector, of some or of all, and that pass a filter.

        They are at most ``count``. They may be fewer, though more would pass, if few of the nearest do.
        """
        query = encoded(unit[None, :], self.centre)[:, 0]
        words = self.words if among is None else self.words[:, among]
        coarse = _differing(words[:COARSE], query[:COARSE])
        kept = _least(coarse, SURVIVORS * count)
        distances = coarse[kept].astype(np.uint16) + _differing(words[COARSE:, kept], query[COARSE:])
        closest = _least(distances, 2 * REFINED * count)
        kept, distances = kept[closest], distances[closest]
        passed = passes(kept if among is None else among[kept])
        kept, distances = kept[passed], distances[passed]
        kept = kept[_least(distances, REFINED * count)]
        signs = np.unpackbits(np.ascontiguousarray(words[:, kept].T).view(np.uint8), axis=1, count=len(unit))
        # Row by row, not ``@``: a second BLAS thread gains nothing and waits for many milliseconds on a busy machine.
        scores = np.vecdot(signs.astype(np.float32), unit)
        kept = kept[np.argsort(-scores, kind="stable")[:count]]
        return kept if among is None else among[kept]


def candidates(k: int, vectors: int) -> int:
    """Return how many passages are compared exactly to find ``k`` entries among so many vectors."""
    return max(CANDIDATES, PER_ENTRY * k) + vectors // SHARE


def encoded(vectors: NDArray[np.float32], centre: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the codes of vectors, word by word. Bits beyond the last dimension are 0."""
    bits = np.packbits(vectors > centre, axis=1)
    size = -(-vectors.shape[1] // WORD) * (WORD // 8)
    padded = np.zeros((len(bits), size), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64).T


def _differing(words: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.unsignedinteger[Any]]:
    """Return in how many bits each code differs from that of a query."""
    rows = words.shape[1]
    found: NDArray[np.unsignedinteger[Any]] = np.zeros(rows, np.uint8 if len(words) * WORD < 256 else np.uint16)
    differing, bits = np.empty(min(BLOCK, rows), np.uint64), np.empty(min(BLOCK, rows), found.dtype)
    for start in range(0, rows, BLOCK):
        size = min(BLOCK, rows - start)
        part = found[start : start + size]
        for word, asked in zip(words, query, strict=True):
            np.bitwise_xor(word[start : start + size], asked, out=differing[:size])
            np.bitwise_count(differing[:size], out=bits[:size])
            np.add(part, bits[:size], out=part)
    return found


def _least(distances: NDArray[np.unsignedinteger[Any]], count: int) -> Rows:
    """Return the places of about ``count`` least distances, and of those that equal the last of them, up to a limit.

    The last one is told from a sample of many.
    """
    if count >= len(distances):
        return np.arange(len(distances))
    step = max(1, len(distances) // SAMPLED)
    within = np.cumsum(np.bincount(distances[::step])) * step
    places = np.flatnonzero(distances <= min(int(np.searchsorted(within, count)), len(within) - 1))
    if len(places) <= MOST_EQUAL * count:
        return places
    return np.sort(places[np.argsort(distances[places], kind="stable")[: MOST_EQUAL * count]])


GROWTH = 4
"""Times by which the vectors of a scope become more until the mean that their codes are about is taken anew. At 100,000
vectors the mean of the first 20,000 led to .999 of the ten nearest, and that of all to 1 (measured)."""

SAMPLE = 20_000
"""Vectors, spread evenly, whose mean the codes are about when it is taken anew."""

BATCH = 4096
"""Vectors that are read at a time."""

HALF = 2
"""Bytes of a stored value. The cosine of 384 halves to the numbers that they stand for is 1 to seven places."""


class Units:
    """Vectors of length 1, row by row, that grow: at most ``exact`` are held as they are, more as their codes."""

    def __init__(self, exact: int) -> None:
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


def as_stored(units: Sequence[NDArray[np.float32]]) -> list[tuple[bytes, bytes]]:
    """Return vectors of length 1 as engines store them, in halves, each with one bit for the sign of each value.

    The largest value of a vector is 1 or −1 in there, so that what :func:`matrix` makes of it is stored as the same.
    """
    if not units:
        return []
    rows = np.array(units, np.float32)
    halves = (rows / np.abs(rows).max(axis=1, keepdims=True)).astype(np.float16)
    signs = np.packbits(halves > 0, axis=1)
    return [(half.tobytes(), sign.tobytes()) for half, sign in zip(halves, signs, strict=True)]


def signs_of(vector: bytes) -> bytes:
    """Return the signs of a stored vector; none of a damaged one, whatever its type is."""
    if not isinstance(vector, bytes) or len(vector) % HALF:
        return b""
    return np.packbits(np.frombuffer(vector, np.float16) > 0).tobytes()


def size_of(vector: bytes) -> int:
    """Return how many values a stored vector has."""
    return len(vector) // HALF


def matrix(vectors: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors as the rows of an array, of length 1 again but for those that are all 0."""
    rows = np.frombuffer(b"".join(vectors), np.float16).reshape(len(vectors), dimensions).astype(np.float32)
    lengths = np.sqrt(np.vecdot(rows, rows))
    np.divide(rows, lengths[:, None], out=rows, where=lengths[:, None] > 0)
    return rows


def room(rows: int) -> int:
    """Return for how many rows to make room when there are more than fit: an eighth beyond them."""
    return rows + rows // 8 + 64
