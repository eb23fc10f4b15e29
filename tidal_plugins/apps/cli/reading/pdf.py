"""PDF, page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from tidal_plugins.apps.cli.reading.text import Part, Unreadable, packed
from tidal_plugins.patterns import lazy_re

_HYPHEN = lazy_re(r"(?<=[a-z])-\n(?=[a-z])")

logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity of a file


def read(path: Path) -> Iterator[Part]:
    """Yield the pages of a PDF that have text. Raises ``Unreadable`` for one without, or with a password."""
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it needs a password")
        found = False
        for number, page in enumerate(reader.pages, 1):
            for part in packed((_HYPHEN.sub("", page.extract_text()) + "\n").splitlines(keepends=True)):
                found = True
                yield Part(part.text, number)
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise Unreadable(f"it is no PDF that can be read: {error}") from error
    if not found:
        raise Unreadable("its pages are images without text")
