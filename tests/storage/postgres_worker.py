"""A process of its own that writes into a shared memory: ``once``, ``on`` and on, or that can ``answer`` questions.

It says a line for each turn that is stored, and waits for a line before it begins.
"""

from __future__ import annotations

import sys
import time
from itertools import count

from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.errors import Busy, StorageError

QUIET = Settings(graph={"background": False}, storage={"query_deadline": 3_600.0})


def opened(url: str) -> TidalMemory:
    return TidalMemory(url, embedder=HashingEmbedder(), settings=QUIET)


def once(memory: TidalMemory, word: str) -> None:
    """Record one turn with a tool and an id."""
    memory.record(f"seek {word}", f"seek it here: {word}", thread="kills", id=word)
    print(word, flush=True)


def on(memory: TidalMemory, name: str) -> None:
    """Record turn after turn, each again until it is stored, and say how often the store could not be had."""
    for number in count():
        word = f"{name}q{number}"
        while True:
            try:
                memory.record(f"seek {word}", f"seek it here: {word}", thread=name, id=word)
                break
            except (StorageError, Busy) as error:
                print(f"! {type(error).__name__}", flush=True)
                time.sleep(0.1)  # an agent would not ask a server that is down without end
        print(word, flush=True)


def answer(memory: TidalMemory, name: str) -> None:
    """Store each line that begins with ``+``, and say what is recalled for each other line."""
    for line in map(str.strip, sys.stdin):
        if line.startswith("+"):
            print(memory.record(line[1:], thread=name).id, flush=True)
        else:
            print(" | ".join(hit.text for hit in memory.recall(line, limit=3)), flush=True)


def main(work: str, url: str, name: str) -> None:
    with opened(url) as memory:
        memory.recall("seek")
        print("ready", flush=True)
        if work != "answer":
            sys.stdin.readline()
        {"once": once, "on": on, "answer": answer}[work](memory, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
