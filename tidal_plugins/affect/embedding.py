"""Emotion read off the vector that a text has anyway: a linear probe, no further model pass. English.

A text's embedding holds how it feels, and one matrix brings it out: the probabilities of the 27 GoEmotions labels and
neutral. From these come Plutchik's primary emotions, valence and arousal (:mod:`tidal_plugins.affect.embedding`).
What the vector does not hold is emphasis, since the model reads no capitals and hardly an exclamation mark: that is
read off the text. So is a part of the valence (:mod:`tidal_plugins.affect.lexicon`): words and vector err in different
places.

The constants are calibrations, and nothing that a user would set: some 7 % of ordinary conversation turns exceed an
intensity of 0.5. docs/capabilities/affect.md has the figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.affect.lexicon import word_valence
from tidal_plugins.affect.provoked import provoked
from tidal_plugins.embedding.identity import fits
from tidal_plugins.errors import EmbedderMismatch, EmbeddingError, InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.affect import Affect
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import Embedder, check_embedder
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PRIMARY = ("joy", "trust", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
"""Plutchik's primary emotions, in the order of his wheel."""


class Place(NamedTuple):
    """``valence`` and ``activation`` in [−1, 1]; ``parts`` are shares of primary emotions, 1 in all."""

    valence: float
    activation: float
    parts: Mapping[str, float]


def _half(first: str, second: str) -> dict[str, float]:
    return {first: 0.5, second: 0.5}


PLACES: Mapping[str, Place] = {
    "admiration": Place(0.7, 0.3, _half("joy", "trust")),
    "amusement": Place(0.7, 0.5, {"joy": 1}),
    "anger": Place(-0.8, 0.8, {"anger": 1}),
    "annoyance": Place(-0.6, 0.4, {"anger": 1}),
    "approval": Place(0.5, 0.0, {"trust": 1}),
    "caring": Place(0.6, 0.1, {"trust": 1}),
    "confusion": Place(-0.2, 0.1, {"surprise": 1}),
    "curiosity": Place(0.1, 0.1, _half("surprise", "anticipation")),
    "desire": Place(0.3, 0.2, {"anticipation": 1}),
    "disappointment": Place(-0.7, -0.1, {"sadness": 1}),
    "disapproval": Place(-0.6, 0.2, _half("anger", "disgust")),
    "disgust": Place(-0.8, 0.4, {"disgust": 1}),
    "embarrassment": Place(-0.6, 0.2, _half("fear", "disgust")),
    "excitement": Place(0.8, 0.9, _half("joy", "anticipation")),
    "fear": Place(-0.8, 0.8, {"fear": 1}),
    "gratitude": Place(0.8, 0.1, _half("joy", "trust")),
    "grief": Place(-0.9, 0.2, {"sadness": 1}),
    "joy": Place(0.9, 0.6, {"joy": 1}),
    "love": Place(0.9, 0.4, _half("joy", "trust")),
    "nervousness": Place(-0.5, 0.5, _half("fear", "anticipation")),
    "optimism": Place(0.6, 0.2, _half("joy", "anticipation")),
    "pride": Place(0.7, 0.4, {"joy": 1}),
    "realization": Place(0.1, 0.0, {"surprise": 1}),
    "relief": Place(0.5, -0.2, {"joy": 1}),
    "remorse": Place(-0.7, -0.1, _half("sadness", "disgust")),
    "sadness": Place(-0.8, -0.1, {"sadness": 1}),
    "surprise": Place(0.1, 0.6, {"surprise": 1}),
    "neutral": Place(0.0, 0.0, {}),
}
"""Every label of GoEmotions, in its order."""

LABELS = tuple(PLACES)


SHIPPED = Path(__file__).with_name("minilm.npz")
"""The probe of the default embedder, all-MiniLM-L6-v2, as ``make fit-emotion`` makes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A probe of embeddings: the softmax of ``vectors @ weight + bias`` gives the probabilities of labels.

    ``weight`` has shape ``(dimensions, labels)``, ``bias`` ``(labels,)``. ``rest`` is the level of each primary emotion
    in plain texts, in the order of ``PRIMARY``; only levels above it count as felt. ``about`` holds the embedder's
    fingerprint, the labels, and the origin of the numbers.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    rest: NDArray[np.float32]
    about: Mapping[str, Any]

    def probabilities(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a row of probabilities for each row, 1 in all."""
        import numpy as np

        odds = vectors @ self.weight + self.bias
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), np.float32)


def save(path: Path, probe: Probe) -> None:
    """Write a probe: half-precision arrays and a JSON text in an ``.npz``, the same bytes for the same numbers."""
    import numpy as np

    half = {name: getattr(probe, name).astype(np.float16) for name in ("weight", "bias", "rest")}
    about = json.dumps(dict(probe.about), sort_keys=True).encode()
    with path.open("wb") as file:
        np.savez(file, **half, about=np.array(about))  # not compressed: zlib differs between machines


@cache
def load(path: Path = SHIPPED) -> Probe:
    """Read a probe; no code in the file is run. Raises ``InvalidInput`` for a file that is none."""
    import numpy as np

    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            weight, bias, rest = (file[name].astype(np.float32) for name in ("weight", "bias", "rest"))
            about = json.loads(file["about"].item())
        probe = Probe(weight, bias, rest, about)
        _check(probe)
    except Exception as error:  # zip, numpy and JSON each have kinds of their own for what is broken
        pass_interrupt(error)
        raise InvalidInput(
            f"{path} holds no emotion weights ({shown(error)}); make them with `make fit-emotion`"
        ) from error
    return probe


def _check(probe: Probe) -> None:
    """Raise ``ValueError`` where numbers stand for something else than is read out of them."""
    import numpy as np

    known, names = probe.about["embedder"], (probe.about["labels"], probe.about["primary"])
    if not isinstance(known["id"], str) or len(known["probe"]) != known["dimensions"]:
        raise ValueError("no fingerprint of an embedder")
    if names != (list(LABELS), list(PRIMARY)):
        raise ValueError("labels or emotions are other ones, or in another order")
    if probe.weight.shape != (known["dimensions"], len(LABELS)) or probe.bias.shape != (len(LABELS),):
        raise ValueError("weight and bias have other shapes")
    if not np.isfinite(probe.weight).all() or not np.isfinite(probe.bias).all():
        raise ValueError("weights that are no finite numbers")
    if probe.rest.shape != (len(PRIMARY),) or not ((probe.rest >= 0) & (probe.rest < 1)).all():
        raise ValueError("rest must be a share below 1 for each emotion")


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
        Raises :class:`InvalidInput` for ``vectors`` of another shape, and :class:`EmbeddingError` for vectors
        of another shape from the embedder.
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
            try:
                rows = self._rows(self._embedder.embed(texts), len(texts))
            except InvalidInput as error:
                raise EmbeddingError(f"the embedder's {error}", answered=True) from error
        else:
            rows = self._rows(vectors, len(texts))
        return self._probe.probabilities(rows)

    def _rows(self, vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
        import numpy as np

        rows, shape = np.asarray(vectors, np.float32), (count, len(self._probe.weight))
        if rows.shape != shape:
            raise InvalidInput(f"vectors have shape {rows.shape} for {count} texts; expected {shape}")
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
