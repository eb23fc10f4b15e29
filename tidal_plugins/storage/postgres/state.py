"""The state of the whole store: which vectors are in use, and their size."""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.errors import InvalidVector
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.work import ANY, Statement

_STATE = """
    SELECT t.generation, t.dimensions, (SELECT sum(vectors)::bigint FROM tidal_corpus) FROM tidal_state t
"""
_SHARE = """
    SELECT generation, dimensions FROM tidal_state WHERE (SELECT sum(vectors) FROM tidal_corpus) > 0 FOR SHARE
"""
_KEPT = "state of the vectors"


def vector_size(db: Connections) -> int:
    """Return how many dimensions the vectors of the store have, 0 if there are none."""
    _, dimensions, vectors = db.kept(ANY, _STATE)[0]
    return _size(db, dimensions, vectors)


def sharing(db: Connections, size: int | None) -> list[Statement]:
    """Return the statement whose rows :func:`generation_for` wants before vectors of a size are written."""
    return [] if size is None or _KEPT in db.current.kept else [(_SHARE, ())]


def generation_for(db: Connections, size: int | None, found: Sequence[Sequence[tuple[int, int]]]) -> int:
    """Return the generation in which vectors of a size are to be written, or raise ``InvalidVector``.

    No other generation takes its place before the transaction ends.
    """
    if size is None:
        return 0
    if found and found[0]:
        db.current.kept[_KEPT] = found[0][0]
    elif found:  # there are no vectors yet
        db.rows(ANY, "SELECT 1 FROM tidal_state FOR UPDATE")
        generation, dimensions, vectors = db.rows(ANY, _STATE)[0]  # as it is now that nobody else changes it
        if not _size(db, dimensions, vectors):
            db.later(ANY, ("UPDATE tidal_state SET dimensions = %s", [size]))
            dimensions = size
        db.current.kept[_KEPT] = generation, dimensions
    generation, dimensions = locked_state(db)
    check_size(size, dimensions)
    return generation


def locked_state(db: Connections) -> tuple[int, int]:
    """Return the generation of the vectors and their size, and let no renewal change either before the transaction
    ends."""
    work = db.current
    if _KEPT not in work.kept:
        work.kept[_KEPT] = db.rows(ANY, "SELECT generation, dimensions FROM tidal_state FOR SHARE")[0]
    found: tuple[int, int] = work.kept[_KEPT]
    return found


def check_size(size: int, expected: int) -> None:
    """Raise ``InvalidVector`` for a vector of another size than that of the store's. All vectors have one size."""
    if expected and size != expected:
        raise InvalidVector(f"a vector has {size} dimensions, not {expected} as the store's")


def _size(db: Connections, dimensions: int, vectors: int) -> int:
    added = sum(count[2] for count in db.current.counts.values())
    return dimensions if vectors + added else 0
