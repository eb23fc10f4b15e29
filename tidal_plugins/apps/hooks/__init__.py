"""Hooks for coding agents: what they are reminded of at a session's start and before each answer, and what is recorded.

``tidal hook`` runs once for each event, reads its JSON on standard input and answers in the agent's format. Whatever
goes wrong costs the agent nothing: there is no answer then, and a line in the log.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

SETUPS = ("install", "remove", "status")

QUICKER = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Variables with which a process starts sooner: numpy makes no threads, which takes a third of its import, and
nobody looks for plugins of pydantic."""

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
