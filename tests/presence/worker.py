"""Step a presence in processes of their own: at once with another, or killed before one statement after the other.

worker.py together PATH MEETING     steps with another process, and prints what it took
worker.py killed FOLDER             kills a child before each statement on a copy of the store, and prints how many
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import apsw

from tests.waiting import meet
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

DUE = datetime(2026, 3, 4, 9, tzinfo=UTC)
QUIET = Settings(graph={"background": False})


def opened(path: Path, clock: FrozenClock) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=QUIET, clock=clock)


def together(path: Path, meeting: Path) -> None:
    """Step and take at the same time as another process, a hundred times, and print the ids of what was taken."""
    clock = FrozenClock(DUE)
    with opened(path, clock) as memory:
        meet(meeting, 2)
        for _ in range(100):
            memory.presence.step()
            if message := memory.presence.take():
                print(message.id)
            clock.advance(minutes=1)


def killed(folder: Path) -> None:
    """Let a child say what is due on a copy, and judge the silence after it, and kill it before its n-th statement.

    Once for every n.
    """
    for number in count(1):
        path = folder / f"{number}.db"
        shutil.copy(folder / "base.db", path)
        if not (child := os.fork()):
            _die_before(number)
            _speak(path)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            print(number)
            return


def _die_before(number: int) -> None:
    statements = count(1)

    def trace(_cursor: object, sql: str, _bindings: object) -> bool:
        if not sql.lstrip().lower().startswith(("select", "pragma")) and next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))


def _speak(path: Path) -> None:
    clock = FrozenClock(DUE)
    with opened(path, clock) as memory:
        memory.presence.step(holder="child")
        if message := memory.presence.take():
            _deliver(path, message.text)
        clock.advance(hours=25)
        memory.presence.step(holder="child")
        memory.presence.release("child")


def _deliver(path: Path, text: str) -> None:
    with path.with_suffix(".said").open("a") as delivered:
        delivered.write(f"{text}\n")


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    {"together": together, "killed": killed}[task](*map(Path, arguments))
