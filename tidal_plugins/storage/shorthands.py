"""Shorthands over the contract: single documents, values about the whole store, vectors, changes of tiers, and the salt
and the key of a store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from tidal_plugins.errors import NotFound
from tidal_plugins.model.entry import Scope, Tier, new_salt, salted_id
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import META, STORE, Document, Documents, Entries, PassageVectors, Record, Storage
from tidal_plugins.storage.damage import A_PAGE, withheld


def read_document(storage: Documents, scope: Scope, collection: str, key: str) -> Document | None:
    """Return the current document, or ``None``."""
    with withheld() as damaged:
        document = next(iter(storage.documents(scope, collection, [key])), None)
        if document is not None:
            damaged.pop(A_PAGE, None)
    return document


def write_document(
    storage: Documents,
    scope: Scope,
    collection: str,
    key: str,
    value: Any,
    *,
    expected: int | None = None,
    keep: int = 0,
) -> int:
    """Replace one document and return its new version. ``expected`` and ``keep`` as in
    :meth:`Documents.write_documents`. Raises ``Conflict``."""
    return storage.write_documents(scope, collection, {key: value}, expected=expected, keep=keep)[key]


def read_meta(storage: Documents, name: str) -> Any:
    """Return a JSON value about the whole store, or ``None``."""
    document = read_document(storage, STORE, META, name)
    return document and document.value


def write_meta(storage: Documents, name: str, value: Any) -> None:
    """Set a JSON value about the whole store."""
    write_document(storage, STORE, META, name, value)


def passage_vectors(storage: Storage, scope: Scope, ids: Iterable[str]) -> PassageVectors:
    """Return the vectors of all passages of entries. Passages without one are left out, and so are damaged vectors,
    which are noted."""
    with storage.snapshot():
        columns = storage.columns(scope, whole=False)
        rows = columns.rows(list(dict.fromkeys(ids)))
        return columns.vectors(rows[rows >= 0])


def set_tiers(storage: Entries, scope: Scope, tiers: Mapping[str, Tier]) -> None:
    """Set the tiers of entries by id. Raises ``NotFound`` for an unknown id. Call it inside a transaction."""
    entries = storage.get(scope, list(tiers))
    if missing := next((id_ for id_ in tiers if id_ not in entries), None):
        raise NotFound(f"no entry {shown(missing)} in scope {shown_scope(scope)}")
    records = [Record(replace(entries[id_], tier=tier), passages=None) for id_, tier in tiers.items()]
    storage.put(scope, records, replace=True)


SALT, SECRET = "salt", "secret"

_known: WeakKeyDictionary[Storage, str] = WeakKeyDictionary()
_keys: WeakKeyDictionary[Storage, bytes] = WeakKeyDictionary()


def entry_id(storage: Storage, scope: Scope, *parts: object) -> str:
    """Return the id that an entry made of ``parts`` has in a scope of this store, the same on every retry."""
    return salted_id(salt(storage), scope, *parts)


def salt(storage: Storage) -> str:
    """Return the salt of a store; a store without one gets it now."""
    if storage not in _known:
        _known[storage] = _meta(storage, SALT, new_salt)
    return _known[storage]


def secret(storage: Storage) -> bytes:
    """Return the key of a store, which hashes and tags are made with; a store without one gets it now."""
    if storage not in _keys:
        _keys[storage] = bytes.fromhex(_meta(storage, SECRET, lambda: secrets.token_hex(16)))
    return _keys[storage]


def reread(storage: Storage) -> None:
    """Let the salt and the key of a store be read again: it was loaded with those of another."""
    _known.pop(storage, None)
    _keys.pop(storage, None)


def _meta(storage: Storage, name: str, new: Callable[[], str]) -> str:
    if read_meta(storage, name) is None:  # a store that has one opens without waiting for a writer
        with storage.transaction():
            if read_meta(storage, name) is None:
                write_meta(storage, name, new())
    value: str = read_meta(storage, name)
    return value
