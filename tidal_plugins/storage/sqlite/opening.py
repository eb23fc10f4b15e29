"""Open an SQLite file, with errors of the library's own tree.

apsw brings its own current SQLite with FTS5, and loads sqlite-vec where the standard library's build cannot. The file
must not be opened through another copy of SQLite in the same process: each would cancel the other's locks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.errors import (
    Busy,
    Closed,
    Corrupt,
    DiskFull,
    InvalidInput,
    InvalidText,
    NotADatabase,
    ReadOnly,
    StorageError,
)
from tidal_plugins.storage.sqlite.schema import create, has_schema

if TYPE_CHECKING:
    import apsw

WAL_BYTES = 64 * 1024 * 1024
"""Size to which the log file shrinks after a checkpoint."""


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return an absolute path to a file that exists or can be made, or raise what is wrong with it."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InvalidInput(f"the path of a memory must be a non-empty file name, got {path!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"the path of a memory must be valid Unicode, got {text!r}") from None
    if text.startswith("file:") or text == ":memory:":
        raise InvalidInput(f"{text!r} names no file; pass a path such as 'agent.db', or 'memory://' for none")
    absolute = Path(text).absolute()
    if os.path.isdir(absolute):  # noqa: PTH112 (Path.is_dir raises where a folder may not be entered)
        raise NotADatabase(f"{absolute} is a directory; name a file in it, such as {absolute / 'agent.db'}")
    if not os.path.isdir(absolute.parent):  # noqa: PTH112
        raise InvalidInput(f"the folder {absolute.parent} does not exist or may not be entered; create it first")
    return str(absolute)


def open_file(path: str, synchronous: str, busy_timeout: float) -> apsw.Connection:
    """Open one connection to a file, and create the schema if the file is empty."""
    import apsw
    import sqlite_vec

    with translated(path):
        connection = apsw.Connection(path)
        try:
            if connection.readonly("main"):
                raise ReadOnly(f"{path} cannot be written to; check its permissions and those of its folder")
            connection.set_busy_timeout(int(busy_timeout * 1000))
            complete = _complete(connection)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
            _use_wal(connection, busy_timeout)
            connection.execute(
                f"PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
                f"PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = {WAL_BYTES}"
            )
            if not complete:
                connection.execute("BEGIN IMMEDIATE")
                create(connection)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    return connection


def _complete(connection: apsw.Connection) -> bool:
    """Return whether the schema is there. Looked up before anything is changed: a file that is refused stays as it
    is."""
    connection.execute("BEGIN")
    complete = has_schema(connection)
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


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise SQLite's errors as errors of this library, with a remedy each."""
    import apsw

    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Busy(f"another process kept {path} locked for too long; try again, or raise busy_timeout") from error
    except apsw.FullError as error:
        raise DiskFull(f"no space left for {path}; nothing was written. Free some and try again") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise ReadOnly(
            f"{path} cannot be opened for writing ({error}); check its permissions and its folder's"
        ) from error
    except apsw.NotADBError as error:
        raise NotADatabase(f"{path} is not an SQLite database; give the memory a file of its own") from error
    except apsw.CorruptError as error:
        raise Corrupt(f"{path} is damaged ({error}); restore it from a backup") from error
    except (apsw.InterruptError, apsw.ConnectionClosedError) as error:
        raise Closed(f"the memory at {path} was closed while in use") from error
    except apsw.Error as error:
        raise StorageError(f"SQLite failed on {path}: {type(error).__name__}: {error}") from error
    except UnicodeDecodeError as error:
        raise Corrupt(f"{path} is damaged: it holds a text that is not UTF-8; restore it from a backup") from error
    except UnicodeEncodeError as error:
        raise InvalidText(f"a text holds a lone surrogate ({error.reason}); replace it before storing") from error
    except OverflowError as error:
        raise InvalidInput(f"a number is too large for SQLite ({error})") from error
