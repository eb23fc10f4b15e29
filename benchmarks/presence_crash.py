"""How many turns a crash loses: a process records turns, says so, and is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tidal_plugins import HashingEmbedder, Settings, TidalMemory

KILLS = 5
QUIET = Settings(graph={"background": False})
_WRITER = """
import sys
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))
number = 0
while True:
    number += 1
    turn = memory.record(f"Crate {number} of the pears stands in the cellar.", "Noted.", thread=sys.argv[2])
    print(turn.id, flush=True)
"""


def lost_turns() -> int:
    """Return how many turns are missing that a process had recorded when it was killed, over some kills."""
    lost = 0
    with TemporaryDirectory(prefix="tidal-crash-") as folder:
        path = Path(folder, "crash.db")
        for kill in range(KILLS):
            recorded = _killed(path, f"run {kill}", turns=kill + 1)
            with TidalMemory(path, embedder=HashingEmbedder(), settings=QUIET) as memory:
                lost += len(recorded - {episode.id for episode in memory.episodes.list()})
    return lost


def _killed(path: Path, thread: str, turns: int) -> set[str]:
    """Let a process record turns, kill it, and return the ids of those that it said it had recorded."""
    command = [sys.executable, "-c", _WRITER, str(path), thread]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        said = {writer.stdout.readline().strip() for _ in range(turns)}
        writer.kill()
        said |= {line.strip() for line in writer.stdout}
    return said - {""}
