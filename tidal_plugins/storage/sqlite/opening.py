"""Open an SQLite file.

apsw brings its own current SQLite with FTS5, and loads sqlite-vec where the standard library's build cannot. The file
must not be opened through another copy of SQLite in the same process: each would cancel the other's locks.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidInput, ReadOnly, StorageError
from tidal_plugins.shown import shown
from tidal_plugins.storage.sqlite import pages
from tidal_plugins.storage.sqlite.encryption import Key, unlock, wrong_key
from tidal_plugins.storage.sqlite.log_mark import settle
from tidal_plugins.storage.sqlite.schema import create, has_schema
from tidal_plugins.validation import check_path

if TYPE_CHECKING:
    import apsw

WAL_BYTES = 64 * 1024 * 1024
"""Size to which the log file shrinks after a checkpoint."""


SMALLEST_FILE = 512
"""Bytes of the smallest database, of one page of the smallest size. SQLite takes a shorter file for an empty one."""


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return an absolute path to a file that exists or can be made, or raise what is wrong with it."""
    text = check_path(path, "the path of a memory")
    if text.startswith("file:") or text == ":memory:":
        raise InvalidInput(f"{shown(text)} names no file; pass a path such as 'agent.db', or 'memory://' for none")
    absolute = Path(text).absolute()
    if os.path.isdir(absolute):  # noqa: PTH112 (Path.is_dir raises where a folder may not be entered)
        raise StorageError(f"{absolute} is a directory; name a file in it, such as {absolute / 'agent.db'}")
    if not os.path.isdir(absolute.parent):  # noqa: PTH112
        raise InvalidInput(f"the folder {absolute.parent} does not exist or may not be entered; create it first")
    return str(absolute)


PLACES = "CREATE VIRTUAL TABLE temp.keyword_places USING fts5vocab (main, keywords, instance)"
"""SQL for the table of each time that a passage has a word. It is of the connection alone."""


def open_file(
    path: str, synchronous: str, busy_timeout: float, key: Key | None, *, create_file: bool, checked: bool = True
) -> apsw.Connection:
    """Open one connection to a file, and create the schema if the file is empty. Raises SQLite's own errors too.

    With ``create_file`` a file that is not there is made. Unless it is ``checked``, damaged pages are read, too.
    """
    import apsw
    import sqlite_vec

    if os.path.isfile(path) and 0 < os.path.getsize(path) < SMALLEST_FILE:  # noqa: PTH113, PTH202
        raise StorageError(f"{path} is not an SQLite database; give the memory a file of its own")
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create_file else 0)
    connection = apsw.Connection(path, flags=flags, vfs=pages.vfs(key))
    try:
        if connection.readonly("main"):
            raise ReadOnly(f"{path} cannot be written to; check its permissions and those of its folder")
        connection.set_busy_timeout(int(busy_timeout * 1000))
        if key is not None:
            unlock(connection, key)
        if not checked:
            pages.uncheck(connection)
        complete = checked_schema(connection, path, key)
        if complete:
            pages.check_writable(connection, path)
        else:
            pages.reserve(connection)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        connection.execute(f"PRAGMA synchronous = {synchronous}")  # first: a change of the journal is synced, too
        _use_wal(connection, busy_timeout)
        connection.execute(
            "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
            f"PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = {WAL_BYTES}"
        ).fetchall()  # some of them return a row, and what follows a row is not run until it is read
        connection.wal_autocheckpoint(0)  # a write moves the log into the file, and marks the file
        if complete:
            settle(connection, path)
        else:
            connection.execute("BEGIN IMMEDIATE")
            create(connection)
            connection.execute("COMMIT")
            with suppress(apsw.BusyError):  # another process that opens the file is moving the log
                connection.wal_checkpoint()
        connection.execute(PLACES)
    except BaseException:
        connection.close()
        raise
    return connection


def let_count(connection: apsw.Connection) -> None:
    """Give a connection the SQL function ``times``: how often a row of the index has a phrase."""
    connection.register_fts5_function("times", _times)


def _times(found: apsw.FTS5ExtensionApi, *_: object) -> int:
    return found.inst_count


def checked_schema(connection: apsw.Connection, path: str, key: Key | None) -> bool:
    """Return whether the schema is there, or raise ``StorageError`` for a key that does not fit.

    Looked up before anything is changed: a file that is refused stays as it is.
    """
    import apsw

    try:
        connection.execute("BEGIN")
        complete = has_schema(connection)
    except apsw.NotADBError as error:
        if key is None:
            raise
        raise wrong_key(path) from error
    connection.execute("COMMIT")
    return complete


def _use_wal(connection: apsw.Connection, busy_timeout: float) -> None:
    """Switch to WAL. SQLite does not wait for a lock here, so this function does: two processes may open a new file."""
    import apsw

    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
