"""What sentences do and carry, read by a linear model over hashed n-grams and, where there is one, a vector of form.

The weights come from ``make fit-tagger``: labels made by reading, thresholds by cross-validation. ``ngrams.npz`` reads
any text at once; ``minilm.npz`` reads better, and asks the default embedder for the form of each sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.language.features import BITS, FLAGS, LONGEST, flags, rows
from tidal_plugins.model.sentence import ACTS, TAGS, SentenceTags
from tidal_plugins.protocols import SentenceEncoder
from tidal_plugins.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NGRAMS = Path(__file__).with_name("ngrams.npz")
"""The weights that read any text by itself, as ``make fit-tagger`` makes them."""

FORMS = Path(__file__).with_name("minilm.npz")
"""The weights for n-grams and the forms of the default embedder."""

BATCH = 512
"""Sentences that are read at once."""

_ARRAYS = ("table", "flags", "forms", "center", "bias", "thresholds")


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A linear model: its columns are the acts, then the tags.

    ``table`` has a row for each hash of an n-gram, shape ``(2 ** BITS, columns)``; ``flags`` one for each of ``FLAGS``;
    ``forms`` one for each dimension of a form, whose mean over sentences is ``center``: none where only n-grams count.
    ``bias`` and ``thresholds`` have a number for each column; the thresholds of acts are not used. ``about`` tells the
    origin, and the ids of the encoders whose forms these are.
    """

    table: NDArray[np.float32]
    flags: NDArray[np.float32]
    forms: NDArray[np.float32]
    center: NDArray[np.float32]
    bias: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    about: Mapping[str, Any]

    def odds(
        self, sentences: Sequence[str], roles: Sequence[str], forms: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:
        """Return the log-odds of acts and tags, a row for each sentence."""
        import numpy as np

        hashed, bounds = rows(sentences)
        count = np.maximum(np.diff(bounds), 1)
        # No sentence is without n-grams: it has those of its bounds.
        sums = np.add.reduceat(self.table.take(hashed, axis=0), bounds[:-1], axis=0)
        odds = sums / np.sqrt(count)[:, None] + flags(sentences, roles) @ self.flags + self.bias
        if forms is not None:
            odds = odds + centered(forms, self.center) @ self.forms
        return np.asarray(odds, np.float64)


def centered(forms: NDArray[np.float32], center: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return forms as directions from their usual one, which says nothing of a sentence."""
    import numpy as np

    off = forms - center
    return np.asarray(off / np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-9), np.float32)


class LinearTagger:
    """A :class:`SentenceTagger` by the weights of ``make fit-tagger``. They are fitted on English for the most part; of
    other languages the n-grams alone say little, and what is not sure is not said.

    ``encoder`` gives the forms of sentences, as :class:`OnnxEmbedder` does; without one n-grams alone are read.
    ``weights`` is a file of the command. Raises ``InvalidInput`` for a file that is none, or that is for other forms.
    """

    def __init__(self, encoder: SentenceEncoder | None = None, weights: Path | None = None) -> None:
        self._encoder = encoder
        self._weights = load(Path(weights or (FORMS if encoder else NGRAMS)))
        if not fits(self._weights, encoder):
            raise InvalidInput(
                f"these weights are for the forms of {', '.join(self._weights.about['encoders']) or 'no encoder'}, "
                f"and mean nothing for those of {encoder.id if encoder else 'none'}; make some with `make fit-tagger`"
            )

    def tag(self, sentences: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
        return [
            read
            for at in range(0, len(sentences), BATCH)
            for read in self._tagged(sentences[at : at + BATCH], roles[at : at + BATCH])
        ]

    def _tagged(self, sentences: Sequence[str], roles: Sequence[str]) -> Iterator[SentenceTags]:
        import numpy as np

        forms = self._encoder.forms([one[:LONGEST] for one in sentences]) if self._encoder else None
        odds = self._weights.odds(sentences, roles, forms)
        acts = np.exp(odds[:, : len(ACTS)] - odds[:, : len(ACTS)].max(axis=1, keepdims=True))
        acts /= acts.sum(axis=1, keepdims=True)
        tags = 1 / (1 + np.exp(-odds[:, len(ACTS) :]))
        over = tags >= self._weights.thresholds[len(ACTS) :]
        names = (*ACTS, *TAGS)
        for act, row, has in zip(acts.tolist(), tags.tolist(), over.tolist(), strict=True):
            yield SentenceTags(
                ACTS[act.index(max(act))],
                frozenset(tag for tag, held in zip(TAGS, has, strict=True) if held),
                dict(zip(names, (*act, *row), strict=True)),
            )


def fits(weights: Weights, encoder: SentenceEncoder | None) -> bool:
    """Return whether weights are for the forms of an encoder, or for none."""
    known = weights.about["encoders"]
    return not known if encoder is None else encoder.id in known


def best_for(embedder: object) -> LinearTagger:
    """Return the tagger that reads best beside an embedder: by its forms, if it has some that weights ship for."""
    if isinstance(embedder, SentenceEncoder) and fits(load(FORMS), embedder):
        return LinearTagger(embedder)
    return default()


@cache
def default() -> LinearTagger:
    """Return the tagger that needs no encoder."""
    return LinearTagger()


def tag(sentences: Sequence[str], role: str | Sequence[str] = "user") -> list[SentenceTags]:
    """Read sentences by n-grams alone, all of one role or each of its own."""
    if not sentences:
        return []
    return default().tag(sentences, [role] * len(sentences) if isinstance(role, str) else role)


def save(path: Path, weights: Weights) -> None:
    """Write weights: half-precision arrays and a JSON text in an ``.npz``, the same bytes for the same numbers."""
    import numpy as np

    half = {name: getattr(weights, name).astype(np.float16) for name in _ARRAYS}
    half["table"] = np.asfortranarray(half["table"])  # as the shipped file has it
    with path.open("wb") as file:
        np.savez(file, **half, about=np.array(json.dumps(dict(weights.about), sort_keys=True).encode()))


@cache
def load(path: Path = NGRAMS) -> Weights:
    """Read weights; no code in the file is run. Raises ``InvalidInput`` for a file that holds none."""
    import numpy as np

    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name].astype(np.float32) for name in _ARRAYS}
            arrays["table"] = np.ascontiguousarray(arrays["table"])  # its rows are gathered by the thousand
            weights = Weights(**arrays, about=json.loads(file["about"].item()))
        columns = len(ACTS) + len(TAGS)
        if weights.about["columns"] != [*ACTS, *TAGS] or weights.about["flags"] != list(FLAGS):
            raise ValueError("its acts, tags or flags are other ones, or in another order")
        shapes = [getattr(weights, name).shape for name in _ARRAYS]
        width = len(weights.center)
        known = [(1 << BITS, columns), (len(FLAGS), columns), (width, columns), (width,), (columns,), (columns,)]
        if shapes != known or bool(width) != bool(weights.about["encoders"]):
            raise ValueError("its arrays have other shapes")
        if not all(np.isfinite(getattr(weights, name)).all() for name in _ARRAYS):
            raise ValueError("weights that are no finite numbers")
    except Exception as error:  # zip, numpy and JSON each have kinds of their own for what is broken
        pass_interrupt(error)
        raise InvalidInput(
            f"{path} holds no weights of a tagger ({shown(error)}); make them with `make fit-tagger`"
        ) from error
    return weights
