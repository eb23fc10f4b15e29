"""SQLite's errors as errors of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        raise NotADatabase(
            f"{path} is not an SQLite database, or it is encrypted; give the memory a file of its own, or key="
        ) from error
    except (apsw.CorruptError, apsw.SQLError, apsw.ConstraintError) as error:
        if _is_of_keywords(str(error)):
            raise Corrupt(
                f"the keyword index of {path} is damaged ({error}); memory.check(repair=True) writes it anew"
            ) from error
        if isinstance(error, apsw.CorruptError):
            raise Corrupt(f"{path} is damaged ({error}); restore it from a backup") from error
        raise _failed(path, error) from error
    except (apsw.InterruptError, apsw.ConnectionClosedError) as error:
        raise Closed(f"the memory at {path} was closed while in use") from error
    except apsw.Error as error:
        raise _failed(path, error) from error
    except UnicodeDecodeError as error:
        raise Corrupt(f"{path} is damaged: it holds a text that is not UTF-8; restore it from a backup") from error
    except UnicodeEncodeError as error:
        raise InvalidText(f"a text holds a lone surrogate ({error.reason}); replace it before storing") from error
    except OverflowError as error:
        raise InvalidInput(f"a number is too large for SQLite ({error})") from error


def _is_of_keywords(message: str) -> bool:
    """Return whether an error is of the keyword index. Other tables name the constraint that failed."""
    return "fts5" in message or "keywords_" in message or message == "constraint failed"


def _failed(path: str, error: Exception) -> StorageError:
    return StorageError(f"SQLite failed on {path}: {type(error).__name__}: {error}")
