"""Document: a text in several parts that was remembered under one source, such as a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Document:
    """A document that stands under its source.

    Attributes:
        source: its name, such as the path of a file.
        digest: what the caller knows its content by, such as a hash; ``None`` if nothing was given, or as long as not
            all of it is remembered.
        parts: the ids of its entries, in order; none for a document that is to go.
        stale: the ids of entries that it no longer has, and that are still to be removed.
        remembered_at: when it was last put.
    """

    source: str
    digest: str | None
    parts: tuple[str, ...]
    stale: tuple[str, ...]
    remembered_at: datetime
