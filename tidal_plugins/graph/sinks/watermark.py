"""The watermark: the state in which a sink is known to have each thing, by id, as documents of the store.

Before the sink gets a thing, its state counts as unknown; afterwards it is confirmed with a digest of the content. So a
process that dies between both leaves nothing in the sink whose state is taken for another.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b

from tidal_plugins.errors import Conflict
from tidal_plugins.model.entry import Scope
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.salt import secret
from tidal_plugins.storage.shorthands import read_document, write_document

HEAD = "head"
"""Key of the document that says who is at it. Other keys have a colon."""

FORM = 1
"""Number of the form in which sinks write. Another number makes every sink write everything anew."""

UNCONFIRMED = ""
"""The digest of what a sink has in a state that is not known."""

Key = tuple[str, str]
"""A kind, such as ``entities``, and an id."""


class Watermark:
    """What one sink has of one scope.

    The latest process to :meth:`begin` goes on; another one that is still at it gets ``Conflict`` at its next step.
    """

    def __init__(self, storage: Storage, scope: Scope, sink: str) -> None:
        self._storage = storage
        self._scope = scope
        self._sink = sink
        self._collection = f"graph-sink {sink}"
        self._run = randomness.token_hex(8)

    def begin(self) -> dict[Key, str]:
        """Take over, and return the known digests."""
        with self._storage.transaction():
            write_document(self._storage, self._scope, self._collection, HEAD, self._run)
            documents = self._storage.documents(self._scope, self._collection)
        return {_key(one.key): str(one.value) for one in documents if one.key != HEAD}

    def expect(self, keys: Iterable[Key]) -> None:
        """Note what the sink is about to get or to lose."""
        self._write(dict.fromkeys(keys, UNCONFIRMED), ())

    def confirm(self, written: Mapping[Key, str], removed: Collection[Key]) -> None:
        """Note what the sink has now, and forget what it no longer has."""
        self._write(written, removed)

    def digest(self, item: object) -> str:
        """Return a digest of what a sink gets, which tells nothing without the key of the store."""
        return blake2b(f"{FORM} {item!r}".encode(), key=secret(self._storage), digest_size=12).hexdigest()

    def _write(self, written: Mapping[Key, str], removed: Collection[Key]) -> None:
        with self._storage.transaction():
            self._check()
            values = {_name(key): digest for key, digest in written.items()}
            self._storage.write_documents(self._scope, self._collection, values)
            self._storage.erase_documents(self._scope, self._collection, [_name(key) for key in removed])

    def _check(self) -> None:
        head = read_document(self._storage, self._scope, self._collection, HEAD)
        if head is None or head.value != self._run:
            raise Conflict(f"another process began to mirror to {shown(self._sink)} meanwhile; let one do it at a time")


def _name(key: Key) -> str:
    return ":".join(key)


def _key(name: str) -> Key:
    kind, _, id_ = name.partition(":")
    return kind, id_
