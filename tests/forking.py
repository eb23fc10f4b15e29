"""Processes that are forked from one that has imported what they need: some tests start dozens of the same program.

Each is a process of its own, with its own environment, folder, input and output. Only its imports are there before.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
STREAMS = ("stdin", "stdout", "stderr")


class Forker:
    """Runs Python programs one after another, each forked from a process that has run ``prepare`` once."""

    def __init__(self, prepare: str) -> None:
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(
            [sys.executable, __file__, prepare],
            stdin=pipe,
            stdout=pipe,
            text=True,
            env=os.environ | {"PYTHONPATH": PACKAGES},
        )
        atexit.register(self.close)

    def run(
        self, *words: str, env: Mapping[str, str], cwd: Path, given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``python`` with these words, which are a file or ``-m`` and a module, and their arguments."""
        assert self._server.stdin
        assert self._server.stdout
        with tempfile.TemporaryDirectory() as folder:
            files = {name: Path(folder) / name for name in STREAMS}
            files["stdin"].write_bytes(given)
            order = {"words": words, "env": dict(env), "cwd": str(cwd), **{name: str(files[name]) for name in STREAMS}}
            try:
                print(json.dumps(order), file=self._server.stdin, flush=True)
                told = self._server.stdout.readline()
            except BaseException:  # a time limit: its answer would be taken for that of the next program
                self._server.kill()
                forker.cache_clear()
                raise
            assert told, "the process that forks has ended"
            return subprocess.CompletedProcess(words, int(told), *(files[name].read_bytes() for name in STREAMS[1:]))

    def close(self) -> None:
        """End the process that forks."""
        self._server.communicate()


@cache
def forker(prepare: str) -> Forker:
    """Return the one of this test process that has run ``prepare``."""
    return Forker(prepare)


def _serve(prepare: str) -> None:
    """Fork a process for each line of standard input, and answer with its exit code."""
    answers = os.fdopen(os.dup(1), "w")
    exec(prepare, {"__name__": "prepare"})
    assert threading.active_count() == 1, "a forked process would inherit locks that nobody releases"
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy the memory that both share
    for line in sys.stdin:
        if not (process := os.fork()):
            _become(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), file=answers, flush=True)


def _become(order: dict[str, Any]) -> None:
    """Run a program in this process, and end it."""
    code = 1
    try:
        for number, name in enumerate(STREAMS):
            file = os.open(order[name], os.O_RDWR | os.O_CREAT)
            os.dup2(file, number)
            os.close(file)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(order["cwd"])
        code = _run(order["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _run(words: Sequence[str]) -> int:
    module = words[0] == "-m"
    sys.argv = list(words[module:])
    try:
        if module:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(words[0]).parent)
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    _serve(sys.argv[1])
