"""The entries that went or were replaced lately, by key alone: a reader drops them, and does not load a scope anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from zlib import crc32

from tidal_plugins.errors import Corrupt
from tidal_plugins.storage.sql.entries import KEPT, MOST_GONE
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.saving import drop_pieces
from tidal_plugins.storage.values import from_json, to_json

_ERASED = "UPDATE scopes SET erasures = ifnull(erasures, 0) + 1 WHERE key = ? RETURNING erasures"
_NOTE = "INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)"
_TRIM = "DELETE FROM gone WHERE scope = ? AND erasure <= ?"
_SINCE = "SELECT erasure, entries, checksum FROM gone WHERE scope = ? AND erasure > ?"
_NUMBER = "SELECT erasures - ?2 FROM scopes WHERE key = ?1"


def note_gone(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Let the erasures of a scope rise, note which entries went or were replaced, and drop what is saved of them."""
    drop_pieces(db, scope, entries)
    erasures = int(db.one(_ERASED, scope) or 0)
    if erasures and len(entries) <= MOST_GONE:
        keys = to_json(list(entries))
        db.run(_NOTE, scope, erasures, keys, gone_checksum(scope, erasures, keys))
        db.run(_TRIM, scope, erasures - KEPT)


def gone_after(db: Connections, scope: int, erasures: int) -> Collection[int] | None:
    """Return the keys of the entries that went or were replaced since, or ``None`` if not all of them were noted."""
    try:
        noted, number = db.rows(_SINCE, scope, erasures), db.one(_NUMBER, scope, erasures)
    except Corrupt:
        return None
    if len(noted) != number or any(gone_checksum(scope, *row[:-1]) != row[-1] for row in noted):
        return None
    return {key for _, keys, _ in noted for key in from_json(keys)}


def gone_checksum(scope: int, erasure: int, entries: str) -> int:
    """Return the checksum of a row."""
    return crc32(f"{scope} {erasure} {entries}".encode("utf-8", "surrogatepass"))
