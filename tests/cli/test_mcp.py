"""``tidal mcp`` starts the MCP server with the memory, the scope and the options of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.mcp.talking import over_process
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.apps.cli.main import app


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with TidalMemory(path, scope=("user", "42"), embedder=HashingEmbedder()) as memory:
        memory.record("The kiln in the shed reaches 1,240 degrees.", "Enough for stoneware.", thread="kiln")
    return path


@pytest.mark.slow
async def test_a_client_talks_to_the_served_memory(db: Path) -> None:
    async with over_process("-m", "tidal_plugins", "mcp", "--db", str(db), "--scope", "user/42") as talk:
        assert "remember" not in await talk.tools()
        assert "user/42" in talk.instructions
        [thread] = (await talk.data("thread_history"))["results"]
        assert "kiln" in str(thread)


def test_an_address_that_is_open_to_others_needs_a_token(db: Path) -> None:
    done = CliRunner().invoke(app, ["mcp", "--db", str(db), "--http", "--host", "0.0.0.0"])
    assert done.exit_code == 2
    assert "token" in done.output
