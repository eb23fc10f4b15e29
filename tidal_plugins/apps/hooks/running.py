"""One run of a hook: its options, and its answer in time, or none and a line in the log."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_INPUT = 16 << 20
"""Bytes of the JSON that are read. A prompt with a whole file in it has some of them."""

MAX_PIECE = 1 << 16
"""Bytes that are read at once of what comes after them."""

MAX_LOG = 1 << 20
"""Bytes of the log after which it begins anew; the one before is kept beside it."""

TIMEOUT = 1.0
"""Seconds after which a hook gives up. Whoever types waits for it before each answer; a second is what is noticed
without breaking a train of thought."""

LONGEST = 3600.0
"""Seconds that a hook may be given at most. Agents end theirs far sooner, and a timer takes no endless time."""

FOLDER = ".tidal"
"""Folder of a project's memory, in the project's root."""

NAMES = ("db", "scope", "embedder", "timeout", "log")

_PREFIXED = {"timeout": "hook_timeout", "log": "hook_log"}
_ROOTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
_MARKS = (".hg", ".jj", FOLDER)


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


@dataclass(frozen=True, slots=True)
class Options:
    """The memory that hooks use, and their limits. ``db`` is ``None`` for the memory of the project.

    An option of the command comes before its variable of the environment, ``TIDAL_…``.
    """

    db: Path | None = None
    scope: tuple[str, ...] = ("default",)
    embedder: str = "minilm"
    timeout: float = TIMEOUT
    log: Path = Path("hooks.log")

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Options:
        """Return the options. Raises ``ValueError`` for one that is written wrongly."""
        given = {
            name: os.environ[key]
            for name in NAMES
            if (key := f"TIDAL_{_PREFIXED.get(name, name)}".upper()) in os.environ
        }
        given |= pairs(arguments)
        db = Path(given["db"]).expanduser() if given.get("db") else None
        scope = tuple(given.get("scope", "default").split("/"))
        log = Path(given["log"]).expanduser() if given.get("log") else log_path()
        timeout = float(given.get("timeout", TIMEOUT))
        if not 0 < timeout <= LONGEST:
            raise ValueError(f"a timeout of {timeout:g} s is not between 0 and {LONGEST:g}")
        return cls(db, scope, given.get("embedder", "minilm"), timeout, log)

    def memory_of(self, cwd: str | None) -> Path:
        """Return the file of the memory for an agent that works in a folder."""
        return self.db or root_of(cwd) / FOLDER / "tidal.db"


def pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Return the values of ``--name value`` and ``--name=value``. Raises ``ValueError`` for anything else."""
    found, rest = {}, list(arguments)
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name.removeprefix("--") not in NAMES or not name.startswith("--") or not (is_joined or rest):
            raise ValueError(f"there is no option {name}, or it has no value")
        found[name.removeprefix("--")] = value if is_joined else rest.pop(0)
    return found


def root_of(cwd: str | None) -> Path:
    """Return the root of the project in which an agent works: the nearest folder above with a repository or a memory,
    else the folder itself. All worktrees of a repository are one project. The home folder is none."""
    given = next((os.environ[name] for name in _ROOTS if os.environ.get(name)), None)
    here = Path(given or cwd or ".").absolute()
    home = _home()
    for folder in (here, *here.parents):
        if folder == home:
            break
        if (git := folder / ".git").exists():
            return _repository(git)
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
        if given:
            break
    return here


def _repository(git: Path) -> Path:
    """Return the folder that all worktrees of a repository share: that of its main checkout, or of a bare repository.

    ``git`` is the folder of a repository, or the file by which a worktree or a submodule names it.
    """
    try:
        if not git.is_file():
            return git.parent
        shared = (git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        common = shared / "commondir"
        if not common.exists():
            return git.parent  # a submodule: a repository of its own, checked out here
        shared = (shared / common.read_text("utf-8").strip()).resolve()
        if shared.name == ".git":
            return shared.parent
        checkout = re.search(r"^\s*worktree\s*=\s*(.+?)\s*$", (shared / "config").read_text("utf-8"), re.M)
        return (shared / checkout[1].strip('"')).resolve() if checkout else shared  # a submodule's worktree
    except (OSError, ValueError):
        return git.parent


def log_path() -> Path:
    """Return the file to which hooks write what went wrong, one for all projects."""
    state = os.environ.get("XDG_STATE_HOME")
    if state:
        return Path(state) / "tidal" / "hooks.log"
    home = _home()
    return home / ".local" / "state" / "tidal" / "hooks.log" if home else Path(os.devnull)


def _home() -> Path | None:
    """Return the home folder, or ``None`` for a user who has none, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None
