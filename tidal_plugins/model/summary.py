"""Input and output of a summariser: sources, and the statements that cite them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.model.exchange import Message


@dataclass(frozen=True, slots=True)
class Source:
    """A source to condense: the ``messages`` of an episode or entry, in order, and the ``id`` that cites it.

    ``at`` is when it happened, if that is known.
    """

    id: str
    messages: tuple[Message, ...]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a summary.

    Attributes:
        text: the statement.
        sources: the ids of the sources that say it.
        messages: the ids of the messages that it was taken from, if they are known.
    """

    text: str
    sources: tuple[str, ...]
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.text, *(f"[ep:{source}]" for source in self.sources)])
