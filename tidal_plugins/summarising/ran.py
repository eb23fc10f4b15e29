"""Checks that an agent ran: tests, a build, a linter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tidal_plugins.summarising.outcomes import Check

_MAX_SINCE = 3
"""Changes after a check that are told: the newest."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a check found last: tests, a build, a linter. ``since`` names what has changed after it, the newest last."""

    name: str
    targets: tuple[str, ...]
    text: str
    tests: bool
    source: str
    at: datetime | None = None
    since: tuple[str, ...] = ()

    @property
    def check(self) -> Check:
        return self.name, frozenset(self.targets)

    @property
    def branch(self) -> str:
        """Return the branch that the command switched to first, if it did."""
        return self.name.partition(" on ")[2]

    @property
    def told(self) -> str:
        """Return what it found, when, and what has changed since."""
        when = f"at {self.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if self.at else ""
        names, more = self.since[-_MAX_SINCE:], len(self.since) - _MAX_SINCE
        since = f"changed since: {', '.join(reversed(names))}" + (f" and {more} more" if more > 0 else "")
        beside = "; ".join(filter(None, [when, since if names else ""]))
        return f"{self.text} ({beside})" if beside else self.text
