"""A server that is killed while it writes: what it acknowledged is there, and nothing half-written is."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.mcp.conftest import SCOPE
from tests.mcp.talking import over_process
from tests.waiting import aeventually
from tidal_plugins import TidalMemory

pytestmark = pytest.mark.slow

NAMED = "import os, pathlib, sys; pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))"
SERVE = f"{NAMED}; from tidal_plugins.apps.cli import main; sys.argv.insert(1, 'mcp'); main()"
"""A program that writes the number of its process into a file and serves a memory."""


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.07])
async def test_a_kill_in_the_middle_of_writes_leaves_whole_memories(
    default_db: Path, tmp_path: Path, seconds: float
) -> None:
    known, saved = tmp_path / "process", dict[str, str]()
    options = ("--db", str(default_db), "--scope", "/".join(SCOPE), "--allow-writes")

    async def write() -> None:
        async with over_process("-c", SERVE, str(known), *options) as talk:
            for number in range(200):
                text = f"Shelf {number} of the boathouse holds {number} oars. " * 20
                saved[(await talk.data("remember", text=text))["citation"]] = text

    writing = asyncio.create_task(write())
    assert await aeventually(lambda: len(saved) >= 3)
    await asyncio.sleep(seconds)
    os.kill(int(known.read_text()), signal.SIGKILL)
    await asyncio.sleep(0.2)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)

    with TidalMemory(default_db, scope=SCOPE) as memory:
        assert memory.check().ok
        assert {citation: memory.get(citation).text for citation in saved} == saved
        notes = memory.entries.list(sources={"agent"}, limit=256)
        assert {note.citation for note in notes} >= saved.keys()
        assert len(notes) <= len(saved) + 1, "at most one was stored that nobody heard of"
        assert all(len(memory.recall(note.text[:60], limit=1)) == 1 for note in notes)
        [session] = memory.sessions.list()
        audit = memory.sessions.audit(session.id)
        assert len(notes) <= len(audit) <= len(notes) + 1, "no memory without the word of the policy"
    async with over_process("-m", "tidal_plugins", "mcp", *options) as talk:
        assert (await talk.data("remember", text="The oars are counted."))["left"] == 199
