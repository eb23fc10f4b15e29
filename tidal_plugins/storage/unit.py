"""Vectors of length 1, as every engine keeps and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``vector`` as float32 of length 1, or raise ``InvalidVector``."""
    import numpy as np

    try:
        given = np.asarray(vector)
    except (TypeError, ValueError) as error:
        raise InvalidVector(f"a vector must be a flat array of numbers, got {type(vector).__name__}") from error
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise InvalidVector(f"a vector must be a flat array of numbers, got shape {given.shape} of {given.dtype}")
    values = given.astype(np.float64)
    peak = float(np.abs(values).max())
    if not np.isfinite(peak):
        raise InvalidVector("a vector holds NaN or infinite values; check the embedder")
    if not peak:
        raise InvalidVector("a vector of length zero has no direction; check the embedder")
    values /= peak  # so that squares neither overflow nor vanish
    return (values / np.linalg.norm(values)).astype(np.float32)
