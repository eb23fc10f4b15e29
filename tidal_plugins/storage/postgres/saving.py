"""Columns that are saved in the database, piece by piece, so that a process need not read every row when it first
searches. What they hold, and when they are dropped, is as in the SQLite engine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.columns.packing import Piece, centre_of, packed, unpacked, unsaved
from tidal_plugins.storage.columns.source import Mark
from tidal_plugins.storage.postgres.base import figures
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.renewal import locked_state

if TYPE_CHECKING:
    from tidal_plugins.storage.columns.arrays import Arrays

GENERATIONS = 1 << 40

AT_ONCE = 8
"""Pieces that are read at a time, some 10 MB: a large scope should not be in memory twice."""

_PIECES = """
    SELECT first, last, changes, centre, checksum, columns FROM tidal_columns
    WHERE scope = %s AND first > %s ORDER BY first LIMIT %s
"""
_CHANGED = "SELECT key FROM tidal_entries WHERE scope = %s AND changed > %s ORDER BY key"
_NEWER = "SELECT 1 FROM tidal_columns WHERE scope = %s AND first <= %s AND last >= %s AND changes >= %s LIMIT 1"
_DROP = "DELETE FROM tidal_columns WHERE scope = %s AND first <= %s AND last >= %s"
_DROP_DAMAGED = "DELETE FROM tidal_columns WHERE scope = %s AND first = %s AND checksum = %s"
_ADD = """
    INSERT INTO tidal_columns (scope, first, last, changes, centre, columns, checksum)
    VALUES (%s, %s, %s, %s, %s, %b, %s)
"""
_MARK = "UPDATE tidal_columns SET changes = %s, checksum = %s WHERE scope = %s AND first = %s AND checksum = %s"

_LOW = (1 << 32) - 1

logger = logging.getLogger(__name__)


class Saved(NamedTuple):
    """A piece: the first and the last key of its entries, and the change as of which they are."""

    first: int
    last: int
    changes: int
    centre: int
    checksum: int
    """Of the columns in its lower 32 bits, of the numbers above in the others."""

    def holds(self, scope: int, columns: bytes) -> bool:
        """Return whether the piece is as it was written."""
        return checksum_of(scope, *self[:-1], sum_of(columns)) == self.checksum

    def marked(self, scope: int, changes: int) -> int:
        """Return the checksum of this piece as of another change."""
        return checksum_of(scope, self.first, self.last, changes, self.centre, self.checksum & _LOW)


def saved_pieces(db: Connections, scope: Scope) -> Iterator[tuple[tuple[int, int], int, Piece]]:
    """Yield the saved pieces of a scope by their keys, without the damaged ones."""
    for saved, piece in _pieces(db, scope):
        if piece is None:
            logger.error("saved columns are damaged: they are read from the entries instead")
        else:
            yield (saved.first, saved.last), saved.changes, piece


def save(db: Connections, scope: Scope, arrays: Arrays, mark: Mark) -> None:
    """Save columns as they were at a mark: the pieces that changed since they were saved, new full ones, and those that
    are damaged."""
    number = number_of(scope)
    with db.snapshot():
        found = [(saved, piece is not None) for saved, piece in _pieces(db, scope)]
        rows = [saved for saved, intact in found if intact]
        oldest = min((row.changes for row in rows), default=0)
        changed = [key for (key,) in db.rows(scope, _CHANGED, number, oldest)] if rows else []
    if damaged := [saved for saved, intact in found if not intact]:
        with db.transaction():
            db.run(scope, *((_DROP_DAMAGED, [number, each.first, each.checksum]) for each in damaged))
    kept, pieces = unsaved(arrays, rows, changed)
    for first, end in pieces:
        data = packed(arrays, first, end)
        keys = int(arrays.key[first]), int(arrays.key[end - 1])
        with db.transaction():
            if not _is_current(db, scope, mark):
                return
            if not db.rows(scope, _NEWER, number, keys[1], keys[0], mark.changes):
                place = (number, *keys, mark.changes, centre_of(arrays))
                added = [*place, data, checksum_of(*place, sum_of(data))]
                db.run(scope, (_DROP, [number, keys[1], keys[0]]), (_ADD, added))
    with db.transaction():
        if kept and _is_current(db, scope, mark):
            marked = ((row, row.marked(number, mark.changes)) for row in kept)
            db.run(scope, *((_MARK, [mark.changes, sum_, number, row.first, row.checksum]) for row, sum_ in marked))


def sum_of(columns: bytes) -> int:
    """Return the checksum of the columns of a piece."""
    return crc32(columns)


def checksum_of(scope: int, first: int, last: int, changes: int, centre: int, columns: int) -> int:
    """Return the checksum of a piece, of whose columns the checksum is given."""
    return crc32(f"{scope} {first} {last} {changes} {centre}".encode()) >> 1 << 32 | columns


def _pieces(db: Connections, scope: Scope) -> Iterator[tuple[Saved, Piece | None]]:
    """Yield what is saved of a scope by its keys, each with its piece; ``None`` for one that is damaged."""
    after = -1
    while rows := db.rows(scope, _PIECES, number_of(scope), after, AT_ONCE):
        for *row, columns in rows:
            saved = Saved(*row)
            after = saved.first
            yield saved, unpacked(columns) if saved.holds(number_of(scope), columns) else None
        if len(rows) < AT_ONCE:
            return


def _is_current(db: Connections, scope: Scope, mark: Mark) -> bool:
    """Return whether columns are those of the entries and vectors in use, which stay so until the transaction ends."""
    db.lock(scope)
    locked_state(db)
    found = figures(db, scope)
    return mark.erasures == found.generation * GENERATIONS + found.erasures
