"""Fork processes that use a memory, on orders from a test, and kill them at a given moment.

This process never opens a memory itself. Orders come as JSON lines: ``{"tasks": [...], "after": seconds or null,
"said": lines or null}``. The seconds count from the moment when every process has opened its memory and all of them
together have acknowledged ``said`` things. The answer is a JSON line with everything that each process acknowledged.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from tests.journeys.life import Life
from tests.reading import Reader
from tidal_plugins import (
    HashingEmbedder,
    LexiconEmotion,
    Message,
    PolicyViolation,
    Settings,
    TidalMemory,
)
from tidal_plugins.graph.handlers import READ
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line

Acknowledge = Callable[[str], None]
OPENED = "opened"
LEARNED = "learned"
"""Log of the episodes that were read, written in the same transaction."""
SETTINGS = Settings(tuning={"ingestion.batch": 8, "signals.audit": 1_000_000, "signals.annotations": 1_000_000})


def record_some(memory: TidalMemory, name: str, acknowledge: Acknowledge) -> None:
    for number in range(25):
        shared = memory.record(messages=[Message("user", f"both say {number}", id=f"both{number}")], thread="s")
        own = memory.record(f"{name} says {number}", "ok", thread="s")
        acknowledge(shared.id)
        acknowledge(own.id)


def reembed(memory: TidalMemory, name: str, acknowledge: Acknowledge) -> None:
    memory.reembed(HashingEmbedder(64), progress=lambda done, of: acknowledge(f"{done} of {of}"))


def live(memory: TidalMemory, name: str, acknowledge: Acknowledge) -> None:
    """Continue from the last day that left a trace, without doing its work twice."""
    with Life(memory.path, turns=60, regulars=3, batch=8) as life:
        for day in range(life.last_day(), 321, 8):
            life.live(day)
            acknowledge(f"day {life.last_day()}")


def learn_forever(memory: TidalMemory, name: str, acknowledge: Acknowledge) -> None:
    """Record turns that are read in the background and here.

    One of two processes writes its readings in three parts. A log counts how often each turn was finished.
    """
    finish = Jobs.finish

    def log(queue: Jobs, scope: Scope, kind: str, jobs: Sequence[Job]) -> list[Job]:
        done = finish(queue, scope, kind, jobs)
        if kind == READ:
            lines = [Line(f"learned {job.subject}", job.since, None) for job in done]
            queue.storage.append_log(scope, LEARNED, lines)
        return done

    Jobs.finish = log  # type: ignore[method-assign]
    settings = Settings(
        tuning={"jobs.quiet": 0.0, "jobs.orphaned": 0.0, "graph.slice": 1 if name.endswith("a") else 50}
    )
    with TidalMemory(
        memory.path, embedder=HashingEmbedder(), graph_extractor=Reader(), settings=settings
    ) as learning_one:
        number = 0
        while True:
            episode = learning_one.record(f"{name}n{number} depends on {name}n{number + 1}", thread="s")
            acknowledge(episode.id)
            number += 1
            if number % 7 == 0:
                learning_one.graph.index_pending(3)


def signal_forever(memory: TidalMemory, name: str, acknowledge: Acknowledge) -> None:
    """Send signals in the first session until its cap is reached; acknowledge each with its number, refusals too."""
    entries = memory.recall("entry", limit=8).ids
    session = memory.sessions.resume(1)
    for number in itertools.count():
        try:
            session.signal("reward", entries[number % len(entries)], note=f"{name} {number}")
            acknowledge(f"accepted {name} {number}")
        except PolicyViolation:
            acknowledge(f"refused {name} {number}")
            if number > 200:
                break


def open_memory(path: str) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=SETTINGS)


class Child:
    """A forked process, and the lines that it wrote."""

    def __init__(self, task: str, path: str, name: str) -> None:
        self.pipe, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            work(task, path, name, writing)
        os.close(writing)
        self.said, self.ended = b"", False

    def fileno(self) -> int:
        return self.pipe

    def hear(self) -> None:
        """Read the child's new lines, or notice its end."""
        heard = os.read(self.pipe, 65536)
        self.said += heard
        self.ended = not heard

    @property
    def lines(self) -> list[str]:
        return self.said.decode().splitlines()

    def finish(self) -> list[str]:
        while not self.ended:
            self.hear()
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        return [line for line in self.lines if line != OPENED]


def hear(children: list[Child], said: int) -> None:
    """Wait until all children have ended, or have opened their memories and acknowledged ``said`` things together."""
    while going := [child for child in children if not child.ended]:
        opened = all(child.said for child in going)
        if opened and sum(child.said.count(b"\n") for child in children) >= said + len(children):
            return
        for child in select.select(going, [], [])[0]:
            child.hear()


def work(task: str, path: str, name: str, writing: int) -> NoReturn:
    try:
        with open_memory(path) as memory:
            os.write(writing, f"{OPENED}\n".encode())
            globals()[task](memory, name, lambda what: os.write(writing, f"{what}\n".encode()))
        os._exit(0)
    except BaseException as error:
        os.write(writing, f"failed: {error!r}\n".encode())
        os._exit(1)


def warm_up() -> None:
    """Import ahead everything that is imported at first use, so that forked processes need not."""
    import apsw  # noqa: F401
    import sqlite_vec  # noqa: F401

    LexiconEmotion().estimate(["hello"])
    HashingEmbedder().embed(["hello"])


def main() -> None:
    warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        children = [Child(*task) for task in order["tasks"]]
        if order["said"] is not None:
            hear(children, order["said"])
        if order["after"] is not None:
            time.sleep(order["after"])
            for child in children:
                os.kill(child.pid, signal.SIGKILL)
        print(json.dumps([child.finish() for child in children]), flush=True)


if __name__ == "__main__":
    main()
