"""A process of its own that compacts on the file of a test: one JSON order as its argument, the answer as JSON."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any

from tests.compaction.histories import chat, question
from tests.compaction.oracle import checked
from tidal_plugins import HashingEmbedder, Message, TidalMemory

TOKENS = 1_500


def open_memory(path: str) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder())


def asking(turns: int) -> list[Message]:
    """So many completed turns, and a question."""
    return [*chat(0, turns), Message("user", question(turns), f"m{turns}-user")]


def compact(path: str, turns: int, at: float = 0.0) -> dict[str, Any]:
    with open_memory(path) as memory:
        compactor = memory.compactor(max_tokens=TOKENS)
        while time.time() < at:
            pass
        compaction = checked(memory, asking(turns), compactor.compact(asking(turns), thread="s"))
        return {"id": compaction.id, "stage": compaction.stage, "view": [repr(piece) for piece in compaction.view]}


def record(path: str, text: str) -> str:
    with open_memory(path) as memory:
        return memory.record(text, "noted", thread="other").id


def killed(path: str, times: int) -> dict[str, int]:
    """Compact a growing history in a forked process, kill it at some moment, check what it left; again and again."""
    chance = random.Random(5)
    done = {"kills": 0, "rebuilt": 0}
    for _ in range(times):
        pid = os.fork()
        if not pid:
            _compact_on(path, chance.randrange(10**9))
        time.sleep(chance.uniform(0.02, 0.35))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        done["kills"] += 1
        with open_memory(path) as memory:
            turns = len(memory.episodes.list(thread="s"))
            compaction = memory.compactor(max_tokens=TOKENS).compact(asking(turns), thread="s")
            checked(memory, asking(turns), compaction)
            assert len(memory.episodes.list(thread="s")) == turns
            done["rebuilt"] += compaction.rebuilt
    done["turns"] = turns
    return done


def _compact_on(path: str, seed: int) -> None:
    try:
        with open_memory(path) as memory:
            turns = len(memory.episodes.list(thread="s"))
            while True:
                turns += 1
                force = random.Random(seed + turns).choice([None, "compact", "hard"])
                memory.compactor(max_tokens=TOKENS).compact(asking(turns), thread="s", force=force)
    finally:
        os._exit(1)


def main(order: dict[str, Any]) -> Any:
    return globals()[order["command"]](order["path"], **order["arguments"])


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
