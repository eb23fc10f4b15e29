"""The default estimator of emotion: by vectors if weights for their embedder ship, else by words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING

from tidal_plugins.affect.embedding import EmbeddingEmotion
from tidal_plugins.affect.lexicon import LexiconEmotion
from tidal_plugins.errors import EmbedderMismatch
from tidal_plugins.protocols import Embedder, EmotionEstimator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.model.affect import Affect


def reads(emotion: EmotionEstimator | EllipsisType | None, embedder: Embedder) -> EmotionEstimator | None:
    """Return the estimator for texts that the embedder embeds: the one that was chosen, or the default for ``...``.

    Raises :class:`EmbedderMismatch` for an :class:`EmbeddingEmotion` that was made for another embedder.
    """
    if emotion is ...:
        return DefaultEmotion(embedder)
    check_estimator(emotion, embedder)
    return emotion


def check_estimator(emotion: EmotionEstimator | None, embedder: Embedder) -> None:
    """Raise :class:`EmbedderMismatch` for an :class:`EmbeddingEmotion` whose weights misread the embedder's vectors."""
    if isinstance(emotion, EmbeddingEmotion):
        emotion.check(embedder)


class DefaultEmotion:
    """Reads with :class:`EmbeddingEmotion` if that can read the embedder's vectors, else with :class:`LexiconEmotion`.

    The choice is made at the first text. An embedder without an ``id`` must embed to be recognised, and opening a
    memory should not load a model.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def follow(self, embedder: Embedder) -> None:
        """Read the vectors of another embedder from now on."""
        self._embedder = embedder
        self.__dict__.pop("_chosen", None)

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]:
        """Return one :class:`Affect` per text. ``vectors`` are their embeddings, if the caller has them."""
        return self._chosen.estimate(texts, vectors)

    @cached_property
    def _chosen(self) -> EmotionEstimator:
        try:
            return EmbeddingEmotion(self._embedder)
        except EmbedderMismatch:
            return LexiconEmotion()
