"""The budget of a model that reads, by day for the whole store, and its usage in each scope. Both are durable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import ReaderUsage
from tidal_plugins.settings import ModelSettings
from tidal_plugins.storage.base import STORE, Storage
from tidal_plugins.storage.capabilities import count_keys
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.tuning import Weights, tunable


@dataclass(frozen=True, kw_only=True)
class ReaderTuning(Weights, group="reader"):
    """A model that reads turns for the graph, beside the rules."""

    turns: int = tunable(6, gt=0, le=50)
    """Turns that it reads at a time. Of two people's turns six in one call took 336 tokens each, alone 1,061, counted
    as four characters a token: the instructions around them have 658, and alone each brings the two before it."""
    wait: float = tunable(300.0, ge=0)
    """Seconds that a turn waits for others before it is read without them."""


MODEL = "job:model"
"""Jobs by episode, for the model."""

USAGE = "reader-usage"
"""Collection with one document: in a scope what was used there, in the scope of the store what was used today."""

CHARS_PER_TOKEN = 4
"""Characters of a token where a provider does not count: what English prose takes with usual tokenisers."""


class Spent(Exception):
    """Today's budget is spent."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Counts calls and tokens. Days begin at midnight in ``zone``."""

    storage: Storage
    settings: ModelSettings
    zone: ZoneInfo

    @retry
    def take_call(self, scope: Scope, now: datetime) -> None:
        """Count a call before it is made, so that several processes keep to one budget. Raises ``Spent``."""
        with self.storage.transaction():
            calls, tokens = self._today(now)
            if calls >= self.settings.calls_per_day or tokens >= self.settings.tokens_per_day:
                raise Spent
            self._write_today(now, calls + 1, tokens)
            self.add(scope, calls=1)

    @retry
    def give_back_call(self, scope: Scope, now: datetime) -> None:
        """Take back a call that was counted and not made."""
        with self.storage.transaction():
            calls, tokens = self._today(now)
            self._write_today(now, max(0, calls - 1), tokens)
            self.add(scope, calls=-1)

    @retry
    def add_tokens(self, scope: Scope, tokens_in: int, tokens_out: int, now: datetime) -> None:
        """Count the tokens of a call after it was made."""
        with self.storage.transaction():
            calls, tokens = self._today(now)
            self._write_today(now, calls, tokens + tokens_in + tokens_out)
            self.add(scope, tokens_in=tokens_in, tokens_out=tokens_out)

    def add(self, scope: Scope, **counts: int) -> None:
        """Add to the usage of the scope. Call it inside a transaction."""
        used = _used(self.storage, scope)
        more = {name: used.get(name, 0) + count for name, count in counts.items()}
        write_document(self.storage, scope, USAGE, USAGE, {**used, **more})

    def is_spent(self, now: datetime) -> bool:
        calls, tokens = self._today(now)
        return calls >= self.settings.calls_per_day or tokens >= self.settings.tokens_per_day

    def tomorrow(self, now: datetime) -> datetime:
        """Return the next midnight."""
        day = now.astimezone(self.zone).date() + timedelta(days=1)
        return datetime.combine(day, time(), self.zone)

    def usage(self, scope: Scope, now: datetime) -> ReaderUsage:
        """Return what was used in the scope, and today in the store."""
        calls, tokens = self._today(now)
        waiting = count_keys(self.storage, scope, [MODEL])
        used = {name: count for name, count in _used(self.storage, scope).items() if name in _COUNTED}
        return ReaderUsage(**used, waiting=waiting, calls_today=calls, tokens_today=tokens)

    def _today(self, now: datetime) -> tuple[int, int]:
        value = _used(self.storage, STORE)
        if value.get("day") != self._day(now):
            return 0, 0
        return value["calls"], value["tokens"]

    def _write_today(self, now: datetime, calls: int, tokens: int) -> None:
        today = {"day": self._day(now), "calls": calls, "tokens": tokens}
        write_document(self.storage, STORE, USAGE, USAGE, today)

    def _day(self, now: datetime) -> str:
        return now.astimezone(self.zone).date().isoformat()


_COUNTED = frozenset("turns calls tokens_in tokens_out kept facts summaries refused passed failures".split())
"""The counts of a scope that are kept."""


def _used(storage: Storage, scope: Scope) -> dict[str, Any]:
    document = read_document(storage, scope, USAGE, USAGE)
    return dict(document.value) if document else {}
