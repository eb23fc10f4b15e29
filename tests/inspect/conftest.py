"""The inspector over a small memory, asked by a client in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from tests.conftest import OpenMemory
from tidal_inspect.app import application
from tidal_plugins import TidalMemory, ToolCall

TOKEN = "a-token-for-tests-only"
HOST = "http://127.0.0.1:8766"

Visit = Callable[..., TestClient]


def fill(memory: TidalMemory) -> TidalMemory:
    """Record a small life: two threads, tools, facts, and a change of mind."""
    search = ToolCall("search", {"query": "clock springs"}, result="Two shops sell them.")
    memory.record("My cousin Nora repairs clocks in Porto.", "In Porto, then.", thread="monday", tools=[search])
    memory.record("I am furious! The clock I bought from her stopped.", "That is annoying.", thread="monday")
    memory.record("The kiln in the shed reaches 1,240 degrees.", "Enough for stoneware.", thread="kiln")
    memory.remember("To flash the board, hold BOOT and tap RESET.", kind="skill", source="manual")
    memory.facts["bridge"] = "open"
    memory.graph.index_pending()
    return memory


@pytest.fixture
def visit() -> Visit:
    """Return a function that returns a client of a memory's pages, one that has the token unless told otherwise."""

    def visiting(memory: TidalMemory, *, token: bool = True, **options: object) -> TestClient:
        client = TestClient(application(memory, token=TOKEN, **options), base_url=HOST)  # type: ignore[arg-type]
        if token:
            assert client.get(f"/?token={TOKEN}", follow_redirects=False).status_code == 303
        return client

    return visiting


@pytest.fixture
def filled(open_memory: OpenMemory) -> TidalMemory:
    """Return a memory with a small life in it."""
    return fill(open_memory())
