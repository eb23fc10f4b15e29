"""Readers of files: each yields the parts of a document as text, in order and with little of it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tidal_plugins.apps.cli.reading.text import Part

Reader = Callable[[Path], Iterator[Part]]

TEXT = frozenset(".md .markdown .mdx .rst .txt .text .org .adoc .log".split())
HTML = frozenset(".html .htm .xhtml".split())
PDF = frozenset([".pdf"])

VERSION = "1"
"""Part of every digest: a change of how files are read makes them be read again."""


def reader_of(path: Path) -> Reader | None:
    """Return the reader for a file by its suffix, or ``None`` for a file that is no document."""
    suffix = path.suffix.lower()
    if suffix in TEXT:
        from tidal_plugins.apps.cli.reading.text import read
    elif suffix in HTML:
        from tidal_plugins.apps.cli.reading.html import read
    elif suffix in PDF:
        from tidal_plugins.apps.cli.reading.pdf import read
    else:
        return None
    return read
