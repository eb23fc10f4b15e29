"""The server and the client of the SDK's second line, and what a broken embedder leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.talking import ROOT, SECOND_LINE, environment, over_process

SECOND = Path(sys.prefix, "mcp2")


@pytest.mark.slow
@pytest.mark.skipif(SECOND_LINE, reason="this is the second line")
@pytest.mark.skipif(not SECOND.exists(), reason=f"mcp 2 is not in {SECOND}: make .venv/.stamp puts it there")
@pytest.mark.parametrize(
    ("file", "chosen"),
    [("test_server.py", "client_is_told or search or resources or prompt or policy"), ("test_http.py", "")],
)
def test_the_second_line_of_the_sdk_does_the_same(file: str, chosen: str) -> None:
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(SECOND), env["PYTHONPATH"]])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--all",
        "-p",
        "no:cacheprovider",
        f"tests/mcp/{file}",
        "-k",
        chosen,
    ]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]


@pytest.mark.slow
async def test_the_embedder_is_not_loaded_before_a_question_needs_it(default_db: Path) -> None:
    async with over_process("tests/mcp/lazy_process.py", str(default_db)) as talk:
        assert "memory_search" in await talk.tools()
        assert (await talk.data("thread_history"))["results"]
        told = await talk.refusal("memory_search", query="Lisbon")
        assert told.startswith(
            "Not done. EmbeddingError: Text could not be turned into vectors: the embedder's weights"
        )
        assert "/srv" not in told
