"""Copies of SQLite files, and files that are encrypted anew."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path

import apsw

from tidal_plugins.errors import Busy, InvalidInput, StorageError
from tidal_plugins.storage.capabilities import Backups
from tidal_plugins.storage.sqlite.locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.log_mark import settle, take_back
from tidal_plugins.storage.sqlite.opening import (
    CIPHERS,
    OS,
    Key,
    begin,
    check_key,
    checked_path,
    checked_schema,
    in_hex,
    reserve,
    translated,
    uncheck,
    unchecked,
    unlock,
    vfs,
)
from tidal_plugins.storage.sqlite.store import SQLiteBase

WAIT = 1.0
"""Seconds for which replacing a file waits for whoever is closing it."""


class BackupStore(SQLiteBase, Backups):
    """Copies a file with SQLite's own backup, in one go: a reader of one state, which holds up no writer.

    A copy of an encrypted file is encrypted with the same key, page by page: nothing is written in the clear.
    """

    key: Key | None

    def copy_to(self, path: str, *, damaged: bool = False) -> None:
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
                if os.name == "nt":  # which replaces no file that is open
                    connection.close()
                os.replace(new, path)  # noqa: PTH105
            finally:
                connection.close()


TIMEOUT = 1.0
"""Seconds to wait for others who have the file open."""


def rekey(path: str | os.PathLike[str], *, key: Key | None = None, new_key: Key | None = None) -> None:
    """Encrypt the file of a memory anew, in one transaction. Close the memory everywhere first.

    Args:
        path: the file.
        key: returns its key now; ``None`` for a file that is not encrypted.
        new_key: returns its key from now on; ``None`` to take the encryption off.

    A process that is killed meanwhile leaves the old key in force. Backups keep the key that they were made with.
    Raises ``Busy`` while the memory is open somewhere, and ``StorageError``, also for a key that does
    not fit.
    """
    if key is None and new_key is None:
        raise InvalidInput("say what changes: key= is the key of the file, new_key= the one that takes its place")
    for each, name in ((key, "key"), (new_key, "new_key")):
        if each is not None:
            check_key(each, name)
    text = checked_path(path)
    if not os.path.isfile(text):  # noqa: PTH113 (Path.is_file raises where a folder may not be entered)
        raise StorageError(f"there is no file {text}; open a new memory with TidalMemory(path, key=…)")
    secret = "" if new_key is None else in_hex(new_key)
    with FILE_LOCKS.reading(text, TIMEOUT) as alone:
        if not alone:
            raise Busy(f"{text} is open in this process; close the memory first")
        with translated(text):
            _rekey(text, key, secret)


def _rekey(path: str, key: Key | None, secret: str) -> None:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=CIPHERS + OS)
    try:
        connection.set_busy_timeout(int(TIMEOUT * 1000))
        if key is not None:
            unlock(connection, key)
        if not checked_schema(connection, path, key):
            raise StorageError(f"{path} is empty: no memory was ever opened there")
        settle(connection, path)
        take_back(connection)  # the log goes now
        connection.pragma("locking_mode", "exclusive")
        connection.pragma("journal_mode", "delete")  # a file in WAL mode cannot be encrypted anew
        connection.pragma("hexrekey" if secret else "rekey", secret)
        if secret:
            connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
    if not secret:
        _add_checksums(path)


def _add_checksums(path: str) -> None:
    """Let the pages of a file that is no longer encrypted have checksums."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs(None))
    try:
        reserve(connection)
        connection.execute("VACUUM")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
