"""Binary data in texts: images and archives as base 64, keys and hashes in long runs. No reader makes sense of them."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

_RUN = 200
"""Characters without a space, a dot or another sign between words, from which on a run is no word, path or address."""

_LINES, _LINE = 3, 60
"""Lines of at least so many such characters that are base 64 folded to a width: MIME's is 76, PEM's 64."""

_BINARY = lazy_re(
    rf"(?:data:[\w.+/-]*+;base64,)?(?:[A-Za-z0-9+/_-]{{{_RUN},}}={{0,2}}"
    rf"|(?:(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LINE},}}={{0,2}}\s+){{{_LINES},}}(?:[A-Za-z0-9+/]+={{0,2}}$)?)",
    re.MULTILINE,
)


def without_binary(text: str) -> str:
    """Return ``text`` without the runs in it that are binary data."""
    if max(map(len, text.split()), default=0) < _LINE:  # as nearly always, and much quicker than the pattern
        return text
    return _BINARY.sub(" ", text)


def is_binary(text: str) -> bool:
    """Return whether nothing of ``text`` can be read beside binary data."""
    return not any(map(str.isalnum, without_binary(text)))
