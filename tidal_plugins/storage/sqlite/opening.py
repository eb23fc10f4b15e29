"""Open an SQLite file, with checksums of its pages or encrypted, and translate SQLite's errors.

apsw brings its own current SQLite with FTS5. The file must not be opened through another copy of SQLite in the same
process: each would cancel the other's locks.

**Checksums.** SQLite's checksum VFS makes a page that was altered on the disk an error when it is read. The eight last
bytes of each page hold its checksum. It is written when a page goes into the file; pages in the log have none, and
neither have files that are encrypted: their cipher authenticates each page. A page that took the place of another one
has the right checksum, so rows have checksums over their scope and key, too. apsw's wheel brings the VFS as an
extension, which is loaded once into a process. Each opening names its VFS, and the default of the process stays what it
was. An apsw that was built without extensions makes files without checksums of pages. It must not write into a file
that has them: it would not renew them. Another program that moves the log of a killed process into the file, or copies
the file, renews no checksum either. The first page is always among those that it writes then, since each log takes the
mark of the log back. So a file whose first page or schema fails is examined when it is opened, and if all of it is
right, the statements of the schema, too, each page gets its checksum anew.

**Encryption.** The package ``apsw-sqlite3mc`` is apsw with the ciphers of SQLite3 Multiple Ciphers built in. An SQLite
without them takes a key and writes plain text all the same, so a key is refused there.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import apsw
import apsw.sqlite_extra as extras

from tidal_plugins.errors import Busy, Closed, Corrupt, DiskFull, InvalidInput, ReadOnly, StorageError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.shown import shown
from tidal_plugins.storage.sqlite.log_mark import settle
from tidal_plugins.storage.sqlite.schema import create, has_schema
from tidal_plugins.validation import check_path

CHECKED = "cksmvfs"
"""The name of the VFS."""

RESERVED = 8
"""Bytes at the end of each page that are kept for its checksum."""

CIPHERS = "multipleciphers-"
"""Stands before the name of a VFS that encrypts."""


OS = "win32" if os.name == "nt" else "unix"
"""The name of the VFS below."""

_loading = threading.Lock()

logger = logging.getLogger(__name__)


def vfs(key: object) -> str:
    """Return the name of the VFS by which a file with this key, or with none, is opened."""
    return _plain() if key is None else CIPHERS + OS


@cache
def _plain() -> str:
    with _loading:
        names = apsw.vfs_names()
        if CHECKED not in names:
            if not extras.has("cksumvfs"):
                return names[0]
            load()
        return CHECKED


def load() -> None:
    """Load the VFS, over the one that is the default of the process now, and stays it."""
    path = str(extras.path("cksumvfs"))
    _keep_apart(path)
    default = next(name for name in apsw.vfs_names() if name != CHECKED)
    apsw.set_default_vfs(default)  # which may be gone, so that this one would stand on itself
    connection = apsw.Connection(":memory:")
    try:
        _extend(connection, path)
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
    own = os.RTLD_NOW | getattr(os, "RTLD_DEEPBIND", 0)  # which is glibc's
    ctypes.CDLL(vfs, mode=own | os.RTLD_LOCAL)
    ctypes.CDLL(f"{_signs()}.so", mode=own | os.RTLD_GLOBAL)


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
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


UNREAD = "unable to get the page"
"""What SQLite's own examination says of such a page."""


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


EXAMINED_BYTES = 4 * 1024 * 1024
"""Size up to which a file is examined when it is opened: 4 ms for each megabyte on the machine of development."""

_OF_A_ROW = (" value in ", "CHECK constraint failed")
"""What SQLite says of values, which checksums of rows are for."""

_NOT_OF_A_FILE = (apsw.InterruptError, apsw.BusyError, apsw.LockedError, apsw.NoMemError, apsw.CantOpenError)
"""Errors that say nothing of a file: somebody ended the call or has a lock, or the machine lacks something."""


