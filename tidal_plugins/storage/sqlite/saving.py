"""Columns that are saved in the file, piece by piece, so that a process need not read every row when it first searches.

A piece holds the entries of a range of keys, as they were at some change. A reader reads as rows what changed since,
and what no piece holds. A piece is deleted in the transaction in which one of its entries goes or is replaced. So the
file holds nothing of what was forgotten, and a piece that is lost or damaged costs no more than time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tidal_plugins.errors import Corrupt
from tidal_plugins.storage.columns.packing import Piece, centre_of, packed, unpacked, unsaved
from tidal_plugins.storage.columns.source import Mark
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    from tidal_plugins.storage.columns.arrays import Arrays

SAVED = "SELECT key, scope, first, last, changes, centre, checksum FROM saved_columns"
"""SQL for what is said of saved pieces, the columns of :class:`Saved`."""

_OF_SCOPE = f"{SAVED} WHERE scope = ? ORDER BY first"
_PIECE = "SELECT columns, checksum FROM saved_pieces WHERE key = ?"
_CHANGED = "SELECT key FROM entries INDEXED BY entries_by_change WHERE scope = ? AND changed > ? ORDER BY key"
_ERASURES = "SELECT erasures FROM scopes WHERE key = ?"
_NEWER = "SELECT EXISTS (SELECT 1 FROM saved_columns WHERE scope = ? AND first <= ? AND last >= ? AND changes >= ?)"
_DROP = "DELETE FROM saved_columns WHERE scope = ? AND first <= ? AND last >= ?"
_ADD = """
    INSERT INTO saved_columns (scope, first, last, changes, centre, checksum) VALUES (?, ?, ?, ?, ?, 0) RETURNING key
"""
_ADD_PIECE = "INSERT INTO saved_pieces VALUES (?, ?, ?)"
_MARK = "UPDATE saved_columns SET changes = ?, checksum = ? WHERE key = ?"
_WITH = """
    DELETE FROM saved_columns WHERE key IN (
        SELECT s.key FROM json_each(?) j CROSS JOIN saved_columns s
        ON s.scope = ? AND s.first <= j.value AND s.last >= j.value
    )
"""

WAIT = 1.0
"""Seconds for which saving waits for another one that writes, before it is left for another time. Closing a memory
waits for it, so it must not wait as long as a write does."""

logger = logging.getLogger(__name__)


class Saved(NamedTuple):
    """A row about a saved piece: the first and the last key of its entries, and the change as of which they are."""

    key: int
    scope: int
    first: int
    last: int
    changes: int
    centre: int
    checksum: int

    @property
    def intact(self) -> bool:
        """Return whether the row is as it was written."""
        return saved_checksum(*self[:-1]) == self.checksum


def saved_pieces(db: Connections, scope: int) -> Iterator[tuple[Saved, Piece]]:
    """Yield the saved pieces of a scope by their keys, without the damaged ones."""
    for row in db.all_readable("saved_columns", _OF_SCOPE, scope):
        saved = Saved(*row)
        found = piece_of(db, saved)
        piece = None if found is None else unpacked(found)
        if piece is not None:
            yield saved, piece


def piece_of(db: Connections, saved: Saved) -> bytes | None:
    """Return the bytes of a saved piece, or ``None`` if they are damaged or not there."""
    with suppress(Corrupt):  # no more than time is lost
        for columns, sum_ in db.rows(_PIECE, saved.key) if saved.intact else ():
            if isinstance(columns, bytes) and crc32(columns, saved.key) == sum_:
                return columns
    logger.error("saved columns are damaged: they are read from the entries instead")
    return None


def drop_pieces(db: Connections, scope: int, entries: Sequence[int]) -> None:
    """Delete the saved pieces that hold any of some entries, by key."""
    db.run(_WITH, to_json(list(entries)), scope)


def save(db: Connections, scope: int, arrays: Arrays, mark: Mark) -> None:
    """Save the columns of a scope as they were at a mark: the pieces that are missing or have changed.

    Each piece is one transaction. If entries have gone meanwhile, nothing more is saved. Another process may do the
    same at the same time: the newer piece stays. Raises ``Busy`` if others write for long.
    """
    with db.snapshot():
        found = [Saved(*row) for row in db.rows(_OF_SCOPE, scope)]
        unusable = [saved.key for saved in found if (data := piece_of(db, saved)) is None or unpacked(data) is None]
        rows = [saved for saved in found if saved.key not in unusable]
        oldest = min((row.changes for row in rows), default=mark.changes)
        changed = [key for (key,) in db.rows(_CHANGED, scope, oldest)] if rows else []
    if unusable:
        with db.transaction(WAIT):
            db.run_each("DELETE FROM saved_columns WHERE key = ?", [(key,) for key in unusable])
    kept, pieces = unsaved(arrays, rows, changed)
    for first, end in pieces:
        data = packed(arrays, first, end)
        with db.transaction(WAIT):
            if db.one(_ERASURES, scope) != mark.erasures:
                return
            keys = int(arrays.key[first]), int(arrays.key[end - 1])
            _store(db, (scope, *keys, mark.changes, centre_of(arrays)), data)
    with db.transaction(WAIT):
        for row in kept:
            if row in (Saved(*now) for now in db.rows(f"{SAVED} WHERE key = ?", row.key)):
                marked = saved_checksum(*row[:4], mark.changes, row.centre)
                db.run(_MARK, mark.changes, marked, row.key)


def saved_checksum(key: int, scope: int, first: int, last: int, changes: int, centre: int) -> int:
    """Return the checksum of a row about a piece."""
    return crc32(f"{key} {scope} {first} {last} {changes} {centre}".encode("utf-8", "surrogatepass"))


def _store(db: Connections, row: tuple[int, int, int, int, int], data: bytes) -> None:
    scope, first, last, changes, _ = row
    if db.one(_NEWER, scope, last, first, changes):
        return
    db.run(_DROP, scope, last, first)
    key = int(db.one(_ADD, *row))
    db.run(_MARK, changes, saved_checksum(key, *row), key)
    db.run(_ADD_PIECE, key, data, crc32(data, key))
