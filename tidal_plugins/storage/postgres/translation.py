"""PostgreSQL's errors as errors of this library, which never bear a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from tidal_plugins.errors import Busy, DiskFull, InvalidInput, QueryTimeout, ReadOnly, StorageError
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    import psycopg

TOO_LONG = (
    "a question took longer than its deadline; ask for less, with fewer words, a smaller limit or depth, or raise "
    "Settings.storage.query_deadline"
)

_AUTHORITY = lazy_re(r"[^/?#]*")
_HOSTS = lazy_re(r"(\[[^\]]*\]|[^:,]*)(:\d*)?(,(\[[^\]]*\]|[^:,]*)(:\d*)?)*")

_SECRET = ("password", "sslpassword", "passfile", "sslkey")
"""Parameters of a URL that are not shown."""


def shown_url(url: str) -> str:
    """Return a URL without its secrets."""
    try:
        parts = urlsplit(url)
        if is_ambiguous(url):
            raise ValueError
        user, at, host = parts.netloc.rpartition("@")
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name not in _SECRET], safe="/")
        return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, query, ""))
    except ValueError:
        return url.partition("://")[0] + "://…"


def is_ambiguous(url: str) -> bool:
    """Return whether one cannot tell where the password of a URL ends: it has a character that divides a URL."""
    rest = url.partition("://")[2]
    place = _AUTHORITY.match(rest)
    user = place[0] if place else ""
    if "@" in user:
        return user.count("@") > 1
    return "@" in rest.partition("?")[0] or ("@" in rest and not _HOSTS.fullmatch(user))


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise PostgreSQL's errors as errors of this library, with a remedy each. ``path`` is a URL without secrets."""
    import psycopg

    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a text holds a lone surrogate ({error.reason}); replace it before storing") from error
    except psycopg.Error as error:
        raise translation(path, error) from error


def translation(path: str, error: psycopg.Error) -> Exception:
    """Return the error of this library that stands for one of PostgreSQL's."""
    state, message = error.sqlstate or "", str(error).strip().partition("\n")[0]
    match state[:2], state:
        case _, "57014":
            return QueryTimeout(TOO_LONG)
        case _, "55P03":
            return Busy(f"another process kept {path} locked for too long; try again, or raise busy_timeout")
        case "40", _:
            busy = Busy(
                f"{path} ended this transaction in favour of others ({message}); try again: nothing was written"
            )
            busy.overruled = True
            return busy
        case _, "53300":
            return Busy(f"{path} takes no more connections ({message}); nothing was written: try again")
        case ("53", _) | (_, "58030"):
            return DiskFull(f"the server of {path} has no room ({message}); nothing was written. Free some, try again")
        case _, "25006":
            return ReadOnly(f"{path} takes no writes ({message}); write to the primary server")
        case _, "42501":
            return ReadOnly(f"the role at {path} lacks a right ({message}); docs/postgres.md lists the grants it needs")
        case _, "54000":
            return InvalidInput(f"a name or an id is too long for an index of PostgreSQL: shorten it ({message})")
        case "22", "22003":
            return InvalidInput(f"a number is too large for PostgreSQL ({message})")
        case "22", _:
            return InvalidInput(f"PostgreSQL refused a value ({message})")
    if is_lost(error):
        return StorageError(
            f"the connection to {path} failed ({message or 'it was lost'}); the next call opens another"
        )
    return StorageError(f"PostgreSQL failed on {path}: {type(error).__name__}: {message}")


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that the connection is gone."""
    import psycopg

    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate or ""
    return not state or state[:2] in ("08", "57")
