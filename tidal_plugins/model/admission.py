"""Admission: what the write gate makes of something new [Anamnesis G6]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether something new is kept for good or for a while, and why.

    ``importance`` is in [1, 10], ``intensity``, ``surprise`` and ``salience`` in [0, 1]. What is ephemeral leaves
    active queries at ``expires_at`` unless it is used before; nothing is dropped. ``None`` there means for good.
    """

    importance: float
    intensity: float
    surprise: float
    salience: float
    expires_at: datetime | None = None

    @property
    def ephemeral(self) -> bool:
        return self.expires_at is not None
