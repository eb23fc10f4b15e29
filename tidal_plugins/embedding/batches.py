"""What embedders with a model of their own share: batches of texts of like length, and a cache for queries."""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidal_plugins.validation import check_int

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CACHED = 1_000_000
"""Vectors that a cache may hold: 1.5 GB of those of the default model."""


class BatchEmbedder:
    """Base of an embedder that runs a model over one batch at a time.

    ``threads`` is the number of threads of one run, ``batch_size`` the number of texts of a batch, and ``cache_size``
    the number of vectors of texts embedded singly that stay in memory. Raises ``InvalidInput`` for other values than
    whole numbers, of at least 1 or, for the cache, 0.
    """

    pause = 0.0
    """Seconds between two batches, in which others may have their turn."""

    def __init__(self, threads: int, batch_size: int, cache_size: int) -> None:
        self._threads = check_int(threads, "threads", 1)
        self._batch_size = check_int(batch_size, "batch_size", 1)
        self._embed_single = functools.lru_cache(check_int(cache_size, "cache_size", 0, MAX_CACHED))(self._embed_one)

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """Return the length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 per text: float32, shape ``(len(texts), dimensions)``.

        A text's vector does not depend on its neighbours, save for rounding (below 1e-6). What exceeds the model's
        longest input is cut off. Raises ``EmbeddingError`` for what the model cannot read, such as lone surrogates.
        """
        import numpy as np

        if len(texts) == 1:
            return self._embed_single(texts[0]).copy()
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # little padding in each batch
        size = self._texts_at_once() if texts else 1
        for start in range(0, len(texts), size):
            if start and self.pause:
                time.sleep(self.pause)
            batch = by_length[start : start + size]
            if size == 1:  # what was asked lately is known, as the turn that is recorded after its whisper
                vectors[batch] = self._embed_single(texts[batch[0]])
            else:
                vectors[batch] = self._embed_batch([texts[index] for index in batch])
        return vectors

    @abstractmethod
    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of a few texts from one run of the model."""

    def _texts_at_once(self) -> int:
        return self._batch_size

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        return self._embed_batch([text])
