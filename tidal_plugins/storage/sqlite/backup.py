"""Copies of SQLite files: of one that is in use, and of one that takes the place of another."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path

from tidal_plugins.errors import Busy
from tidal_plugins.storage.checks import Backups
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.encryption import Key, unlock
from tidal_plugins.storage.sqlite.file_locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.log_mark import take_back
from tidal_plugins.storage.sqlite.pages import begin, uncheck, unchecked, vfs
from tidal_plugins.storage.sqlite.translation import translated

WAIT = 1.0
"""Seconds for which replacing a file waits for whoever is closing it."""


class BackupStore(SQLiteBase, Backups):
    """Copies a file with SQLite's own backup, in one go: a reader of one state, which holds up no writer.

    A copy of an encrypted file is encrypted with the same key, page by page: nothing is written in the clear.
    """

    key: Key | None

    def copy_to(self, path: str, *, damaged: bool = False) -> None:
        import apsw

        source = self._db.get()
        with translated(path), unchecked(source) if damaged else nullcontext():
            target = apsw.Connection(path, vfs=vfs(self.key))
            try:
                if self.key is not None:
                    unlock(target, self.key)
                begin(target)
                with target.backup("main", source, "main") as copying:
                    copying.step(-1)
                take_back(target)  # a copy has no log
            finally:
                target.close()


def put_in_place(new: str, path: str, key: Key | None) -> None:
    """Let a closed file take the place of another with the same key, which nobody may have open (``Busy``)."""
    import apsw

    with FILE_LOCKS.reading(path, WAIT) as alone:
        if not alone:
            raise Busy(f"{path} is open in this process; close the memory first")
        with translated(path):
            connection = apsw.Connection(path, vfs=vfs(key))
            try:
                connection.set_busy_timeout(int(WAIT * 1000))
                if key is not None:
                    unlock(connection, key)
                uncheck(connection)
                with suppress(apsw.NotADBError, apsw.CorruptError):  # that is why it is replaced
                    connection.pragma("journal_mode", "delete")  # needs the file for itself, and ends its log
                    connection.execute("BEGIN EXCLUSIVE")
                for ending in ("-wal", "-shm"):  # a damaged file keeps them
                    Path(path + ending).unlink(missing_ok=True)
                os.replace(new, path)  # noqa: PTH105
            finally:
                connection.close()
