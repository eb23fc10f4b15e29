"""Text and Markdown in parts: a long document is remembered in pieces, cut where the text itself pauses."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tidal_plugins.patterns import lazy_re

MAX_CHARS = 20_000
"""Characters of one part: some ten pages. A document that is shorter is one part, and a change of one section in a
longer one leaves the other parts as they are. The library cuts parts into passages itself."""

_HEADING = lazy_re(r"#{1,6} |={3,}\s*$|-{3,}\s*$")


LOOK = 1 << 16
"""Bytes of a file's beginning by which its encoding is told."""

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class Unreadable(Exception):
    """A file cannot be read, and why."""


class Part(NamedTuple):
    """A piece of a document, with its page if the document has pages."""

    text: str
    page: int | None = None


def packed(lines: Iterable[str], most: int = MAX_CHARS) -> Iterator[Part]:
    """Yield the parts of a document whose lines are given, each of at most ``most`` characters.

    A part ends before a heading if it is at least half full, else after an empty line, else anywhere.
    """
    held: list[str] = []
    size = 0
    for line in (piece for given in lines for piece in _short(given, most)):
        heading = size > most // 2 and bool(_HEADING.match(line))
        if held and (heading or size + len(line) > most):
            kept = len(held) if heading else _pause(held)
            yield from _part(held[:kept])
            held = held[kept:]
            size = sum(map(len, held))
        held.append(line)
        size += len(line)
    yield from _part(held)


def _part(lines: list[str]) -> Iterator[Part]:
    if text := "".join(lines).strip():
        yield Part(text)


def _pause(lines: list[str]) -> int:
    """Return after how many lines there is an empty one, in the last half of them; all, if there is none."""
    half = len(lines) // 2
    return next((place for place in range(len(lines), half, -1) if not lines[place - 1].strip()), len(lines))


def _short(line: str, most: int) -> Iterator[str]:
    """Yield a line in pieces that fit into a part with others."""
    step = max(1, most // 2)
    yield from (line[start : start + step] for start in range(0, len(line), step))


def read(path: Path) -> Iterator[Part]:
    """Yield the parts of a text file. Raises ``Unreadable`` for one that holds no text."""
    with path.open(encoding=encoding(path), errors="replace") as file:
        yield from packed(iter(lambda: file.readline(MAX_CHARS), ""))


def encoding(path: Path) -> str:
    """Return the encoding of a text file: that of its mark, else UTF-8, else Windows-1252."""
    with path.open("rb") as file:
        head = file.read(LOOK)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise Unreadable("it holds no text, but binary data")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut off at the end
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
