from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tidal_plugins import TidalMemory
from tidal_plugins.dossiers.capsule import Capsules
from tidal_plugins.dossiers.dossier import Dossiers
from tidal_plugins.model.entry import Entry
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.testing import NOON


@pytest.fixture
def dossiers_of() -> Callable[..., Dossiers]:
    def make(memory: TidalMemory, summariser: Any = None, extractive: Any = None) -> Dossiers:
        rooms = memory._services
        extractive = extractive or ExtractiveSummariser()
        return Dossiers(rooms.writer, rooms.recaller, memory.scope, extractive, summariser)

    return make


@pytest.fixture
def dossiers(memory: TidalMemory, dossiers_of: Callable[..., Dossiers]) -> Dossiers:
    return dossiers_of(memory)


@pytest.fixture
def capsules(memory: TidalMemory) -> Capsules:
    return Capsules(memory._services.storage, memory.settings, memory.scope)


@pytest.fixture
def entries() -> Callable[..., list[Entry]]:
    """One entry a text, an hour apart."""

    def make(*texts: str, speakers: Sequence[str] = (), roles: Sequence[str] = ()) -> list[Entry]:
        return [
            _entry(n, text, speakers[n] if speakers else None, roles[n] if roles else "user")
            for n, text in enumerate(texts)
        ]

    return make


def _entry(number: int, text: str, speaker: str | None, role: str) -> Entry:
    at: datetime = NOON + timedelta(hours=number)
    return Entry(
        f"e{number}", "conversation", text, ("here",), at, at, speaker=speaker, role=role, episode=f"t{number // 2}"
    )
