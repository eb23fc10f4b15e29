"""Record a turn in a process of its own, whose reader never answers, and say so once it was asked.

Arguments: the memory's path and the turn.
"""

import sys
import time
from typing import Any

from tidal_plugins import HashingEmbedder, Settings, TidalMemory


class Silent:
    """A model that is asked and does not answer."""

    def answer(self, prompt: str, schema: Any) -> Any:
        print("asked", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder(), settings=Settings(tuning={"reader.turns": 1}))
    memory.graph.read_with(Silent())
    memory.record(sys.argv[2], "Good to hear.")
    time.sleep(600)