def is_sound(connection: apsw.Connection, path: str) -> bool:
    """Return whether the pages of a file make up its tables and indexes; if not, an error is logged.

    A page that took the place of another one, or the zeros behind a lost end, have the right checksum, and what is not
    found on them is missed by nobody. Pages whose checksums fail count as sound: they are told when they are read.
    """
    try:
        found = [str(text) for (text,) in connection.execute("PRAGMA integrity_check").fetchall()]
    except _NOT_OF_A_FILE:
        raise
    except apsw.Error as error:
        found = [UNREAD if is_damaged(error) else str(error)]
    # Where pages have checksums, a wrong value is of another table, on a page that took the place of another one.
    passed_over = () if connection.open_vfs == CHECKED else _OF_A_ROW
    wrong = [text for text in found if text != "ok" and not any(part in text for part in passed_over)]
    if not wrong or any(UNREAD in text for text in wrong):
        return True
    logger.error("%s is damaged (%s): what is not found may have been there; memory.check() tells more", path, wrong[0])
    return False


def is_to_be_examined(path: str) -> bool:
    """Return whether a file is examined when it is opened: a small one, and one whose last page is not whole."""
    try:
        size = os.path.getsize(path)  # noqa: PTH202 (as cheaply as it goes)
    except OSError:  # somebody removed it, which the next reading tells
        return False
    return size <= EXAMINED_BYTES or size % SMALLEST_FILE > 0


Key = Callable[[], str | bytes]
"""Returns the key of a file: 32 random bytes, or a passphrase. Called once for each connection that is opened."""

KEY_BYTES = 32
"""Length of a key that is no passphrase: that of the cipher, ChaCha20-Poly1305."""

CIPHER = "chacha20"
"""The cipher, with a code of authentication for each page: a page that was altered cannot be read."""

INSTALL = "pip install --force-reinstall --no-deps apsw-sqlite3mc"

_RAW = "raw:"
"""Stands before a key that is used as it is. A passphrase goes through 64,007 rounds of PBKDF2 first."""


def check_key(key: object, name: str = "key") -> None:
    """Raise ``InvalidInput`` for a key that is no function, and ``StorageError`` where there are no ciphers."""
    if not callable(key):
        raise InvalidInput(f"{name}= is a function that returns the key, such as lambda: os.environ['MEMORY_KEY']")
    if not hasattr(apsw, "mc_version"):
        raise StorageError(f"this SQLite has no ciphers; {INSTALL}, which takes the place of apsw")


def unlock(connection: apsw.Connection, key: Key) -> None:
    """Give a connection that has read nothing yet the key of its file."""
    connection.pragma("cipher", CIPHER)
    connection.pragma("hexkey", in_hex(key))
    connection.pragma("temp_store", "memory")  # what spills into a temporary file is not encrypted


def in_hex(key: Key) -> str:
    """Return a key as SQLite takes it. No message shows it. Raises ``StorageError``."""
    try:
        secret = key()
    except Exception as error:
        pass_interrupt(error)
        raise StorageError(f"the function that returns the key failed with {type(error).__name__}") from error
    if isinstance(secret, bytes) and len(secret) == KEY_BYTES:
        return f"{_RAW}{secret.hex()}".encode().hex()
    if isinstance(secret, str) and secret and not secret.startswith(_RAW):
        return secret.encode(errors="surrogatepass").hex()
    raise StorageError(
        f"a key is {KEY_BYTES} random bytes, such as os.urandom({KEY_BYTES}), or a passphrase that does not begin with "
        f"{_RAW!r}"
    )


def wrong_key(path: str) -> StorageError:
    return StorageError(f"{path} cannot be read with this key: its key is another one, or it is not encrypted")


class _Translation(AbstractContextManager[None]):
    """Raises SQLite's errors as errors of this library. It has no state of a block, and serves any number of them."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and (raised := _translation(self._path, error)) is not None:
            raise raised from error


@lru_cache(maxsize=256)
def translated(path: str) -> AbstractContextManager[None]:
    """Raise SQLite's errors as errors of this library, with a remedy each.

    Every statement runs inside one of these, so they are made once for a path.
    """
    return _Translation(path)


def _translation(path: str, error: BaseException) -> Exception | None:
    """Return the error of this library that stands for one of SQLite's, ``None`` for any other."""
    if isinstance(error, apsw.Error):
        return _of_sqlite(path, error)
    if isinstance(error, UnicodeDecodeError):
        return Corrupt(f"{path} is damaged: it holds a text that is not UTF-8; restore it from a backup")
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"a text holds a lone surrogate ({error.reason}); replace it before storing")
    if isinstance(error, OverflowError):
        return InvalidInput(f"a number is too large for SQLite ({error})")
    return None


