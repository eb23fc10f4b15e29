"""WrappedEmbedder: embeddings of another library as an embedder."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidal_plugins.errors import EmbeddingError
from tidal_plugins.interrupts import pass_interrupt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WrappedEmbedder(ABC):
    """The embedder over another library's model, which may tell texts to be stored from questions.

    ``dimensions`` are asked of the model once, when they are first needed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @abstractmethod
    def _texts(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts to be stored."""

    @abstractmethod
    def _query(self, text: str) -> list[float]:
        """Return the vector of a question."""

    def _probe(self, text: str) -> list[float]:
        """Return any vector."""
        return self._query(text)

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises ``EmbeddingError`` if the model cannot be asked."""
        with self._lock:
            if self._dimensions is None:
                try:
                    self._dimensions = len(self._probe("dimensions"))
                except Exception as error:
                    pass_interrupt(error)
                    reason = f"{type(error).__name__}: {error}"
                    raise EmbeddingError(f"{self._name} did not embed a text: {reason}") from error
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text to be stored."""
        import numpy as np

        rows = self._texts(list(texts))
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1) if rows else np.empty((0, 0), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question."""
        import numpy as np

        return np.asarray([self._query(text) for text in texts], dtype=np.float32)
