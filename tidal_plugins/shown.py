"""Show a caller's value in a message: short, on one line, and without running code of the value's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta, timezone
from itertools import islice
from pathlib import PurePath
from typing import Any

SHOWN_CHARS = 80
"""Characters of a value that a message shows: enough to recognise it, so that two values and a remedy fit into a
message of ``MAX_MESSAGE``."""

MAX_MESSAGE = 1_000
"""Characters of a whole message: the longest of the library's own, of an embedder without weights, has some 700."""

_ITEMS = 6
_LEVELS = 2
_BITS = 256
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


def shown(value: object, chars: int = SHOWN_CHARS) -> str:
    """Return ``value`` as ``repr`` writes it, cut to ``chars`` characters; of an unknown type its name alone.

    Never raises, whatever the value's own methods do, and takes no longer for a value that is large or deeply nested.
    """
    try:
        return cut(_written(value, chars, 0), chars)
    except Exception:  # a subclass of a known type may do anything
        return f"<{type(value).__name__[:SHOWN_CHARS]}>"


def shown_scope(scope: Sequence[str]) -> str:
    """Return a scope in quotes as ``--scope`` takes it: its names, separated by slashes."""
    return shown("/".join(scope))


def cut(text: str, chars: int = MAX_MESSAGE) -> str:
    """Return a text of at most ``chars`` characters: what is too much goes from its middle."""
    if len(text) <= chars:
        return text
    head = chars // 2
    return f"{text[:head]}…{text[len(text) - (chars - head - 1) :]}"


def _written(value: object, chars: int, level: int) -> str:
    kind = type(value)
    if isinstance(value, str | bytes):
        plain: Any = str if isinstance(value, str) else bytes  # its methods, not those of a subclass
        return f"{plain.__repr__(plain.__getitem__(value, slice(chars)))}{'…' * (plain.__len__(value) > chars)}"
    if kind is int and isinstance(value, int):
        return repr(value) if value.bit_length() <= _BITS else f"<an integer of {value.bit_length():,} bits>"
    if isinstance(value, float):
        return float.__repr__(value)
    if value is None or kind in (bool, complex, timedelta, timezone) or isinstance(value, date):
        return repr(value)
    if isinstance(value, PurePath):
        return _written(str(value), chars, level)
    if isinstance(value, BaseException):
        return f"{kind.__name__}: {cut(str(value), chars)}"
    if isinstance(value, type):
        return f"<class {value.__name__}>"
    if kind in _BRACKETS or kind is dict:
        return _collection(value, chars, level)
    return f"<{kind.__name__}>"


def _collection(value: Any, chars: int, level: int) -> str:
    opening, closing = _BRACKETS.get(type(value), ("{", "}"))
    if level == _LEVELS:
        return f"{opening}…{closing}"
    first = islice(value.items() if isinstance(value, dict) else value, _ITEMS)
    if isinstance(value, dict):
        parts = [f"{_written(key, chars, level + 1)}: {_written(item, chars, level + 1)}" for key, item in first]
    else:
        parts = [_written(item, chars, level + 1) for item in first]
    if len(value) > _ITEMS:
        parts.append("…")
    comma = "," if type(value) is tuple and len(parts) == 1 else ""
    return f"{opening}{', '.join(parts)}{comma}{closing}"
