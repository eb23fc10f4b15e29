"""The memory that something remembers in, which can be written down, and found again in another process."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer

from tidal_plugins import Closed, InvalidInput, Policy, TidalMemory
from tidal_plugins.turns import checked_memory

Scope = tuple[str, ...]

_open: weakref.WeakValueDictionary[str, TidalMemory] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def restore_with(memory: TidalMemory) -> None:
    """Let objects that are restored from a serialised context use ``memory``, if they were written with the same file.

    Call it once in a new process, before ``Context.from_dict``. Otherwise a restored memory opens the file anew, with
    the default embedder and settings. A memory in use by this process is found automatically.
    """
    path = path_of(memory)
    with _lock:
        _open[path] = memory.opened  # a view may be gone long before the memory is


def reopened(path: str) -> TidalMemory:
    """Return a memory on the file at ``path``: one that is open in this process, or else a new one.

    Raises ``InvalidInput`` where there is no such file: a path that somebody wrote down makes none.
    """
    with _lock:
        memory = _open.get(path)
        if memory is None or _closed(memory):
            if not Path(path).is_file():
                raise InvalidInput(f"there is no memory at {path}; call restore_with(memory) where it has moved")
            memory = _open[path] = TidalMemory(path)
        return memory


def _plain(policy: Policy | str | None) -> Any:
    return policy.model_dump(mode="json") if isinstance(policy, Policy) else policy


Rules = Annotated[Policy | str | None, PlainSerializer(_plain)]
"""A policy, or the name of one, that can be written down."""


def path_of(memory: TidalMemory) -> str:
    """Return the absolute path of a memory's file."""
    return checked_memory(memory).path


def _closed(memory: TidalMemory) -> bool:
    try:
        return memory.affect.state() is None
    except Closed:
        return True
