"""Copies of an encrypted file that is in use: ``cp`` while a process writes, with the log and without it.

A copy opens with the key and holds turns as they were recorded, or raises an error of the library. With another key it
raises one, and no word of a turn stands in its bytes. The key needs an SQLite with ciphers, ``apsw-sqlite3mc``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tidal_plugins import HashingEmbedder, Settings, TidalError, TidalMemory

COPIES = 100
TURN: Final = "Turn {0}: the harbour master keeps oar number {0} in the blue shed."
CIPHERS = Path(sys.prefix, "ciphers")
"""Where ``make test`` puts apsw-sqlite3mc, beside the apsw of the environment."""


def open_memory(path: Path, *, key: bytes = bytes(range(32))) -> TidalMemory:
    """Open an encrypted memory that does no work by itself."""
    quiet = Settings(graph={"background": False})
    return TidalMemory(path, key=lambda: key, embedder=HashingEmbedder(), settings=quiet)


def write(path: Path) -> None:
    """Record turns until the process is ended."""
    with open_memory(path) as memory:
        print("ready", flush=True)
        for number in range(10**6):
            memory.record(TURN.format(number), "Noted.", thread=f"day-{number // 20}", id=str(number))


def judge(copy: Path) -> tuple[str, list[str]]:
    """Return how a copy of the file ended, and what was wrong with it."""
    wrong = ["a word stands in its bytes"] * any(b"harbour" in file.read_bytes() for file in copy.parent.iterdir())
    try:
        with open_memory(copy, key=b"x" * 32):
            wrong.append("another key opened it")
    except TidalError:
        pass
    except Exception as error:
        wrong.append(f"with another key: {type(error).__name__}")
    try:
        with open_memory(copy) as memory:
            turns = [memory.episodes[one.id].query for one in memory.episodes.list(limit=None)]
            told = sorted(int(turn.split(":")[0].removeprefix("Turn ")) for turn in turns)
            wrong += [f"{turn!r}" for turn in turns if turn not in map(TURN.format, told)][:1]
            if not memory.check().ok:
                return "damage told", wrong
            return "whole", wrong + ["turns are missing unsaid"] * (told != [*range(len(told))])
    except TidalError as error:
        return type(error).__name__, wrong
    except Exception as error:
        return type(error).__name__, [*wrong, f"untyped: {type(error).__name__}: {error}"]


def copied(count: int) -> dict[str, tuple[Counter[str], list[str]]]:
    """Copy a file in use so many times, half of the copies with the log, and return what came of them."""
    found: dict[str, tuple[Counter[str], list[str]]] = {each: (Counter(), []) for each in ("with the log", "without")}
    random = Random(count)
    with TemporaryDirectory(prefix="tidal-copies-") as folder:
        path, program = Path(folder, "agent.db"), [sys.executable, "-m", "benchmarks.trust.copies", "write"]
        with subprocess.Popen([*program, str(Path(folder, "agent.db"))], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            for number in range(count):
                time.sleep(random.random() / 4)
                target = Path(folder, f"copy-{number}", "agent.db")
                target.parent.mkdir()
                shutil.copy(path, target)
                if number % 2 == 0:
                    shutil.copy(f"{path}-wal", f"{target}-wal")
            writer.kill()
        for number in range(count):
            ended, faults = found["without" if number % 2 else "with the log"]
            state, wrong = judge(Path(folder, f"copy-{number}", "agent.db"))
            ended[state] += 1
            faults += wrong
    return found


def run(count: int, console: Console) -> bool:
    """Copy a file in use, print what came of the copies, and return whether each was whole or told."""
    if not CIPHERS.is_dir():
        console.print(f"Copies of an encrypted file: not tried, apsw-sqlite3mc is not in {CIPHERS}")
        return False
    path = os.pathsep.join([str(CIPHERS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "benchmarks.trust.copies", "copy", str(count)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode == 0


def _copy(count: int, console: Console) -> bool:
    table = Table("copies of an encrypted file in use", "copies", "ended as", "wrong")
    rows: dict[str, Any] = copied(count)
    for each, (ended, wrong) in rows.items():
        table.add_row(
            each, str(ended.total()), ", ".join(f"{n} {what}" for what, n in ended.most_common()), str(len(wrong))
        )
    console.print(table)
    for wrong in {line for _, lines in rows.values() for line in lines}:
        console.print(f"  {wrong}", markup=False)
    return not any(wrong for _, wrong in rows.values())


if __name__ == "__main__":
    what, argument = sys.argv[1:]
    if what == "write":
        write(Path(argument))
    else:
        sys.exit(0 if _copy(int(argument), Console(width=120)) else 1)
