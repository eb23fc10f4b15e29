from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import Opened
from tests.graph.knowing import World
from tests.reading import Reader
from tests.tuned import tuned
from tidal_plugins import Settings, TidalMemory


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.memory.close()


@pytest.fixture
def opened(open_memory: OpenMemory) -> Opened:
    """Return a function that opens a memory which reads nothing by itself."""

    def open_(extractor: Any = None, name: str = "agent.db", timeout: float = 60.0, **jobs: Any) -> TidalMemory:
        settings = tuned(graph={"background": False}, jobs=jobs, models={"timeout": timeout})
        return open_memory(name, graph_extractor=extractor or Reader(), settings=settings)

    return open_


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    """Return a memory that reads nothing by itself."""
    return open_memory(settings=Settings(graph={"background": False}))
