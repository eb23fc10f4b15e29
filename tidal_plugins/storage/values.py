"""JSON values and vectors as every engine stores them."""

from __future__ import annotations

import json
from math import sqrt
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Corrupt, InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDING = 1e-6
"""How far the square of a unit vector's length is from 1 at most: float32 rounds each value by 6e-8 of it."""

# ``json.dumps`` makes an encoder for every call that differs from its defaults, at half the cost of the call.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode

_SMALL = 1e-200  # squares between this and its inverse have neither vanished nor overflowed


def to_json(value: Any) -> str:
    """Return compact JSON, or raise ``InvalidInput`` for what JSON cannot hold (NaN, bytes, objects)."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"only JSON values can be stored: {error}") from error


def from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise Corrupt("a stored JSON value cannot be read: the file was damaged; restore it from a backup") from error


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``vector`` as float32 of length 1, or raise ``InvalidInput``. One that has it stays the same bytes."""
    import numpy as np

    try:
        given = np.asarray(vector)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a vector must be a flat array of numbers, got {type(vector).__name__}") from error
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise InvalidInput(f"a vector must be a flat array of numbers, got shape {given.shape} of {given.dtype}")
    values = given.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = float(values @ values)
    if given.dtype == np.float32 and abs(squared - 1) < ROUNDING:
        return np.ascontiguousarray(given)
    if _SMALL < squared < 1 / _SMALL:
        return np.asarray(values / sqrt(squared), np.float32)
    peak = float(np.abs(values).max())
    if not np.isfinite(peak):
        raise InvalidInput("a vector holds NaN or infinite values; check the embedder")
    if not peak:
        raise InvalidInput("a vector of length zero has no direction; check the embedder")
    values /= peak  # so that squares neither overflow nor vanish
    return (values / np.linalg.norm(values)).astype(np.float32)
