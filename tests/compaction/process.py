"""Compact on the file of a test, in a process of its own: the argument is a JSON order, the output a JSON answer."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.compaction.histories import chat, question
from tests.compaction.oracle import checked
from tests.waiting import meet
from tidal_plugins import HashingEmbedder, Message, TidalMemory

TOKENS = 1_500


def open_memory(path: str) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder())


def asking(turns: int) -> list[Message]:
    """Return ``turns`` completed turns, and a question."""
    return [*chat(0, turns), Message("user", question(turns), f"m{turns}-user")]


def compact(path: str, turns: int, meeting: str | None = None) -> dict[str, Any]:
    """Compact a history. With a ``meeting``, do so at the same time as another process."""
    with open_memory(path) as memory:
        compactor = memory.compactor(max_tokens=TOKENS)
        if meeting:
            meet(Path(meeting), 2)
        compaction = checked(memory, asking(turns), compactor.compact(asking(turns), thread="s"))
        return {"id": compaction.id, "stage": compaction.stage, "view": [repr(piece) for piece in compaction.view]}


def killed(path: str, times: int) -> dict[str, int]:
    """Compact a growing history in a forked process, kill the process, check what it left; repeat ``times`` times.

    The process is killed at some moment after a number of compactions.
    """
    chance = random.Random(5)
    done = {"kills": 0, "rebuilt": 0}
    for _ in range(times):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            _compact_on(path, chance.randrange(10**9), write)
        os.close(write)
        for _ in range(chance.randrange(4)):
            assert os.read(read, 1)
        time.sleep(chance.uniform(0.0, 0.1))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(read)
        done["kills"] += 1
        with open_memory(path) as memory:
            turns = len(memory.episodes.list(thread="s"))
            compaction = memory.compactor(max_tokens=TOKENS).compact(asking(turns), thread="s")
            checked(memory, asking(turns), compaction)
            assert len(memory.episodes.list(thread="s")) == turns
            done["rebuilt"] += compaction.rebuilt
    done["turns"] = turns
    return done


def _compact_on(path: str, seed: int, report: int) -> None:
    try:
        with open_memory(path) as memory:
            turns = len(memory.episodes.list(thread="s"))
            while True:
                turns += 1
                force = random.Random(seed + turns).choice([None, "compact", "hard"])
                memory.compactor(max_tokens=TOKENS).compact(asking(turns), thread="s", force=force)
                os.write(report, b".")
    finally:
        os._exit(1)


def main(order: dict[str, Any]) -> Any:
    return globals()[order["command"]](order["path"], **order["arguments"])


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
