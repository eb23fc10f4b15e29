"""SQLite's errors as errors of this library."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING

from tidal_plugins.errors import (
    Busy,
    Closed,
    Corrupt,
    DiskFull,
    InvalidInput,
    ReadOnly,
    StorageError,
)
from tidal_plugins.storage.sqlite.pages import is_damaged

if TYPE_CHECKING:
    import apsw


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
    import apsw

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
    import apsw

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
