"""Text and Markdown, which stay as they are: the library reads Markdown's headings, lists and code itself."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from tidal_plugins.apps.cli.reading.parts import MAX_CHARS, Part, Unreadable, packed

LOOK = 1 << 16
"""Bytes of a file's beginning by which its encoding is told."""

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


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
