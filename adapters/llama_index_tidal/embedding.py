"""LlamaIndex's embeddings for the core: ``TidalMemory("agent.db", embedder=LlamaIndexEmbedder(embedding))``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llama_index.core.base.embeddings.base import BaseEmbedding

from tidal_plugins import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNNAMED = "unknown"
"""LlamaIndex's name for a model that was given none."""


class LlamaIndexEmbedder:
    """Any LlamaIndex ``BaseEmbedding`` as the embedder of a memory.

    What is stored is embedded as a text and what is asked as a query. ``dimensions`` are asked of the model once, when
    they are first needed.
    """

    def __init__(self, embedding: BaseEmbedding) -> None:
        self._embedding = embedding
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @property
    def id(self) -> str | None:
        """Return class and model, or ``None`` if the model has no name: a store then knows it by a probe's vector."""
        name = self._embedding.model_name
        return None if name in ("", UNNAMED) else f"llama-index/{self._embedding.class_name()}/{name}"

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises ``EmbeddingError`` if the model cannot be asked."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = self._ask()
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text to be stored, in batches of the embedding's ``embed_batch_size``."""
        import numpy as np

        rows = self._embedding.get_text_embedding_batch(list(texts))
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1) if rows else np.empty((0, 0), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question."""
        import numpy as np

        return np.asarray([self._embedding.get_query_embedding(text) for text in texts], dtype=np.float32)

    def _ask(self) -> int:
        try:
            return len(self._embedding.get_text_embedding("dimensions"))
        except Exception as error:
            name = f"{self._embedding.class_name()} {self._embedding.model_name}"
            raise EmbeddingError(f"{name} did not embed a text: {type(error).__name__}: {error}") from error
