"""Counters: the signals counted for a session or a scope, by type and by window of time [tidalDB]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.session import Counts
from tidal_plugins.scoring.windows import Buckets, counted, totals


@dataclass(frozen=True, slots=True)
class Counters:
    """The signals counted for a session or the scope, by type."""

    accepted: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    windows: Mapping[str, Buckets] = field(default_factory=dict)

    def plus(self, type: str, at: datetime, now: datetime) -> Counters:
        buckets = counted(self.windows.get(type, {}), to_micros(at), to_micros(now))
        accepted = {**self.accepted, type: self.accepted.get(type, 0) + 1}
        return replace(self, accepted=accepted, windows={**self.windows, type: buckets})

    def counts(self, now: datetime) -> dict[str, Counts]:
        return {type: Counts(**totals(buckets, to_micros(now))) for type, buckets in self.windows.items()}
