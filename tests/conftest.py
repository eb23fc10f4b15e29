from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tidal_plugins.testing")

from tests.postgres_server import own_postgres, postgres, postgres_url  # noqa: E402, F401
from tidal_plugins import HashingEmbedder, OnnxEmbedder, Settings, TidalMemory  # noqa: E402
from tidal_plugins.testing import FrozenClock  # noqa: E402

OpenMemory = Callable[..., TidalMemory]

IN_MEMORY = Path("/dev/shm")
"""Folder of a file system that Linux keeps in memory."""

ROOM = 4 * 2**30
"""Bytes that must be free there for the files of the tests: some 300 MB for each of the last three runs."""


# A busy machine takes longer than the 200 ms that an example has otherwise.
settings.register_profile("quick", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("all", settings.get_profile("quick"), max_examples=100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run slow tests too, and property tests with many examples")


def pytest_configure(config: pytest.Config) -> None:
    """Put the files of the tests into memory if there is room: thousands of stores are written, synced and removed."""
    settings.load_profile("all" if config.getoption("--all") else "quick")
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


SLOW_FIXTURES = {"postgres", "own_postgres", "browse"}
"""The fixtures that start a server or a browser."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out, unless all were asked for or one was named."""
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    quick, slow = [], []
    for item in items:
        needs = SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        (slow if needs or item.get_closest_marker("slow") else quick).append(item)
    items[:] = quick
    config.hook.pytest_deselected(items=slow)


LIMITS = ("rerank.seconds", "hops.ms", "peers.timeout")
"""Weights that bound how long a recall may take, as the deadline of the store does."""


def patient(settings: Settings) -> Settings:
    """Return settings in which each time limit that was left at its default is an hour."""
    storage = settings.storage
    if "query_deadline" not in storage.model_fields_set:
        storage = storage.model_copy(update={"query_deadline": 3_600.0})
    tuning = dict.fromkeys(LIMITS, 3_600.0) | dict(settings.tuning)
    return settings.model_copy(update={"storage": storage, "tuning": tuning})


@pytest.fixture
def clock() -> FrozenClock:
    """Return a clock that stands at noon until a test moves it."""
    return FrozenClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenMemory]:
    """Return a function that opens ``agent.db``, or the store named, with a hashing embedder and a clock that stands
    still.

    All memories are closed at the end. A time limit that a test does not set is long enough for a busy machine.
    """
    opened: list[TidalMemory] = []

    def open_(name: str = "agent.db", *, settings: Settings | None = None, **options: Any) -> TidalMemory:
        options = {"embedder": HashingEmbedder(), "clock": clock, **options}
        options["settings"] = patient(settings or Settings())
        place = () if "storage" in options else (tmp_path / name,)
        opened.append(TidalMemory(*place, **options))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    """Return an empty memory."""
    return open_memory()


@pytest.fixture(scope="session")
def minilm() -> OnnxEmbedder:
    """Return the default embedder, for tests in which meaning matters."""
    return OnnxEmbedder()
