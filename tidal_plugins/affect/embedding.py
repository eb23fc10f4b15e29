"""Emotion read off the vector that a text has anyway: a linear probe, no further model pass. English.

A text's embedding holds how it feels, and one matrix brings it out: the probabilities of the 27 GoEmotions labels and
neutral. From these come Plutchik's primary emotions, valence and arousal (:mod:`tidal_plugins.affect.circumplex`).
What the vector does not hold is emphasis, since the model reads no capitals and hardly an exclamation mark: that is
read off the text. So is a part of the valence (:mod:`tidal_plugins.affect.words`): words and vector err in different
places.

The constants are calibrations, and nothing that a user would set: some 7 % of ordinary conversation turns exceed an
intensity of 0.5. docs/capabilities/affect.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.affect.circumplex import LABELS, PLACES, PRIMARY
from tidal_plugins.affect.probe import SHIPPED, load
from tidal_plugins.affect.provoked import provoked
from tidal_plugins.affect.words import word_valence
from tidal_plugins.embedding.identity import fits
from tidal_plugins.errors import BadEmbedding, EmbedderMismatch, InvalidVector
from tidal_plugins.model.affect import Affect
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import Embedder, check_embedder
from tidal_plugins.validation import check_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLEASANT = 0.6
"""Valence of fully pleasant labels: thanks, praise and good cheer are ordinary in a chat, and
alone should stir nothing. Unpleasantness, which courtesy keeps rare, counts in full."""

WORDS = 0.3
"""Share of the valence of the charged words that joins that of the vector. With it the correlation with EmoBank's
valence is .60, without it .55; from .2 to .4 it is about the same."""

CHEER = 0.7
"""Factor of what both say together if it is pleasant: as few ordinary turns are intense as by the vector alone."""

LIVELY = 0.8
"""Arousal of full activation."""

EMPHASIS = 0.7
"""Activation that full emphasis adds."""

MOST_MARKS = 3
"""Exclamation marks a sentence that are full emphasis, as a text all in capitals is."""

READ_CHARS = 2_000
"""Of a longer text, emphasis is looked for in the first and the last half of this."""

_SENTENCE_END = lazy_re(r"[.!?…]+(?=\s|$)")


class EmbeddingEmotion:
    """Reads emotions, valence and arousal off embeddings, in some microseconds per text.

    ``embedder`` embeds texts that come without vectors. ``weights`` is a file of ``make fit-emotion``; the default is
    the one for all-MiniLM-L6-v2 that ships with the library, trained on GoEmotions [Demszky et al. 2020]. Raises
    :class:`EmbedderMismatch` if the weights are for another embedder; use ``LexiconEmotion`` for that one.

    ``emotions`` are Plutchik's eight, each in [0, 1]: how far its probability exceeds that of plain texts. Therefore
    calm texts have no emotions, and do not all feel alike. An instance may be used from several threads.
    """

    def __init__(self, embedder: Embedder, weights: Path = SHIPPED) -> None:
        check_embedder(embedder)
        self._embedder = embedder
        self._probe = load(Path(check_path(weights, "weights")))
        self.check(embedder)

    def check(self, embedder: Embedder) -> None:
        """Raise :class:`EmbedderMismatch` if the weights are for another embedder, whose vectors they would misread."""
        fingerprint = self._probe.about["embedder"]
        if not fits(embedder, fingerprint):
            raise EmbedderMismatch(
                f"these emotion weights are for {fingerprint['id']}, and mean nothing for the vectors of "
                f"{type(embedder).__name__}; fit some for it with `make fit-emotion`, or take LexiconEmotion()"
            )

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]:
        """Return one :class:`Affect` per text, neutral for an empty one.

        ``vectors`` are the texts' embeddings, shape ``(len(texts), dimensions)``; without them the texts are embedded.
        Raises :class:`InvalidVector` for ``vectors`` of another shape, and :class:`BadEmbedding` for vectors of another
        shape from the embedder.
        """
        import numpy as np

        rows = None if vectors is None else self._rows(vectors, len(texts))
        told = [n for n, text in enumerate(texts) if text.strip() and (rows is None or rows[n].any())]
        feelings = [Affect()] * len(texts)
        if told:
            found = self._probabilities([texts[n] for n in told], None if rows is None else rows[told])
            places, parts = _mapping()
            felt = np.maximum(0, found @ parts - self._probe.rest) / (1 - self._probe.rest)
            for n, (valence, activation), strengths in zip(told, (found @ places).tolist(), felt.tolist(), strict=True):
                felt_so = _affect(texts[n], _valence(valence, word_valence(texts[n])), activation, strengths)
                feelings[n] = provoked(texts[n], felt_so)
        return feelings

    def labels(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[dict[str, float]]:
        """Return the probabilities of the 27 labels and neutral for each text. They add up to 1."""
        return [dict(zip(LABELS, row, strict=True)) for row in self._probabilities(texts, vectors).tolist()]

    def _probabilities(self, texts: Sequence[str], vectors: NDArray[np.float32] | None) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.empty((0, len(LABELS)), np.float32)
        if vectors is None:
            rows = self._rows(self._embedder.embed(texts), len(texts), BadEmbedding)
        else:
            rows = self._rows(vectors, len(texts))
        return self._probe.probabilities(rows)

    def _rows(
        self,
        vectors: NDArray[np.float32],
        count: int,
        error: type[BadEmbedding | InvalidVector] = InvalidVector,
    ) -> NDArray[np.float32]:
        import numpy as np

        rows, shape = np.asarray(vectors, np.float32), (count, len(self._probe.weight))
        if rows.shape != shape:
            raise error(f"vectors have shape {rows.shape} for {count} texts; expected {shape}")
        return rows


def _affect(text: str, valence: float, activation: float, strengths: Sequence[float]) -> Affect:
    arousal = LIVELY * (activation + EMPHASIS * _emphasis(text))
    return Affect(
        valence,
        max(0.0, min(1.0, arousal)),
        {name: round(strength, 3) for name, strength in zip(PRIMARY, strengths, strict=True) if strength >= 0.001},
    )


def _valence(labels: float, words: float) -> float:
    valence = labels * (PLEASANT if labels > 0 else 1) + WORDS * words
    return max(-1.0, valence * (CHEER if valence > 0 else 1))


def _emphasis(text: str) -> float:
    """Return how loud a text is, in [0, 1]: by its exclamation marks a sentence, and by capitals throughout."""
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    if text.isupper() and text.count(" ") > 1:  # one or two words in capitals are a name or an acronym
        return 1.0
    marks = text.count("!")
    return min(1.0, marks / max(1, len(_SENTENCE_END.findall(text))) / MOST_MARKS) if marks else 0.0


@cache
def _mapping() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the matrices from probabilities of labels to valence and activation, and to primary emotions."""
    import numpy as np

    places = [(place.valence, place.activation) for place in PLACES.values()]
    parts = [[place.parts.get(name, 0.0) for name in PRIMARY] for place in PLACES.values()]
    return np.array(places, np.float32), np.array(parts, np.float32)
