"""Open connections to a server, each as this library needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput, StorageError
from tidal_plugins.storage.postgres.texts import adapt
from tidal_plugins.storage.postgres.translation import is_ambiguous, translated

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
"""Seconds that connecting may take, unless the URL has a ``connect_timeout``."""

NEEDED = "PostgreSQL needs its client: pip install 'tidal-plugins[postgres]'"

# A pooler answers with a number of its own instead of that of the server's process: then nothing lasts longer than a
# transaction, since the next one may run on the connection of somebody else.
_SESSION = """
    WITH pooled (p) AS (SELECT pg_backend_pid() <> %s)
    SELECT set_config('lock_timeout', %s, pooled.p), set_config('synchronous_commit', %s, pooled.p),
        set_config('default_transaction_read_only', %s, pooled.p), set_config('jit', 'off', pooled.p),
        set_config('client_min_messages', 'error', pooled.p), pooled.p, current_setting('server_encoding') FROM pooled
"""
_LOCAL = """
    SELECT set_config('lock_timeout', %s, true), set_config('synchronous_commit', %s, true),
        set_config('default_transaction_read_only', %s, true), set_config('jit', 'off', true)
"""


def session(*, durable: bool, busy_timeout: float, read_only: bool) -> list[str]:
    """Return the values of the settings of a connection."""
    return [str(max(1, int(busy_timeout * 1000))), "on" if durable else "off", "on" if read_only else "off"]


def local(connection: psycopg.Connection[Any], settings: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return statements that begin a transaction with the settings, if the connection is one of a pooler."""
    return [(_LOCAL, settings)] if connection.prepare_threshold is None else []


def connected(url: str, path: str, settings: Sequence[str]) -> psycopg.Connection[Any]:
    """Return a new connection. ``path`` is the URL without its secrets. Raises ``StorageError``.

    Nothing is prepared on a connection of a pooler, which may lead to another server process each time.
    """
    try:
        import psycopg
    except ImportError as error:
        raise InvalidInput(NEEDED) from error

    if is_ambiguous(url):  # the client would take a part of the password for the host, and show it
        raise InvalidInput("the URL cannot be read; write @ / ? # in its password as %40 %2F %3F %23")
    with translated(path):
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message shows the URL
            raise InvalidInput("the URL cannot be read; write postgresql://user:password@host/database") from None
        waits = {} if "connect_timeout" in given else {"connect_timeout": CONNECT_SECONDS}
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=None, client_encoding="UTF8", **waits)
        try:
            adapt(connection)
            found = connection.execute(_SESSION, [connection.info.backend_pid, *settings]).fetchone()
            if found is None or found[-1] != "UTF8":
                raise StorageError(f"the database at {path} is not encoded in UTF-8; create one that is")
            if not found[-2]:
                connection.prepare_threshold = 1
        except BaseException:
            connection.close()
            raise
    return connection
