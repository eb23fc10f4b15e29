"""Count the project's functions and files that a recall, a whisper, a record and a compaction pass through.

Run it with ``python -m benchmarks.files``. A profile hook notes every Python function that is called on the calling
thread, between the call of the public method and its return. Comprehensions belong to their functions. ``model``,
errors and checks of arguments are left out. The first call of each method warms up everything that is built lazily, and
is not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import tidal_plugins
from tidal_plugins import HashingEmbedder, Message, TidalMemory

ROOT = Path(tidal_plugins.__file__).parent
TURNS = [
    ("What should I give Ada for her birthday?", "She asked for a book about bees."),
    ("We leave for Lisbon on Sunday.", "I put the train to the airport on your list."),
    ("The import of the bank statements takes too long.", "Move it into a job that runs in the background."),
    ("Ada keeps bees on the roof.", "Noted: bees on Ada's roof."),
]
LEFT_OUT = ("model/", "errors.py", "validation.py", "shown.py")
"""Files whose functions are not counted."""
INNER = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"})
"""Names of what runs as a function and is none."""
QUESTION = "Which book does Ada want for her birthday?"


def main() -> None:
    """Print for each call the numbers of functions and files, and how many functions of each file it passes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        TidalMemory(f"{folder}/agent.db", embedder=HashingEmbedder()) as memory,
    ):
        for user, agent in TURNS:
            memory.record(user, agent, thread="monday")
        memory.graph.index_pending()
        messages = [
            message
            for place in range(8)
            for user, agent in TURNS
            for message in (Message("user", f"{user} ({place})"), Message("assistant", f"{agent} ({place})"))
        ]
        threads = iter(("tuesday", "wednesday"))  # what was compacted once is not compacted again
        calls: dict[str, Callable[[], Any]] = {
            "recall": lambda: memory.recall(QUESTION),
            "whisper": lambda: memory.whisper(QUESTION),
            "record": lambda: memory.record("Ada moved the bees.", "To the garden, then.", thread="monday"),
            "compaction": lambda: memory.compactor(max_tokens=600).compact(messages, thread=next(threads)),
        }
        for name, call in calls.items():
            call()
            functions = executed(call)
            files = Counter(file for file, _, _ in functions)
            print(f"{name}: {len(functions)} functions in {len(files)} files")
            print("".join(f"  {file}: {count}\n" for file, count in files.items()))


def executed(call: Callable[[], Any]) -> list[tuple[str, str, int]]:
    """Return file, name and line of the project's functions that ``call`` executes, in the order they are reached."""
    found: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    codes = [code for code in found if Path(code.co_filename).is_relative_to(ROOT) and code.co_name not in INNER]
    places = [(str(Path(code.co_filename).relative_to(ROOT)), code.co_name, code.co_firstlineno) for code in codes]
    return [place for place in places if not place[0].startswith(LEFT_OUT)]


if __name__ == "__main__":
    main()
