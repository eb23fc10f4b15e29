"""What sentences do and carry, read by a linear model over hashed n-grams.

The weights come from ``make fit-tagger``: labels made by reading, cross-validated thresholds. ``ngrams.npz`` reads any
text; a file for an embedder adds the sentence's vector, where it is at hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput
from tidal_plugins.language.features import BITS, FLAGS, flags, rows
from tidal_plugins.model.sentence import ACTS, TAGS, SentenceTags
from tidal_plugins.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHIPPED = Path(__file__).with_name("ngrams.npz")
"""The weights that read any text, as ``make fit-tagger`` makes them."""

BATCH = 512
"""Sentences that are read at once."""

_ARRAYS = ("table", "flags", "bias", "thresholds")


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A linear model: its columns are the acts, then the tags.

    ``table`` has a row for each hash of an n-gram, shape ``(2 ** BITS, columns)``; ``flags`` one for each of ``FLAGS``;
    ``bias`` and ``thresholds`` a number for each column (those of acts are not used). ``about`` tells their origin.
    """

    table: NDArray[np.float32]
    flags: NDArray[np.float32]
    bias: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    about: Mapping[str, Any]

    def odds(self, sentences: Sequence[str], roles: Sequence[str]) -> NDArray[np.float64]:
        """Return the log-odds of acts and tags, a row for each sentence."""
        import numpy as np

        sums = np.zeros((len(sentences), self.table.shape[1]))
        count = np.zeros(len(sentences))
        for hashed, bounds in rows(sentences):
            running = np.cumsum(self.table[hashed], axis=0, dtype=np.float64)
            running = np.concatenate([np.zeros((1, running.shape[1])), running])
            sums += running[bounds[1:]] - running[bounds[:-1]]
            count += np.diff(bounds)
        return sums / np.sqrt(np.maximum(count, 1))[:, None] + flags(sentences, roles) @ self.flags + self.bias


class LinearTagger:
    """A :class:`SentenceTagger` by the weights of ``make fit-tagger``. It is in English what its labels made it; of
    other languages it says what little the n-grams show.

    ``weights`` is a file of that command. Raises ``InvalidInput`` for a file that is none.
    """

    def __init__(self, weights: Path = SHIPPED) -> None:
        self._weights = load(Path(weights))

    def tag(self, sentences: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
        return [
            read
            for at in range(0, len(sentences), BATCH)
            for read in self._tagged(sentences[at : at + BATCH], roles[at : at + BATCH])
        ]

    def _tagged(self, sentences: Sequence[str], roles: Sequence[str]) -> Iterator[SentenceTags]:
        import numpy as np

        odds = self._weights.odds(sentences, roles)
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


@cache
def default() -> LinearTagger:
    """Return the tagger that is used where none is given."""
    return LinearTagger()


def tag(sentences: Sequence[str], role: str | Sequence[str] = "user") -> list[SentenceTags]:
    """Read sentences by the default tagger, all of one role or each of its own."""
    if not sentences:
        return []
    return default().tag(sentences, [role] * len(sentences) if isinstance(role, str) else role)


def save(path: Path, weights: Weights) -> None:
    """Write weights: half-precision arrays and a JSON text in an ``.npz``, the same bytes for the same numbers."""
    import numpy as np

    half = {name: getattr(weights, name).astype(np.float16) for name in _ARRAYS}
    with path.open("wb") as file:
        np.savez(file, **half, about=np.array(json.dumps(dict(weights.about), sort_keys=True).encode()))


@cache
def load(path: Path = SHIPPED) -> Weights:
    """Read weights; no code in the file is run. Raises ``InvalidInput`` for a file that holds none."""
    import numpy as np

    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            table, flagged, bias, thresholds = (file[name].astype(np.float32) for name in _ARRAYS)
            about = json.loads(file["about"].item())
        weights = Weights(table, flagged, bias, thresholds, about)
        columns = len(ACTS) + len(TAGS)
        if weights.about["columns"] != [*ACTS, *TAGS] or weights.about["flags"] != list(FLAGS):
            raise ValueError("its acts, tags or flags are other ones, or in another order")
        shapes = [getattr(weights, name).shape for name in _ARRAYS]
        if shapes != [(1 << BITS, columns), (len(FLAGS), columns), (columns,), (columns,)]:
            raise ValueError("its arrays have other shapes")
        if not all(np.isfinite(getattr(weights, name)).all() for name in _ARRAYS):
            raise ValueError("weights that are no finite numbers")
    except Exception as error:  # zip, numpy and JSON each have kinds of their own for what is broken
        raise InvalidInput(
            f"{path} holds no weights of a tagger ({shown(error)}); make them with `make fit-tagger`"
        ) from error
    return weights