def _of_sqlite(path: str, error: apsw.Error) -> Exception:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"another process kept {path} locked for too long; try again, or raise busy_timeout")
        case apsw.FullError():
            return DiskFull(f"no space left for {path}; nothing was written. Free some and try again")
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return ReadOnly(f"{path} cannot be opened for writing ({error}); check its permissions and its folder's")
        case apsw.NotADBError():
            return StorageError(
                f"{path} is not an SQLite database, or it is encrypted; give the memory a file of its own, or key="
            )
        case apsw.CorruptError() | apsw.SQLError() | apsw.ConstraintError() if _is_of_keywords(str(error)):
            return Corrupt(
                f"the keyword index of {path} is damaged ({error}); memory.check(repair=True) writes it anew"
            )
        case apsw.IOError() if is_damaged(error):
            return Corrupt(
                f"{path} is damaged: a page of it fails its checksum. memory.check(repair=True) keeps what is intact; "
                "what is not comes back from a backup"
            )
        case apsw.CorruptError():
            return Corrupt(f"{path} is damaged ({error}); restore it from a backup")
        case apsw.InterruptError() | apsw.ConnectionClosedError():
            return Closed(f"the memory at {path} was closed while in use")
    return _failed(path, error)


def _is_of_keywords(message: str) -> bool:
    """Return whether an error is of the keyword index. Other tables name the constraint that failed."""
    return "fts5" in message or "keywords_" in message or message == "constraint failed"


def _failed(path: str, error: Exception) -> StorageError:
    return StorageError(f"SQLite failed on {path}: {type(error).__name__}: {error}")


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
        if text.startswith("~"):
            raise InvalidInput(f"'~' is not replaced by your home; pass Path({shown(text)}).expanduser()")
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
    if os.path.isfile(path) and 0 < os.path.getsize(path) < SMALLEST_FILE:  # noqa: PTH113, PTH202
        raise StorageError(f"{path} is not an SQLite database; give the memory a file of its own")
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create_file else 0)
    connection = apsw.Connection(path, flags=flags, vfs=vfs(key))
    try:
        if connection.readonly("main"):
            raise ReadOnly(
                f"{path} cannot be written to; check its permissions and its folder's, or open it with read_only=True"
            )
        connection.set_busy_timeout(int(busy_timeout * 1000))
        if key is not None:
            unlock(connection, key)
        if not checked:
            uncheck(connection)
        complete = checked_schema(connection, path, key)
        if complete:
            check_writable(connection, path)
        else:
            reserve(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")  # first: a change of the journal is synced, too
        _use_wal(connection, busy_timeout)
        if complete:  # a later version may have brought the file to its schema while this waited
            checked_schema(connection, path, key)
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


def let_compare(connection: apsw.Connection) -> None:
    """Give a connection the SQL functions of sqlite-vec, for the distance of signs."""
    _extend(connection, _signs())


@cache
def _signs() -> str:
    """Return the path of sqlite-vec, which its package tells, too, and imports Python's own ``sqlite3`` for nothing."""
    found = find_spec("sqlite_vec")
    if found is None or not found.submodule_search_locations:
        raise ImportError("sqlite-vec is missing: pip install sqlite-vec")
    return str(Path(found.submodule_search_locations[0], "vec0"))


def _extend(connection: apsw.Connection, path: str) -> None:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    finally:
        connection.enable_load_extension(False)


def _times(found: apsw.FTS5ExtensionApi, *_: object) -> int:
    return found.inst_count


def checked_schema(connection: apsw.Connection, path: str, key: Key | None) -> bool:
    """Return whether the schema is there, or raise ``StorageError`` for a key that does not fit.

    Looked up before anything is changed: a file that is refused stays as it is.
    """
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
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
