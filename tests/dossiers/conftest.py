"""Dossiers, briefs and capsules of a memory, at times of the test's choosing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.inside import capsule_versions, dossier_versions
from tidal_plugins import Capsule, Dossier, Entry, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock


class DossiersAt:
    """The dossiers of a memory; the clock is set to the time that a call names."""

    def __init__(self, memory: TidalMemory, clock: FrozenClock) -> None:
        self.memory, self.clock = memory, clock

    def current(self, topic: str, at: datetime, *, force: bool = False) -> Dossier:
        self.clock.set(at)
        return self.memory.dossiers.refresh(topic, force=force)

    def refresh_due(self, at: datetime) -> list[str]:
        """Return the topics that maintenance refreshes."""
        return list(self.memory.maintenance.run(at).dossiers)

    def all(self) -> list[Dossier]:
        return self.memory.dossiers.list()

    def versions(self, topic: str) -> list[Dossier]:
        return dossier_versions(self.memory, topic)


class CapsuleAt:
    """The capsule of a memory; the clock is set to the time that a call names."""

    def __init__(self, memory: TidalMemory, clock: FrozenClock) -> None:
        self.memory, self.clock = memory, clock

    def current(self, at: datetime, *, max_age: timedelta = timedelta(0)) -> Capsule:
        self.clock.set(at)
        return self.memory.capsule.read(max_age=max_age)

    def write(self, capsule: Capsule | str, at: datetime) -> Capsule:
        self.clock.set(at)
        return self.memory.capsule.write(capsule)

    def versions(self) -> list[Capsule]:
        return capsule_versions(self.memory)


@pytest.fixture
def dossiers_of(open_memory: OpenMemory, clock: FrozenClock) -> Callable[..., DossiersAt]:
    """Return a function that returns the dossiers of a memory.

    With a summariser, these are the dossiers of another memory on the same file that has it.
    """

    def make(memory: TidalMemory, summariser: Any = None) -> DossiersAt:
        if summariser:
            memory = open_memory(Path(memory.path).name, summariser=summariser, settings=memory.settings)
        return DossiersAt(memory, clock)

    return make


@pytest.fixture
def dossiers(memory: TidalMemory, clock: FrozenClock) -> DossiersAt:
    return DossiersAt(memory, clock)


@pytest.fixture
def capsules(memory: TidalMemory, clock: FrozenClock) -> CapsuleAt:
    return CapsuleAt(memory, clock)


@pytest.fixture
def entries() -> Callable[..., list[Entry]]:
    """Return a function that makes one entry per text, an hour apart."""

    def make(*texts: str, speakers: Sequence[str] = (), roles: Sequence[str] = ()) -> list[Entry]:
        return [
            _entry(n, text, speakers[n] if speakers else None, roles[n] if roles else "user")
            for n, text in enumerate(texts)
        ]

    return make


def _entry(number: int, text: str, speaker: str | None, role: str) -> Entry:
    at = NOON + timedelta(hours=number)
    return Entry(
        f"e{number}", "conversation", text, ("here",), at, at, speaker=speaker, role=role, episode=f"t{number // 2}"
    )
