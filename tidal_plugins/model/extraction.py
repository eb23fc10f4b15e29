"""Extraction: episodes whose entities and relations are still to be read, and what came of reading them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pending:
    """An episode that waits for its entities and relations to be read.

    After ``attempts`` that failed, the last one with ``error``, it is tried again from ``next_at`` on; ``None`` says
    that it was given up until somebody asks for it.
    """

    episode: str
    since: datetime
    attempts: int = 0
    error: str | None = None
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What reading pending episodes came to.

    ``episodes`` counts those that were read, ``failed`` those that were not and stay in the queue. ``mentions`` and
    ``assertions`` count what was found in them, ``dropped`` what was left out, because its span is not in the text or
    cannot be used. ``facts`` counts the entries that recall now finds, changed or new.
    """

    episodes: int = 0
    failed: int = 0
    mentions: int = 0
    assertions: int = 0
    dropped: int = 0
    facts: int = 0
