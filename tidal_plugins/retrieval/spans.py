"""Spans of a text that a whisper may show: the sentences of its prose, and the lines of its fenced code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.sentences import sentences, trim
from tidal_plugins.patterns import lazy_re

_FENCE = lazy_re(r"^[ \t]*(`{3,}+(?=[^`\n]*$)|~{3,})[^\n]*\n?", re.MULTILINE)
"""A line that opens or closes a block of code."""


def without_fences(text: str) -> str:
    """Return a text without the lines that open and close its blocks of code."""
    return _FENCE.sub("", text)


def blocks(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the fenced blocks of code in a text, with their fences. The last may have no end."""
    found: list[tuple[int, int]] = []
    start, mark = 0, ""
    for fence in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if not mark:
            start, mark = fence.start(), fence[1]
        elif fence[1].startswith(mark):
            found.append((start, fence.end()))
            mark = ""
    return [*found, (start, len(text))] if mark else found


def spans(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Return the offsets of the sentences, and of the lines of code, in a part of a text, in order."""
    found: list[tuple[int, int]] = []
    at = first
    for start, end in blocks(text):
        if end > at and start < last:
            found += _moved(sentences(text[at:start]), at)
            found += _lines(text, max(start, first), min(end, last))
            at = end
    return found + _moved(sentences(text[at:last]), at)


def _moved(found: list[tuple[int, int]], by: int) -> list[tuple[int, int]]:
    return [(start + by, end + by) for start, end in found]


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in text[start:end].splitlines(keepends=True):
        if not _FENCE.match(line) and (found := trim(text, start, start + len(line))):
            yield found
        start += len(line)
