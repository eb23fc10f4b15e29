"""Choose the engine of a store: by the path or URL that names it, or as it was given."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput
from tidal_plugins.patterns import lazy_re
from tidal_plugins.settings import StorageSettings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.sqlite import MEMORY, ReadOnlySQLite, SQLiteStorage, TemporarySQLite
from tidal_plugins.storage.sqlite.opening import Key

if TYPE_CHECKING:
    from tidal_plugins.storage.postgres import PostgresStorage
    from tidal_plugins.storage.postgres.replica import ReplicaReads


_SCHEME = lazy_re(r"([a-z][a-z0-9+.-]*)://")
_NEARLY = lazy_re(r"\s*postgres(ql)?:/", re.IGNORECASE)
POSTGRES = ("postgresql", "postgres")
"""The schemes of the URL of a PostgreSQL database."""


def open_storage(
    path: str | PathLike[str] | None,
    storage: Storage | None,
    settings: StorageSettings | None = None,
    key: Key | None = None,
    *,
    read_only: bool = False,
) -> Storage:
    """Return ``storage`` if it is given, else open the store at ``path``, which is a file, ``memory://`` or a
    PostgreSQL database.

    Exactly one of the two must be given. ``key`` returns the key of an encrypted file. A file that is ``read_only`` is
    never written. Raises ``InvalidInput``, and ``StorageError`` if the path cannot hold a memory.
    """
    if storage is not None and path is not None:
        raise InvalidInput(f"give either a path or storage=, not both: {shown(path)} and {type(storage).__name__}")
    if key is not None and (storage is not None or str(path) == MEMORY):
        raise InvalidInput("key= encrypts a file; give it with a path")
    if read_only and (storage is not None or str(path) == MEMORY):
        raise InvalidInput("read_only= opens a file that is there; give it with a path")
    if storage is not None:
        if isinstance(storage, type) or not isinstance(storage, Storage):
            raise InvalidInput(f"storage= takes an engine, with all the methods of Storage, got {shown(storage)}")
        return storage
    if path is None:
        raise InvalidInput("say where the memory is: a path such as 'agent.db', 'memory://', or storage=")
    settings = settings or StorageSettings()
    if scheme := _SCHEME.match(path) if isinstance(path, str) else None:
        if key is not None and scheme[1] in POSTGRES:
            raise InvalidInput("key= encrypts a file; a PostgreSQL server encrypts its disks by its own means")
        return _open_url(str(path), scheme[1], settings, read_only)
    if isinstance(path, str | Path) and _NEARLY.match(str(path)):  # no file: its name would be a password
        raise InvalidInput("write the URL of a database as a text that begins with postgresql://")
    return _open_file(path, settings, key, read_only)


def open_replica(primary: Storage, settings: StorageSettings) -> ReplicaReads:
    """Return the reads of a store that has a replica at ``settings.read_url``.

    Raises ``InvalidInput`` if the store is not on PostgreSQL, or if the URL is not one of PostgreSQL's.
    """
    from tidal_plugins.storage.postgres import PostgresStorage
    from tidal_plugins.storage.postgres.replica import ReplicaReads

    assert settings.read_url is not None
    url = settings.read_url.get_secret_value()
    if not isinstance(primary, PostgresStorage):
        raise InvalidInput("storage.read_url names a read replica: give it with a postgresql:// URL")
    scheme = _SCHEME.match(url)
    if scheme is None or scheme[1] not in POSTGRES:
        raise InvalidInput("storage.read_url is the URL of a read replica, such as postgresql://user@host/database")
    return ReplicaReads(primary, lambda: _open_postgres(url, settings, read_only=True))


def check_writable(storage: Storage) -> None:
    """Raise ``ReadOnly`` for a store that was opened for reading only."""
    if getattr(storage, "read_only", False) or isinstance(storage, ReadOnlySQLite):
        storage.transaction()


def path_of(storage: Storage) -> str:
    """Return the path or URL of a store, or, for an engine that has none, a name that no other open store has."""
    return str(getattr(storage, "path", None) or f"{type(storage).__name__}:{id(storage):x}")


def _open_file(path: str | PathLike[str], settings: StorageSettings, key: Key | None, read_only: bool) -> Storage:
    """Return the store in a file."""
    if read_only:
        return ReadOnlySQLite(path, timeout=settings.busy_timeout, key=key, **_limits(settings))
    return SQLiteStorage(
        path,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        key=key,
        migrate=settings.migrate,
        **_limits(settings),
    )


def _open_url(url: str, scheme: str, settings: StorageSettings, read_only: bool) -> Storage:
    if url == MEMORY:
        return TemporarySQLite(busy_timeout=settings.busy_timeout, **_limits(settings))
    if scheme == "memory":
        raise InvalidInput(
            f"a temporary store has no name, got {shown(url)}; open {MEMORY!r} once and share the object"
        )
    if scheme in POSTGRES:
        return _open_postgres(url, settings, read_only=read_only)
    raise InvalidInput(f"no engine opens {scheme}://; pass a file path, {MEMORY!r}, a postgresql:// URL, or storage=")


def _open_postgres(url: str, settings: StorageSettings, *, read_only: bool) -> PostgresStorage:
    from tidal_plugins.storage.postgres import PostgresStorage

    return PostgresStorage(
        url,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        read_only=read_only,
        migrate=settings.migrate,
        **_limits(settings),
    )


def _limits(settings: StorageSettings) -> dict[str, Any]:
    return {
        "query_deadline": settings.query_deadline,
        "exact_vectors_up_to": settings.exact_vectors_up_to,
        "column_cache_bytes": settings.column_cache_mb * 1024 * 1024,
    }
