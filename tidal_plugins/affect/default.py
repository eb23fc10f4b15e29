"""The default estimator of emotion: by vectors if weights for their embedder ship, else by words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.affect.embedding import EmbeddingEmotion
from tidal_plugins.affect.lexicon import LexiconEmotion
from tidal_plugins.errors import EmbedderMismatch
from tidal_plugins.protocols import Embedder, EmotionEstimator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.model.affect import Affect


def check_estimator(emotion: object, embedder: Embedder) -> None:
    """Raise :class:`EmbedderMismatch` for an :class:`EmbeddingEmotion` whose weights misread the embedder's vectors."""
    if isinstance(emotion, EmbeddingEmotion):
        emotion.check(embedder)


class DefaultEmotion:
    """Reads with :class:`EmbeddingEmotion` if that can read the embedder's vectors, else with :class:`LexiconEmotion`.

    ``embedder`` returns the embedder that is in use, which another one may replace. The choice is made at the first
    text. An embedder without an ``id`` must embed to be recognised, and opening a memory should not load a model.
    """

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self._last: tuple[Embedder, EmotionEstimator] | None = None

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]:
        """Return one :class:`Affect` per text. ``vectors`` are their embeddings, if the caller has them."""
        embedder, last = self._embedder(), self._last
        if last is None or last[0] is not embedder:
            last = self._last = embedder, _chosen(embedder)
        return last[1].estimate(texts, vectors)


def _chosen(embedder: Embedder) -> EmotionEstimator:
    try:
        return EmbeddingEmotion(embedder)
    except EmbedderMismatch:
        return LexiconEmotion()
