"""Fixtures that compact and check every rule, here or in processes of their own on the same file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.compaction.oracle")

from tests.compaction.oracle import checked  # noqa: E402
from tidal_plugins import Compaction, TidalMemory  # noqa: E402

ROOT = Path(__file__).parents[2]

Check = Callable[..., Compaction]


@pytest.fixture
def check(memory: TidalMemory) -> Check:
    """Return a function that compacts and checks every rule: ``check(history, thread=…, max_tokens=…)``."""

    def check(history: Any, *, thread: str = "s", memory: TidalMemory = memory, **options: Any) -> Compaction:
        plugs = {name: options.pop(name) for name in ("max_tokens", "max_bytes", "summariser") if name in options}
        own = {name: options[name] for name in ("sizes", "reserved", "ongoing") if name in options}
        options.pop("ongoing", None)
        compaction = memory.compactor(**plugs).compact(history, thread=thread, **options)
        return checked(memory, history, compaction, **own)

    return check


@pytest.fixture
def in_process(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs a command of ``process.py`` on ``agent.db`` in a process, and returns its answer."""

    def run(command: str, **arguments: Any) -> Any:
        script = [sys.executable, "-W", "error", str(Path(__file__).with_name("process.py"))]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        order = json.dumps({"path": str(tmp_path / "agent.db"), "command": command, "arguments": arguments})
        done = subprocess.run([*script, order], env=environment, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
