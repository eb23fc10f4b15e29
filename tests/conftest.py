from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tidal_plugins.testing")

from tidal_plugins import HashingEmbedder, SentenceTransformerEmbedder, TidalMemory  # noqa: E402
from tidal_plugins.storage.memory import Contents, MemoryStorage  # noqa: E402
from tidal_plugins.testing import FrozenClock  # noqa: E402

OpenMemory = Callable[..., TidalMemory]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def engine() -> str:
    """The engine of ``open_memory``: ``sqlite`` or ``memory``. Test files that run on both override it."""
    return "sqlite"


@pytest.fixture
def open_memory(tmp_path: Path, clock: FrozenClock, engine: str) -> Iterator[OpenMemory]:
    """Opens ``agent.db``, or the store named, with a hashing embedder and a clock that stands still."""
    opened: list[TidalMemory] = []
    stores: dict[str, Contents] = {}

    def open_(name: str = "agent.db", **options: Any) -> TidalMemory:
        options = {"embedder": HashingEmbedder(), "clock": clock, **options}
        if engine == "memory":
            storage = MemoryStorage(stores.setdefault(name, Contents()))
            opened.append(TidalMemory(storage=storage, **options))
        else:
            opened.append(TidalMemory(tmp_path / name, **options))
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
