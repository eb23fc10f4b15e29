"""The state of the whole store: which vectors are in use, and their size."""

from __future__ import annotations

from tidal_plugins.errors import InvalidVector
from tidal_plugins.storage.postgres.connections import ALL, Connections

_STATE = """
    SELECT t.generation, t.dimensions, (SELECT sum(vectors)::bigint FROM tidal_corpus) FROM tidal_state t
"""
_KEPT = "state of the vectors"


def vector_size(db: Connections) -> int:
    """Return how many dimensions the vectors of the store have, 0 if there are none."""
    _, dimensions, vectors = db.kept(ALL, _STATE)[0]
    return _size(db, dimensions, vectors)


def writable_size(db: Connections, size: int | None) -> int:
    """Return the generation in which vectors of a size are to be written, or raise ``InvalidVector``.

    No other generation takes its place before the transaction ends.
    """
    if size is None:
        return 0
    _, dimensions, vectors = db.rows(ALL, _STATE)[0]
    if not _size(db, dimensions, vectors):
        db.rows(ALL, "SELECT 1 FROM tidal_state FOR UPDATE")
        generation, dimensions, vectors = db.rows(ALL, _STATE)[0]  # as it is now that nobody else changes it
        if not _size(db, dimensions, vectors):
            db.run(ALL, ("UPDATE tidal_state SET dimensions = %s", [size]))
            return int(generation)
    generation, dimensions = locked_state(db)
    check_size(size, dimensions)
    return generation


def locked_state(db: Connections) -> tuple[int, int]:
    """Return the generation of the vectors and their size, and let no renewal change either before the transaction
    ends."""
    work = db.current
    if _KEPT not in work.kept:
        work.kept[_KEPT] = db.rows(ALL, "SELECT generation, dimensions FROM tidal_state FOR SHARE")[0]
    found: tuple[int, int] = work.kept[_KEPT]
    return found


def check_size(size: int, expected: int) -> None:
    """Raise ``InvalidVector`` for a vector of another size than that of the store's. All vectors have one size."""
    if expected and size != expected:
        raise InvalidVector(f"a vector has {size} dimensions, not {expected} as the store's")


def _size(db: Connections, dimensions: int, vectors: int) -> int:
    added = sum(count[2] for count in db.current.counts.values())
    return dimensions if vectors + added else 0
