"""Admission: what the write gate makes of something new [Anamnesis G6]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision of the write gate on a new entry: kept for good, or for a while.

    Attributes:
        importance: in [1, 10].
        intensity: of the mood, in [0, 1].
        surprise: how far it is from everything known, in [0, 1].
        salience: the weighed sum of the three, in [0, 1].
        expires_at: when it leaves active queries unless it is used before; ``None`` if it is kept for good.
    """

    importance: float
    intensity: float
    surprise: float
    salience: float
    expires_at: datetime | None = None

    @property
    def ephemeral(self) -> bool:
        return self.expires_at is not None
