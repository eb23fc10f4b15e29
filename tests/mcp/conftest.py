"""A memory to serve."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.protocols import Embedder

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
SCOPE = ("user", "42")
TURNS = [
    ("kiln", "The kiln in the shed reaches 1,240 degrees.", "Enough for stoneware."),
    ("kiln", "glaze.py depends on recipes.py.", "I see."),
    ("trip", "My cousin Odile works at the harbour office in Lisbon.", "Good to know."),
    ("trip", "Shall I take the night train to Lisbon?", "It takes 11 hours."),
]


def filled(path: Path, embedder: Embedder | None = None) -> Path:
    """Return the file of a memory with two conversations of user 42, and something of user 7."""
    with TidalMemory(path, scope=SCOPE, **({"embedder": embedder} if embedder else {})) as memory:
        for place, (thread, user, agent) in enumerate(TURNS):
            memory.record(user, agent, thread=thread, id=f"t{place}", occurred_at=MONDAY + timedelta(hours=place))
        memory.facts["kiln owner"] = "Maud"
        memory.facts["kiln owner"] = "Ruben"
        memory.graph.index_pending()
        memory.dossiers.refresh("kiln")
        memory.scoped("user", "7").record("My locker is number 9.", "Yes.", thread="kiln", id="other")
    return path


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return such a file for servers in this process, which embed by spelling."""
    return filled(tmp_path_factory.mktemp("mcp") / "agent.db", HashingEmbedder())


@pytest.fixture(scope="session")
def default_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one for servers in processes of their own, which embed by meaning."""
    return filled(tmp_path_factory.mktemp("mcp") / "default.db")


@pytest.fixture
def db(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the first one."""
    return Path(shutil.copy(template, tmp_path / "agent.db"))


@pytest.fixture
def default_db(default_template: Path, tmp_path: Path) -> Path:
    """Return a copy of the second one."""
    return Path(shutil.copy(default_template, tmp_path / "agent.db"))
