"""The salt of a store, from which the ids of its entries and episodes are made, and its key, for hashes and tags."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from weakref import WeakKeyDictionary

from tidal_plugins.model.entry import Scope, new_salt, salted_id
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import read_meta, write_meta

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
