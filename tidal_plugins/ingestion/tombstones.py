"""What forgetting leaves: tombstones and a log of erasures.

By its tombstone a citation resolves to «forgotten», and a text is not captured again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tidal_plugins.errors import Forgotten, NotFound
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope, mark_of
from tidal_plugins.model.reports import Erasure, Receipt
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.shorthands import salt, write_document

FORGOTTEN = "forgotten"
"""Collection of tombstones: by id, and by a keyed hash of the text."""


def add_tombstones(storage: Storage, scope: Scope, ids: Iterable[str], now: datetime) -> None:
    """Leave a tombstone for each id. Call it inside a transaction."""
    storage.write_documents(scope, FORGOTTEN, {_of_id(id_): {"at": to_micros(now)} for id_ in ids})


def add_text_tombstone(storage: Storage, scope: Scope, mark: str, now: datetime) -> None:
    """Leave a tombstone for a text, given its keyed hash. Call it inside a transaction."""
    write_document(storage, scope, FORGOTTEN, mark, {"at": to_micros(now)})


def remove_tombstones(storage: Storage, scope: Scope, ids: Iterable[str]) -> None:
    """Remove the tombstones of ids that are written again on request."""
    storage.erase_documents(scope, FORGOTTEN, [_of_id(id_) for id_ in ids])


def tombstoned(storage: Storage, scope: Scope, ids: Iterable[str]) -> set[str]:
    """Return those of ``ids`` that were forgotten on request."""
    keys = {_of_id(id_): id_ for id_ in ids}
    return {keys[document.key] for document in storage.documents(scope, FORGOTTEN, list(keys))}


def tombstoned_texts(storage: Storage, scope: Scope, marks: Iterable[str]) -> set[str]:
    """Return those of these keyed hashes whose texts were forgotten on request."""
    return {document.key for document in storage.documents(scope, FORGOTTEN, list(marks))}


def tombstoned_both(
    storage: Storage, scope: Scope, ids: Collection[str], marks: Iterable[str]
) -> tuple[set[str], set[str]]:
    """Return those of ``ids``, and those of these keyed hashes of texts, that were forgotten on request."""
    keys, asked = {_of_id(id_): id_ for id_ in ids}, set(marks)
    found = {document.key for document in storage.documents(scope, FORGOTTEN, tombstones_of(ids, asked))}
    return {keys[key] for key in found & keys.keys()}, found & asked


def tombstones_of(ids: Iterable[str], marks: Iterable[str]) -> list[str]:
    """Return the keys of the tombstones that ids and keyed hashes of texts have if they were forgotten."""
    return [*map(_of_id, ids), *marks]


def _of_id(id_: str) -> str:
    return f"id:{id_}"


def missing(storage: Storage, scope: Scope, id: str) -> NotFound:
    """Return the error for an id that is not there, or not there any more."""
    if tombstoned(storage, scope, [id]):
        return Forgotten(f"{shown(id)} was forgotten on request")
    if not salt(storage).startswith(mark_of(id)):
        return NotFound(
            f"no entry or episode {shown(id)} in scope {shown_scope(scope)}: it may be "
            "an id of another store, such as a peer; ask the memory that made it"
        )
    return NotFound(f"no entry or episode {shown(id)} in scope {shown_scope(scope)}")


# the log of erasures


ERASURES = "forgettings"
"""Log of what was forgotten in a scope."""

KEPT = 1_000
"""Erasures of a scope that are kept."""

_KEY = "erasure"


def note_erasure(storage: Storage, scope: Scope, receipt: Receipt, now: datetime) -> None:
    """Note a forgetting, unless nothing went. Call it inside the transaction that erases."""
    if not receipt:
        return
    value = {
        "count": receipt.count,
        "shelves": dict(receipt.shelves),
        "links": receipt.links,
        "blanked": len(receipt.blanked),
    }
    storage.append_log(scope, ERASURES, [Line(_KEY, now, value)])
    storage.trim_log(scope, ERASURES, keep=KEPT)


def noted_erasures(storage: Storage, scope: Scope, limit: int) -> list[Erasure]:
    """Return the last erasures of a scope, the newest first."""
    lines = storage.read_log(scope, ERASURES, limit=limit, newest_first=True)
    return [
        Erasure(line.at, line.value["count"], line.value["shelves"], line.value["links"], line.value["blanked"])
        for line in lines
    ]
