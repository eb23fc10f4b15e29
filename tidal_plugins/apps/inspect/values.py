"""Values of facts as they are shown and read: JSON, or a text that is no JSON as it stands."""

from __future__ import annotations

import json
import math
from typing import Any

from tidal_plugins.validation import check_depth

NAMES = {bool: "a yes or no", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}


def written(value: Any) -> str:
    """Return a value so that :func:`read` of it is the value again: the text «5» has quotes, the number 5 has none."""
    plain = isinstance(value, str) and value == value.strip() and value.isprintable() and value
    return value if plain and read(value) == value else json.dumps(value, ensure_ascii=False)


def read(text: str) -> Any:
    """Return the JSON value of a text, or the text if it is none. Raises ``InvalidInput`` for too many levels."""
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return text
    check_depth(value, "a value")
    return value


def named(value: Any) -> str:
    """Return the type of a value in words."""
    return NAMES.get(type(value), "nothing")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refused(text)


def _refused(text: str) -> float:
    raise ValueError(text)
