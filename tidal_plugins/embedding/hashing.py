"""An embedder without a model, for tests: similar spellings, not similar meanings, get similar vectors."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidal_plugins.patterns import lazy_re
from tidal_plugins.validation import check_int

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = lazy_re(r"\w+")
WORD_WEIGHT = 3  # against 1 for each of its trigrams; whole numbers, so that sums are exact on every platform


class HashingEmbedder:
    """Hashes words and their character trigrams into ``dimensions`` signed buckets.

    It needs no files and no network, and gives the same bits in every process and on every platform. For tests only:
    it knows nothing of meaning.
    """

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = check_int(dimensions, "dimensions", 1)

    @property
    def id(self) -> str:
        """Return the scheme and the dimensions."""
        return f"hashing-v1-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 per text: float32, shape ``(len(texts), dimensions)``."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[:] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> NDArray[np.float64]:
        import numpy as np

        hashes, weights = map(np.concatenate, zip(*map(_features, _words(text)), strict=True))
        buckets = hashes % self._dimensions
        vector = np.bincount(buckets, weights, minlength=self._dimensions).astype(np.float64)
        if not vector.any():  # the signs cancelled out
            vector[buckets[0]] = 1
        vector /= np.sqrt(vector @ vector)
        return vector


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold()) or [text]  # a text without words counts as one


@functools.lru_cache(maxsize=8192)
def _features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    import numpy as np

    padded = f"<{word}>"
    trigrams = [padded[start : start + 3] for start in range(len(padded) - 2)]
    hashes = np.array([_hash(feature) for feature in (f"word {word}", *trigrams)])
    signs = 1 - 2 * (hashes & 1)
    weights = np.array([WORD_WEIGHT] + [1] * len(trigrams))
    return hashes >> 1, (signs * weights).astype(np.float64)


def _hash(feature: str) -> int:
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # fits a signed 64-bit number
