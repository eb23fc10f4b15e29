"""Give a file another key, encrypt it, or take its encryption off."""

from __future__ import annotations

import os

from tidal_plugins.errors import Busy, InvalidInput, StorageError
from tidal_plugins.storage.sqlite.encryption import Key, check_key, in_hex, unlock
from tidal_plugins.storage.sqlite.file_locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.log_mark import settle, take_back
from tidal_plugins.storage.sqlite.opening import checked_path, checked_schema
from tidal_plugins.storage.sqlite.pages import CIPHERS, OS, reserve, vfs
from tidal_plugins.storage.sqlite.translation import translated

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
    import apsw

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
    import apsw

    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs(None))
    try:
        reserve(connection)
        connection.execute("VACUUM")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
