"""Hooks for coding agents: what they are reminded of at a session's start and before each answer, and what is recorded.

``tidal hook`` runs once for each event, reads its JSON on standard input and answers in the agent's format. Whatever
goes wrong costs the agent nothing: there is no answer then, and a line in the log.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

SETUPS = ("install", "remove", "status")

QUICKER = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Variables with which a process starts sooner: numpy makes no threads, which takes a third of its import, and
nobody looks for plugins of pydantic."""


def main(arguments: Sequence[str]) -> int:
    """Run ``tidal hook`` with its arguments, and return the exit code. Who types it gets help: agents give an input."""
    if (arguments and arguments[0] in (*SETUPS, "-h", "--help")) or (sys.stdin and sys.stdin.isatty()):
        from tidal_plugins.apps.hooks.setup import main as set_up

        return set_up(arguments)
    from tidal_plugins.apps.hooks.running import run

    return run(arguments)


def end_with(arguments: Sequence[str]) -> NoReturn:
    """Run ``tidal hook`` and end the process at once: to take down models and modules takes time."""
    for name, value in QUICKER.items():
        os.environ.setdefault(name, value)
    gc.disable()  # the process ends sooner than it would need its memory back
    code = main(arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


__all__ = ["end_with", "main", "SETUPS"]
