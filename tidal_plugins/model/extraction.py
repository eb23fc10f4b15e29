"""Extraction: episodes whose entities and relations are still to be read, and what came of reading them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pending:
    """An episode that waits to be read into the graph.

    Attributes:
        episode: its id.
        since: when it was recorded.
        attempts: how often reading it has failed.
        error: the error of the last attempt.
        next_at: when it is tried again; ``None`` if it waits until somebody asks.
        model: whether it waits for the model that reads beside the rules.
    """

    episode: str
    since: datetime
    attempts: int = 0
    error: str | None = None
    next_at: datetime | None = None
    model: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of reading pending episodes.

    Attributes:
        episodes: how many were read.
        failed: how many could not be read, and stay in the queue.
        mentions: how many names were found in them.
        assertions: how many statements were found in them.
        dropped: how many of both were left out, because their span is not in the text or cannot be used.
        facts: how many entries recall finds now that are new or changed.
    """

    episodes: int = 0
    failed: int = 0
    mentions: int = 0
    assertions: int = 0
    dropped: int = 0
    facts: int = 0

    def __add__(self, other: Extracted) -> Extracted:
        names = [field.name for field in fields(self)]
        return Extracted(**{name: getattr(self, name) + getattr(other, name) for name in names})
