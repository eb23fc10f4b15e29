"""The renewal of vectors in an SQLite file: new ones gather in a table of their own, which then replaces the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidInput
from tidal_plugins.storage.base import Outdated, Renewal
from tidal_plugins.storage.checksums import vector_checksum
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.sqlite.schema import vectors_table
from tidal_plugins.storage.sqlite.scopes import mend_rows
from tidal_plugins.storage.values import from_json, to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STORE = "INSERT OR REPLACE INTO new_vectors VALUES (?, ?, ?, ?)"
_SCOPES = "SELECT passage, scope FROM vectors WHERE passage IN (SELECT value FROM json_each(?))"
_COUNT = "SELECT (SELECT count(*) FROM new_vectors), (SELECT count(*) FROM vectors)"
_SIZE = "SELECT length(vector) FROM new_vectors LIMIT 1"
_LAST = "SELECT coalesce(max(passage), 0) FROM new_vectors"
_MISSING = """
    SELECT p.key, s.path, e.id, p.start, p."end" FROM vectors v
    CROSS JOIN passages p ON p.key = v.passage CROSS JOIN entries e ON e.key = p.entry
    CROSS JOIN scopes s ON s.key = v.scope
    WHERE v.passage > ? AND NOT EXISTS (SELECT 1 FROM new_vectors n WHERE n.passage = v.passage)
    ORDER BY v.passage LIMIT ?
"""
# To drop the old table would hold up writers for as long as SQLite overwrites it: it is emptied bit by bit later.
_SWITCH = """
    DROP TABLE IF EXISTS old_vectors;
    ALTER TABLE vectors RENAME TO old_vectors;
    ALTER TABLE new_vectors RENAME TO vectors;
    DELETE FROM saved_columns;
    UPDATE scopes SET erasures = ifnull(erasures, 0) + 1;
"""
_REPLACED = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'old_vectors')"
_REMOVE = "DELETE FROM old_vectors WHERE passage IN (SELECT passage FROM old_vectors ORDER BY passage LIMIT ?)"


def renew(db: Connections, vectors: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
    """Store new vectors, and put all of them in place once none is missing. Call it inside a transaction."""
    units = {key: vector.tobytes() for key, vector in vectors.items()}
    if anew:
        db.run("DROP TABLE IF EXISTS new_vectors")
        mend_rows(db)  # a vector whose scope is not found would be missing for ever
    db.run(vectors_table("new_vectors"))
    replaced = _removed(db, most)
    sizes = {len(unit) for unit in units.values()} | {db.one(_SIZE)} - {None}
    if len(sizes) > 1:
        raise InvalidInput(f"new vectors have one size, got {', '.join(str(size // 4) for size in sorted(sizes))}")
    known = db.rows(_SCOPES, to_json(list(units)))
    stored = [(key, scope, units[key], vector_checksum(key, scope, units[key])) for key, scope in known]
    db.run_each(_STORE, stored)
    [(done, total)] = db.rows(_COUNT)  # there is no new vector but of a passage that has one
    if done == total:
        db.run(_SWITCH)
        return Renewal((), done, total, total)
    # They are renewed in the order of their keys: only what was stored in another order lies further back.
    rows = db.rows(_MISSING, db.one(_LAST), most) or db.rows(_MISSING, 0, most)
    return Renewal([Outdated(key, tuple(from_json(path)), *span) for key, path, *span in rows], done, total, replaced)


def _removed(db: Connections, most: int) -> int:
    """Remove vectors that were replaced; return how many are left."""
    if not db.one(_REPLACED):
        return 0
    db.run(_REMOVE, most)
    left = int(db.one("SELECT count(*) FROM old_vectors"))
    if not left:
        db.run("DROP TABLE old_vectors")
    return left
