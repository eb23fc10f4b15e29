"""Checksums of pages, by SQLite's checksum VFS: a page that was altered on the disk is an error when it is read.

The eight last bytes of each page hold its checksum. It is written when a page goes into the file; pages in the log have
none, and neither have files that are encrypted: their cipher authenticates each page. A page that took the place of
another one has the right checksum, so rows have checksums over their scope and key, too.

apsw's wheel brings the VFS as an extension, which is loaded once into a process. Each opening names its VFS, and the
default of the process stays what it was. An apsw that was built without extensions makes files without checksums of
pages. It must not write into a file that has them: it would not renew them.

Another program that moves the log of a killed process into the file, or copies the file, renews no checksum either. The
first page is always among those that it writes then, since each log takes the mark of the log back. So a file whose
first page or schema fails is examined when it is opened, and if all of it is right, the statements of the schema, too,
each page gets its checksum anew.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from tidal_plugins.errors import StorageError

if TYPE_CHECKING:
    import apsw

CHECKED = "cksmvfs"
"""The name of the VFS."""

RESERVED = 8
"""Bytes at the end of each page that are kept for its checksum."""

CIPHERS = "multipleciphers-"
"""Stands before the name of a VFS that encrypts."""


OS = "win32" if os.name == "nt" else "unix"
"""The name of the VFS below."""

_loading = threading.Lock()


def vfs(key: object) -> str:
    """Return the name of the VFS by which a file with this key, or with none, is opened."""
    return _plain() if key is None else CIPHERS + OS


@cache
def _plain() -> str:
    import apsw
    import apsw.sqlite_extra as extras

    with _loading:
        names = apsw.vfs_names()
        if CHECKED not in names:
            if not extras.has("cksumvfs"):
                return names[0]
            load()
        return CHECKED


def load() -> None:
    """Load the VFS, over the one that is the default of the process now, and stays it."""
    import apsw
    import apsw.sqlite_extra as extras

    _keep_apart(str(extras.path("cksumvfs")))
    default = next(name for name in apsw.vfs_names() if name != CHECKED)
    apsw.set_default_vfs(default)  # which may be gone, so that this one would stand on itself
    connection = apsw.Connection(":memory:")
    try:
        extras.load(connection, "cksumvfs")
    finally:
        connection.close()
        apsw.set_default_vfs(default)


def _keep_apart(vfs: str) -> None:
    """Let no extension that another SQLite of the process loads share the variable through which the VFS calls ours.

    Each extension of SQLite exports a variable ``sqlite3_api``, and on Linux those loaded later use that of the first
    one: another SQLite that loads one, as LangGraph's store loads sqlite-vec, would have the VFS call that SQLite, and
    the next opening crash. So the VFS is bound to its own variable, and sqlite-vec, which stays loaded, comes first for
    the others.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    import sqlite_vec

    own = os.RTLD_NOW | getattr(os, "RTLD_DEEPBIND", 0)  # which is glibc's
    ctypes.CDLL(vfs, mode=own | os.RTLD_LOCAL)
    ctypes.CDLL(f"{sqlite_vec.loadable_path()}.so", mode=own | os.RTLD_GLOBAL)


def reserve(connection: apsw.Connection) -> None:
    """Let the pages of a new file have checksums, unless it is opened without them."""
    if connection.open_vfs == CHECKED:
        connection.reserve_bytes("main", RESERVED)


def begin(connection: apsw.Connection) -> None:
    """Write the first page of a new file whose pages another connection's are copied into.

    The VFS learns from it that pages have checksums. A large copy outgrows the cache, and most of its pages are written
    before the first one: those that come from the log would have none.
    """
    if connection.open_vfs == CHECKED:
        reserve(connection)
        connection.execute("CREATE TABLE begun (x)")


def check_writable(connection: apsw.Connection, path: str) -> None:
    """Raise ``StorageError`` for a file whose pages have checksums that this apsw would not renew."""
    if connection.open_vfs != CHECKED and connection.reserve_bytes("main") == RESERVED:
        raise StorageError(
            f"the pages of {path} have checksums, which this apsw does not write; install the wheel of apsw from PyPI"
        )


def is_damaged(error: BaseException | None) -> bool:
    """Return whether an error of SQLite's is that of a page whose checksum fails."""
    import apsw

    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def uncheck(connection: apsw.Connection) -> None:
    """Let the reads of a connection have damaged pages, too."""
    connection.execute("PRAGMA checksum_verification = OFF").fetchall()


@contextmanager
def unchecked(connection: apsw.Connection) -> Iterator[None]:
    """Let the reads inside have damaged pages, too. Others of this connection do not find these in its cache."""
    uncheck(connection)
    try:
        yield
    finally:
        connection.execute("PRAGMA checksum_verification = ON").fetchall()
        connection.execute("PRAGMA shrink_memory").fetchall()
