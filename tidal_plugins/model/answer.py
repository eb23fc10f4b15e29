"""Answers of a model in plain text to a request for a structure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tidal_plugins.patterns import lazy_re

_FENCED = lazy_re(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def structures(text: str) -> Iterator[Any]:
    """Yield the JSON in a text: first the content of each code fence, then that of the outermost braces."""
    start, end = text.find("{"), text.rfind("}")
    for candidate in [*_FENCED.findall(text), text[start : end + 1] if start >= 0 else ""]:
        try:
            yield json.loads(candidate)
        except (ValueError, RecursionError):
            continue
