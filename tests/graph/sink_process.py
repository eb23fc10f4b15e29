"""A process that mirrors a graph and dies after a batch that the engine has and the memory has not confirmed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.graph.sinking import Counting
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.apps.graphs import LadybugSink

if __name__ == "__main__":
    folder, batches = Path(sys.argv[1]), int(sys.argv[2])
    settings = Settings(graph={"background": False})
    memory = TidalMemory(folder / "memory.db", embedder=HashingEmbedder(), settings=settings)
    left = iter(range(batches))
    memory.graph.mirror(
        Counting(LadybugSink(folder / "graph.lbug"), then=lambda: next(left, None) is None and os._exit(9))
    )
