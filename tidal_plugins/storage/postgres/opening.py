"""Open connections to a server, each as this library needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput, StorageError
from tidal_plugins.storage.postgres.texts import adapt
from tidal_plugins.storage.postgres.translation import translated

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
"""Seconds that connecting may take, unless the URL has a ``connect_timeout``."""

NEEDED = "PostgreSQL needs its client: pip install 'tidal-plugins[postgres]'"

_SESSION = """
    SELECT set_config('lock_timeout', %s, false), set_config('synchronous_commit', %s, false),
        set_config('default_transaction_read_only', %s, false), set_config('jit', 'off', false),
        set_config('plan_cache_mode', 'force_generic_plan', false),
        set_config('client_min_messages', 'error', false), current_setting('server_encoding')
"""


def connected(url: str, path: str, *, durable: bool, busy_timeout: float, read_only: bool) -> psycopg.Connection[Any]:
    """Return a new connection. ``path`` is the URL without its secrets. Raises ``StorageError``."""
    try:
        import psycopg
    except ImportError as error:
        raise InvalidInput(NEEDED) from error

    with translated(path):
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message shows the URL
            raise InvalidInput("the URL cannot be read; write postgresql://user:password@host/database") from None
        waits = {} if "connect_timeout" in given else {"connect_timeout": CONNECT_SECONDS}
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=1, client_encoding="UTF8", **waits)
        try:
            adapt(connection)
            timeout = str(max(1, int(busy_timeout * 1000)))
            settings = (timeout, "on" if durable else "off", "on" if read_only else "off")
            found = connection.execute(_SESSION, settings).fetchone()
            if found is None or found[-1] != "UTF8":
                raise StorageError(f"the database at {path} is not encoded in UTF-8; create one that is")
        except BaseException:
            connection.close()
            raise
    return connection
