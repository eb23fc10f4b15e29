from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tidal_plugins.testing")

from tidal_plugins import HashingEmbedder, SentenceTransformerEmbedder, TidalMemory  # noqa: E402
from tidal_plugins.testing import FrozenClock  # noqa: E402

OpenMemory = Callable[..., TidalMemory]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenMemory]:
    """Opens ``agent.db``, or the file named, with a hashing embedder and a clock that stands still."""
    opened: list[TidalMemory] = []

    def open_(name: str = "agent.db", **options: Any) -> TidalMemory:
        opened.append(TidalMemory(tmp_path / name, **{"embedder": HashingEmbedder(), "clock": clock, **options}))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory()


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformerEmbedder:
    """The default embedder, for tests in which meaning matters."""
    return SentenceTransformerEmbedder()
