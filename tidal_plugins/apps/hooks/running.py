"""One run of a hook: its answer in time, or none and a line in the log."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tidal_plugins.apps.hooks import Options, log_path

MAX_INPUT = 16 << 20
"""Bytes of the JSON that are read. A prompt with a whole file in it has some of them."""

MAX_PIECE = 1 << 16
"""Bytes that are read at once of what comes after them."""

MAX_LOG = 1 << 20
"""Bytes of the log after which it begins anew; the one before is kept beside it."""


def run(arguments: Sequence[str]) -> int:
    """Answer one event on standard output. The exit code is 0 whatever happens: agents take others for a veto."""
    try:
        options = Options.of(arguments)
    except (ValueError, RuntimeError) as error:  # RuntimeError: ~ for a user without a home
        log(log_path(), "options", str(error))
        return 0
    once, about = threading.Lock(), {"event": "input"}

    def give_up() -> None:
        if once.acquire(blocking=False):
            log(options.log, about["event"], f"no answer within {options.timeout:g} s; what was stored stays")
            os._exit(0)

    until = time.monotonic() + options.timeout
    timer = threading.Timer(options.timeout, give_up)
    timer.daemon = True
    timer.start()
    text = ""
    try:
        text = _answer(options, about, until)
    except BaseException as error:  # whatever it is, the agent goes on
        log(options.log, about["event"], f"{type(error).__name__}: {error}")
    if not once.acquire(blocking=False):
        threading.Event().wait()  # the other thread ends this process
    timer.cancel()
    _print(text)
    return 0


def _answer(options: Options, about: dict[str, str], until: float) -> str:
    from tidal_plugins.apps.hooks.events import answer

    payload = json.loads(_given())
    if not isinstance(payload, dict):
        raise TypeError("the input is no object of JSON")
    about["event"] = str(payload.get("hook_event_name"))[:40]
    logging.getLogger().addHandler(_Lines(options.log, about["event"]))
    return answer(payload, options, until)


def _given() -> bytes:
    """Return the input. One that is too long is read to its end, or its writer fails, and raises ``ValueError``."""
    given = sys.stdin.buffer.read(MAX_INPUT)
    longer = False
    while sys.stdin.buffer.read(MAX_PIECE):
        longer = True
    if longer:
        raise ValueError(f"the input is longer than {MAX_INPUT >> 20} MiB")
    return given


class _Lines(logging.Handler):
    """Takes what the library warns of into the log of the hooks: standard error belongs to the agent."""

    def __init__(self, path: Path, event: str) -> None:
        super().__init__(logging.WARNING)
        self._path, self._event = path, event

    def emit(self, record: logging.LogRecord) -> None:
        log(self._path, self._event, record.getMessage())


def _print(text: str) -> None:
    try:
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except (OSError, AttributeError, ValueError):
        return  # nobody reads it: it is closed, or was never open


def log(path: Path, event: str, message: str) -> None:
    """Add a line to the log, or nothing if it cannot be written."""
    line = " ".join(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {event}: {message[:500]}".split())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_LOG:
            path.replace(path.with_name(f"{path.name}.1"))
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")
    except OSError:
        pass
