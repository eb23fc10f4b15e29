"""What can be plugged in. Each protocol has the shape of one method; ``None`` in its place means off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.model.affect import Affect
    from tidal_plugins.model.fact import Claim
    from tidal_plugins.model.summary import Source, Statement

Purpose = Literal["summary", "synthesis", "dossier"]
"""``summary``: what matters of many turns, as a narrative. ``synthesis``: what one turn came to, and how. ``dossier``:
what is known of one topic now."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    ``embed`` returns one row per text: an array of shape ``(len(texts), dimensions)``, or anything that
    ``numpy.asarray`` takes for one. Rows need not be normalised. It may be called from several threads.

    An embedder may also have a string ``id`` (model and revision). Without one a store knows it by its class, its
    dimensions and the vector of a probe text.
    """

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class EmotionEstimator(Protocol):
    """Reads how texts feel.

    ``vectors`` are their embeddings where the caller has them already, one row of length 1 per text: of a text of
    several passages the direction of their mean. A row of zeros stands for none.
    """

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]: ...


@runtime_checkable
class Summariser(Protocol):
    """Condenses sources into statements, each with the ids of the sources that it rests on.

    ``previous`` are the statements made of earlier sources: what still matters of them comes back among the new ones,
    with its ids. All together should stay within ``max_tokens``. It may raise anything, and may take its time: it is
    never called while a lock is held, and the caller knows what to do instead.
    """

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]: ...


@runtime_checkable
class Extractor(Protocol):
    """Reads what texts say of known facts: for each text the claims it makes, with the words that make them.

    ``facts`` are the values by key. A claim that names none of them, or quotes what is not in its text, is left out.
    An ``explicit`` one contradicts every other value, any other claim only what is plainly its opposite.
    It may raise anything, and may take its time: it is never called while a lock is held, and rules stand in for it.
    """

    def extract(self, texts: Sequence[str], facts: Mapping[str, Any]) -> Sequence[Sequence[Claim]]: ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text, as the model that gets it would, or nearly so."""

    def count(self, text: str) -> int: ...
