"""The server of the tests: it is there for all processes of a run, and gone with the last of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres_server import needs_programs
from tests.waiting import eventually
from tools.postgres import Server

ROOT = Path(__file__).parent.parent
HOLD = """
import sys
from tools.postgres import launch
server, held = launch()
print(server.folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_server_ends_with_a_process_that_is_killed() -> None:
    programs = needs_programs()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, text=True, env=environment) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert Server(folder, programs).runs()
        holder.send_signal(signal.SIGKILL)
    assert eventually(lambda: not folder.exists())
    search = ["pgrep", "-f", f"{folder}/data"]
    assert eventually(lambda: not subprocess.run(search, capture_output=True, check=False).stdout)
