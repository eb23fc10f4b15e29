"""A process of its own that works on a shared memory: it records in children (``forks``), ``on`` and on, or to
``answer``; it reads what waits for the graph (``index``), or gives the store other vectors (``embed``).

It says a line for each turn that is stored, and for each text that is read or embedded, and waits for a line before it
begins.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from itertools import count
from typing import Any

from tests.reading import read
from tidal_plugins import Extraction, HashingEmbedder, Settings, TidalMemory
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


class Slow:
    """Says on what it works, and waits for a line before it has done the first piece, as a model would that is slow."""

    begun = False

    def work(self, *lines: object) -> None:
        print(*lines, sep="\n", flush=True)
        if self.begun:
            time.sleep(0.01)
        elif not sys.stdin.readline():
            sys.exit("nobody answers")
        self.begun = True


class SlowReader(Slow):
    """Says which texts it reads."""

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        self.work(*texts)
        return [read(text) for text in texts]


class SlowEmbedder(Slow, HashingEmbedder):
    """Says how many passages it embeds."""

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) > 1:  # one is the probe
            self.work(len(texts))
        return super().embed(texts)


def index(url: str, name: str) -> None:
    """Read what waits, and say so at the end, with how many turns are left. ``elsewhere`` is on another machine."""
    if name == "elsewhere":
        socket.gethostname = lambda: name
    with TidalMemory(url, embedder=HashingEmbedder(), graph_extractor=SlowReader(), settings=QUIET) as memory:
        memory.graph.index_pending()
        print("left", len(memory.graph.pending()), flush=True)


def embed(url: str) -> None:
    """Re-embed, and say so at the end, with how many passages were embedded here."""
    with opened(url) as memory:
        print("embedded", memory.reembed(SlowEmbedder(32)), flush=True)


def main(work: str, url: str, name: str) -> None:
    if work == "forks":
        forks(url)
        return
    if work == "index":
        index(url, name)
        return
    if work == "embed":
        embed(url)
        return
    with opened(url) as memory:
        memory.recall("seek")
        print("ready", flush=True)
        if work != "answer":
            sys.stdin.readline()
        {"on": on, "answer": answer}[work](memory, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
