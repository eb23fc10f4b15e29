"""The store that ``memory://`` opens: a new SQLite file in a folder of its own, which goes when the store is closed.

A process that is killed leaves its folder behind, and the next opening removes it. A folder that is in use is known by
a lock on it, which the system gives up with the last process that holds it: the one that made it, or a child of that
one. The number of a process would not do, since another one may have it by now.
"""

from __future__ import annotations

import os
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from tidal_plugins.errors import StorageError
from tidal_plugins.storage.sqlite.engine import SQLiteStorage

if sys.platform != "win32":
    import fcntl

MEMORY = "memory://"
"""The URL of a temporary store: a new and empty one, each time that it is opened."""

FOLDER = "tidal-memory-"
"""The beginning of the name of its folder."""

FILE = "memory.db"


class TemporarySQLite(SQLiteStorage):
    """Stores a memory in a temporary file, which is never synced to disk and goes when the store is closed.

    Child processes share it, until the process that opened it closes it. It takes the options of ``SQLiteStorage`` but
    ``durability`` and ``key``.
    """

    def __init__(self, **options: Any) -> None:
        try:
            folder, lock = _new_folder()
        except OSError as error:
            raise StorageError(f"{MEMORY} needs a temporary directory: {error.strerror}; set TMPDIR") from error
        self._remove = weakref.finalize(self, _remove, folder, lock, os.getpid())
        try:
            super().__init__(Path(folder, FILE), durability="none", **options)
        except BaseException:
            self._remove()
            raise
        self.path = MEMORY + Path(folder).name.removeprefix(FOLDER)

    def close(self) -> None:
        super().close()
        self._remove()


def _new_folder() -> tuple[str, int]:
    """Make a folder that nobody else may enter, and return it with its lock. Folders left behind are removed first."""
    root = os.path.abspath(tempfile.gettempdir())  # noqa: PTH100 (links stay as they are)
    for folder in _own_folders(root):
        with suppress(OSError):  # it is in use, or another process removes it
            _remove(folder, _lock(folder))
    while True:
        folder = tempfile.mkdtemp(prefix=FOLDER, dir=root)
        with suppress(BlockingIOError, FileNotFoundError):  # another process has taken it for one left behind
            return folder, _lock(folder)


def _own_folders(root: str) -> list[str]:
    """List the folders of temporary stores of this user."""
    user = os.geteuid() if sys.platform != "win32" else 0
    found = []
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(FOLDER) and entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == user:
                found.append(entry.path)
    return found


def _lock(folder: str) -> int:
    """Take the lock of a folder. Raises ``OSError``: ``BlockingIOError`` if a process has it."""
    if sys.platform == "win32":  # where a file that is open cannot be removed
        return -1
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)  # noqa: PTH116 (it may have been removed before it was locked)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _remove(folder: str, lock: int, maker: int | None = None) -> None:
    """Remove a folder and give up its lock. A child of the process that made it only lets go of it."""
    with suppress(OSError):
        if maker in (None, os.getpid()):
            for ending in ("", "-wal", "-shm", "-journal"):
                Path(folder, FILE + ending).unlink(missing_ok=True)
            os.rmdir(folder)  # noqa: PTH106 (nothing but our own files goes)
    if lock >= 0:
        os.close(lock)
