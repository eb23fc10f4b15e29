"""Count the project's files that one recall, one whisper and one record execute code in.

Run it with ``python -m benchmarks.files``. A profile hook notes the file of every Python function that is called on the
calling thread, between the call of the public method and its return. The first call of each method warms up everything
that is built lazily, and is not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import tidal_plugins
from tidal_plugins import HashingEmbedder, TidalMemory

ROOT = Path(tidal_plugins.__file__).parent
TURNS = [
    ("What should I give Ada for her birthday?", "She asked for a book about bees."),
    ("We leave for Lisbon on Sunday.", "I put the train to the airport on your list."),
    ("The import of the bank statements takes too long.", "Move it into a job that runs in the background."),
    ("Ada keeps bees on the roof.", "Noted: bees on Ada's roof."),
]
QUESTION = "Which book does Ada want for her birthday?"


def main() -> None:
    """Print for each call the number and the names of the files that it executes code in."""
    with (
        tempfile.TemporaryDirectory() as folder,
        TidalMemory(f"{folder}/agent.db", embedder=HashingEmbedder()) as memory,
    ):
        for user, agent in TURNS:
            memory.record(user, agent, thread="monday")
        memory.graph.index_pending()
        calls: dict[str, Callable[[], Any]] = {
            "recall": lambda: memory.recall(QUESTION),
            "whisper": lambda: memory.whisper(QUESTION),
            "record": lambda: memory.record("Ada moved the bees.", "To the garden, then.", thread="monday"),
        }
        for name, call in calls.items():
            call()
            files = executed(call)
            print(f"{name}: {len(files)} files")
            print("".join(f"  {file}\n" for file in files))


def executed(call: Callable[[], Any]) -> list[str]:
    """Return the project's files in which ``call`` executes a function, in the order in which they are reached."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    here = str(Path(__file__))
    return [str(Path(file).relative_to(ROOT)) for file in found if file != here and Path(file).is_relative_to(ROOT)]


if __name__ == "__main__":
    main()
