"""Locks of documents about the whole store: each has one of its own, so that writers of different scopes, who all read
the same few, wait for none."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b

from tidal_plugins.storage.base import META, STORE
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.numbers import number_of, path_of
from tidal_plugins.storage.postgres.work import ANY, Statement

_TO_WRITE = "SELECT pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) k"
_TO_READ = """
    SELECT CASE WHEN EXISTS (SELECT 1 FROM tidal_documents WHERE scope = %s AND collection = %s AND key = d.key)
        THEN pg_advisory_xact_lock_shared(d.lock) ELSE pg_advisory_xact_lock(d.lock) END
    FROM unnest(%s::text[], %s::bigint[]) d (key, lock)
"""
_KEPT = "documents to be read"
_ADD = "INSERT INTO tidal_scopes (scope, path) VALUES (%s, %s) ON CONFLICT (scope) DO NOTHING"


def reading(db: Connections, collection: str, keys: Collection[str]) -> list[Statement]:
    """Return a statement after which nobody else writes these documents before the transaction ends.

    Values of ``META`` that are there may be read by others meanwhile. All else is locked as if it were to be written,
    since two transactions that read first and write then would wait for each other.
    """
    if not db.writing or not keys:
        return []
    locks = _locks(collection, keys)
    if collection != META:
        return [(_TO_WRITE, [list(locks.values())])]
    db.current.kept.setdefault(_KEPT, set()).update(locks.values())
    return [(_TO_READ, [number_of(STORE), collection, list(locks), list(locks.values())])]


def writing(db: Connections, collection: str, keys: Collection[str]) -> list[Statement]:
    """Return statements after which nobody else reads these documents in a transaction, or writes them, before the
    open one ends."""
    locks = [(_TO_WRITE, [list(_locks(collection, keys).values())])] if keys else []
    return [*locks, (_ADD, [number_of(STORE), path_of(STORE)])]


def lock_read(db: Connections) -> None:
    """Lock for writing the values of the store that the transaction has read."""
    if locks := db.current.kept.get(_KEPT):
        db.later(ANY, (_TO_WRITE, [sorted(locks)]))


def _locks(collection: str, keys: Collection[str]) -> dict[str, int]:
    """Return the numbers of the locks of documents, in the order in which every transaction takes them."""
    found = {key: _number(collection, key) for key in keys}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _number(collection: str, key: str) -> int:
    data = f"{len(collection)} {collection} {key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, person=b"tidal").digest(), "big", signed=True)
