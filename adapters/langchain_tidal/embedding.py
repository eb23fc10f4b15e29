"""LangChain's embeddings for the core: ``TidalMemory("agent.db", embedder=LangChainEmbedder(embeddings))``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from tidal_plugins import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 256
"""Texts that one call embeds. Integrations split what their provider takes less of."""

NAMES = ("model", "model_name", "model_id")
"""Attributes under which integrations keep the name of their model."""


class LangChainEmbedder:
    """Any LangChain ``Embeddings`` as the embedder of a memory.

    What is stored goes through ``embed_documents`` and what is asked through ``embed_query``: models such as E5, BGE
    or Cohere's tell the two apart. ``dimensions`` are asked of the model once, when they are first needed.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @property
    def id(self) -> str | None:
        """Return class and model, or ``None`` if the model has no name: a store then knows it by a probe's vector."""
        names = (getattr(self._embeddings, key, None) for key in NAMES)
        name = next((name for name in names if isinstance(name, str) and name), None)
        return name and f"langchain/{type(self._embeddings).__name__}/{name}"

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises ``EmbeddingError`` if the model cannot be asked."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = self._ask()
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text to be stored."""
        import numpy as np

        batches = (list(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH))
        rows = [row for batch in batches for row in self._embeddings.embed_documents(batch)]
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1) if rows else np.empty((0, 0), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question."""
        import numpy as np

        return np.asarray([self._embeddings.embed_query(text) for text in texts], dtype=np.float32)

    def _ask(self) -> int:
        try:
            return len(self._embeddings.embed_query("dimensions"))
        except Exception as error:
            name = type(self._embeddings).__name__
            raise EmbeddingError(f"{name} did not embed a text: {type(error).__name__}: {error}") from error
