"""JSON values as engines store them."""

from __future__ import annotations

import json
from typing import Any

from tidal_plugins.errors import Corrupt, InvalidInput

# ``json.dumps`` makes an encoder for every call that differs from its defaults, at half the cost of the call.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


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
