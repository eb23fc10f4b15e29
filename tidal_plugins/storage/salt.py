"""The salt of a store: random characters from which the ids of its entries and episodes are made."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tidal_plugins.model.entry import Scope, new_salt, salted_id
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import read_meta, write_meta

SALT = "salt"

_known: WeakKeyDictionary[Storage, str] = WeakKeyDictionary()


def entry_id(storage: Storage, scope: Scope, *parts: object) -> str:
    """Return the id that an entry made of ``parts`` has in a scope of this store, the same on every retry."""
    return salted_id(salt(storage), scope, *parts)


def salt(storage: Storage) -> str:
    """Return the salt of a store; a store without one gets it now."""
    if storage not in _known:
        if read_meta(storage, SALT) is None:  # a store that has one opens without waiting for a writer
            with storage.transaction():
                if read_meta(storage, SALT) is None:
                    write_meta(storage, SALT, new_salt())
        _known[storage] = read_meta(storage, SALT)
    return _known[storage]
