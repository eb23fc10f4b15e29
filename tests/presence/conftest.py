"""A person and a memory that may speak first, over hours that pass by the clock alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import ProactiveMessage, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

DEBT = "I need to pay the plumber 80 euros by Thursday."
"""Said on Sunday 1 March 2026 at noon, due on Thursday the 5th."""
DINNER = "We have dinner with Tomas and Rea at the harbour on Friday."


@dataclass
class Days:
    """Lets time pass for a memory, with steps of its presence, and takes what it says."""

    memory: TidalMemory
    clock: FrozenClock

    def say(self, user: str, agent: str = "Noted.", **options: Any) -> Any:
        return self.memory.record(user, agent, thread="talk", **options)

    def until(self, end: datetime, *, every: timedelta = timedelta(hours=4)) -> list[ProactiveMessage]:
        """Step until a time and return what was said; the clock stands there in the end."""
        found = []
        while self.clock() < end:
            self.clock.set(min(end, self.clock() + every))
            if self.memory.presence.step().message and (message := self.memory.presence.take()):
                found.append(message)
        return found

    def pass_by(self, **duration: float) -> list[ProactiveMessage]:
        return self.until(self.clock() + timedelta(**duration))


@pytest.fixture
def days_of(clock: FrozenClock) -> Callable[[TidalMemory], Days]:
    return lambda memory: Days(memory, clock)


@pytest.fixture
def allowed(open_memory: OpenMemory, clock: FrozenClock) -> Callable[..., Days]:
    """Return a function that returns the days of an empty memory with these settings, allowed on these terms."""

    def allowed(settings: Settings | None = None, **terms: Any) -> Days:
        memory = open_memory(settings=settings)
        memory.presence.allow(**{"zone": "UTC", **terms})
        return Days(memory, clock)

    return allowed


@pytest.fixture
def days(allowed: Callable[..., Days]) -> Days:
    """Return the days of an empty memory that may speak first, in UTC."""
    return allowed()
