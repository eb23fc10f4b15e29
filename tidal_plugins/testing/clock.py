"""A clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidal_plugins.model.clock import aware

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class FrozenClock:
    """A clock that stands still until told otherwise."""

    def __init__(self, now: datetime = NOON) -> None:
        self.set(now)

    def __call__(self) -> datetime:
        return self._now

    def set(self, now: datetime) -> None:
        """Set the time. Raises ``InvalidInput`` for one without a time zone."""
        self._now = aware(now, "now")

    def advance(self, **duration: float) -> None:
        """Go on by ``timedelta(**duration)``: ``clock.advance(hours=3)``."""
        self._now += timedelta(**duration)
