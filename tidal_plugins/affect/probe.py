"""The linear probe that reads emotions off vectors: a file of numbers, and which embedder they are for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.affect.circumplex import LABELS, PRIMARY
from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
