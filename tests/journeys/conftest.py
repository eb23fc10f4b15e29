from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("worker.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

Order = Callable[..., list[list[str]]]


@pytest.fixture(scope="module")
def order() -> Iterator[Order]:
    """Return a function that runs tasks ``(task, path, name)`` at once, each in a process of its own.

    They are killed ``after`` seconds. These count from the start, or from the moment when each has opened its memory
    and all together have acknowledged ``said`` lines.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, WORKER], **pipes, text=True, env=ENVIRONMENT) as process:
        assert process.stdin
        assert process.stdout

        def order(*tasks: tuple[str, str, str], after: float | None = None, said: int | None = None) -> list[list[str]]:
            assert process.stdin
            assert process.stdout
            print(json.dumps({"tasks": tasks, "after": after, "said": said}), file=process.stdin, flush=True)
            answer: list[list[str]] = json.loads(process.stdout.readline())
            assert not [line for lines in answer for line in lines if line.startswith("failed")]
            return answer

        yield order
        process.stdin.close()
