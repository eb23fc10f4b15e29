"""JSON encoders that are made once: the standard library makes one at every call, which takes longer than to write a
short value."""

from __future__ import annotations

import json.encoder
from collections.abc import Callable
from typing import Any

COMMON = (", ", ": ")
COMPACT = (",", ":")


def json_encoder(
    *,
    default: Callable[[Any], Any] | None = None,
    ascii: bool = True,
    nan: bool = True,
    sort_keys: bool = False,
    separators: tuple[str, str] = COMMON,
) -> Callable[[Any], str]:
    """Return a function that writes what ``json.dumps`` does with these options.

    Of an object that contains itself it raises ``RecursionError``.
    """
    options: dict[str, Any] = {"allow_nan": nan, "sort_keys": sort_keys, "separators": separators, "default": default}
    whole = json.JSONEncoder(ensure_ascii=ascii, check_circular=False, **options)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the accelerator
        return whole.encode
    escaped = json.encoder.encode_basestring_ascii if ascii else json.encoder.encode_basestring
    item, key = separators
    chunks = make(None, whole.default, escaped, None, key, item, sort_keys, False, nan)
    return lambda value: "".join(chunks(value, 0))
