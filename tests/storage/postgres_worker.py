"""A process of its own that writes into a shared memory: in children (``forks``), ``on`` and on, or to ``answer``.

It says a line for each turn that is stored, and waits for a line before it begins.
"""

from __future__ import annotations

import os
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


def forks(url: str) -> None:
    """Record each word that is read in a child, which tells its number and waits for a line before it begins."""
    with opened("memory://") as warm:  # loads what a child needs
        warm.record("seek", "seek it here")
        warm.recall("seek")
    print("ready", flush=True)
    while word := sys.stdin.readline().strip():
        child = os.fork()
        if not child:
            with opened(url) as memory:
                memory.recall("seek")
                print(os.getpid(), flush=True)
                sys.stdin.readline()
                once(memory, word)
                os._exit(0)
        os.waitpid(child, 0)
        print("ended", flush=True)


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
    if work == "forks":
        forks(url)
        return
    with opened(url) as memory:
        memory.recall("seek")
        print("ready", flush=True)
        if work != "answer":
            sys.stdin.readline()
        {"on": on, "answer": answer}[work](memory, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
