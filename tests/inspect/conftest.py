"""The inspector over a small memory, asked by a client in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="the extra inspect is not installed")

from starlette.testclient import TestClient

from tests.conftest import OpenMemory
from tidal_plugins import TidalMemory, ToolCall
from tidal_plugins.apps.inspect.app import application
from tidal_plugins.testing import NOON, FrozenClock

if TYPE_CHECKING:
    from tests.inspect.browser import Desk

TOKEN = "a-token-for-tests-only"
HOST = "http://127.0.0.1:8766"

Visit = Callable[..., TestClient]
Browse = Callable[..., "Desk"]


def fill(memory: TidalMemory) -> TidalMemory:
    """Record a small life: two threads, tools, facts, and a change of mind."""
    search = ToolCall("search", {"query": "clock springs"}, result="Two shops sell them.")
    memory.record("My cousin, Nora, repairs clocks in Porto.", "In Porto, then.", thread="monday", tools=[search])
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


@pytest.fixture
def known(filled: TidalMemory, clock: FrozenClock) -> TidalMemory:
    """Return a memory with relations, a conflict, a superseded value, a dossier, sessions and an archive."""
    graph = filled.graph
    graph.relate("Nora", "works_at", "the mint", since=NOON - timedelta(days=300), until=NOON - timedelta(days=100))
    graph.relate("Nora", "lives_in", "Porto", since=NOON - timedelta(days=90))
    graph.relate("checkout", "depends_on", "billing")
    filled.record("The bridge is closed.", "I see.", thread="bridge")
    filled.record("My office is in Bergen now.", "Noted.", thread="move")
    clock.advance(hours=1)
    filled.record("My office is in Lisbon now.", "Noted.", thread="move")
    filled.supersessions.find()
    filled.associations.link_pending()
    filled.dossiers.refresh("clocks")
    filled.capsule.read()
    return filled


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Browse]:
    """Return a function that serves a memory and opens a real browser at it, which must end without an incident."""
    from tests.inspect.browser import chromium, served

    with ExitStack() as closing:
        opened: list[Desk] = []

        def browsing(memory: TidalMemory, *, phone: bool = False, dark: bool = False, **options: Any) -> Desk:
            address = closing.enter_context(served(memory, **options))
            profile = tmp_path / f"browser-{len(opened)}"
            opened.append(closing.enter_context(chromium(profile, address, phone=phone, dark=dark)))
            return opened[-1]

        yield browsing
        for desk in opened:
            desk.check()
