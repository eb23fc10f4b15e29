"""Tell strings that a machine drew at random from words, names and numbers."""

from __future__ import annotations

import math
from collections import Counter

from tidal_plugins.patterns import lazy_re

LEAST_CHARS = 8
"""Characters of a part below which nothing can be said of it."""
LEAST_BITS = 2.7
"""Bits a character of Shannon's entropy: eight characters of which hardly one comes twice."""
LEAST_SWITCHES = 3
"""Changes between capitals, small letters and digits within a part. «release2024» has one, «9f2LmUvQe81» eight."""

LONG_CHARS, LONG_SWITCHES = 32, 10
"""The same for a long text whose separators are part of it, as in base 64."""

_PART = lazy_re(r"[A-Za-z0-9]+")
_CLASSES = lazy_re(r"[a-z]+|[A-Z]+|[0-9]+")


def is_random(text: str) -> bool:
    """Return whether a part of ``text``, between its separators, is drawn at random: letters and digits in turns."""
    parts = _PART.findall(text)
    return any(_drawn(part) for part in parts if len(part) >= LEAST_CHARS) or _is_base64("".join(parts))


def bits(text: str) -> float:
    """Return Shannon's entropy of the characters of ``text``, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _drawn(part: str) -> bool:
    runs = _CLASSES.findall(part)
    mixed = any(run.isdigit() for run in runs) and any(run.isalpha() for run in runs)
    return mixed and len(runs) > LEAST_SWITCHES and bits(part) >= LEAST_BITS


def _is_base64(joined: str) -> bool:
    return len(joined) >= LONG_CHARS and _drawn(joined) and len(_CLASSES.findall(joined)) > LONG_SWITCHES
