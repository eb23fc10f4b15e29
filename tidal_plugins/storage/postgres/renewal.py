"""The vectors of a PostgreSQL database: which are in use, and their size; and how they are renewed: a new generation
gathers beside the one in use, and replaces it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import InvalidInput
from tidal_plugins.storage.base import Outdated, Renewal
from tidal_plugins.storage.checksums import vector_checksum
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.dialect import NUMBERS
from tidal_plugins.storage.postgres.locks import lock_read
from tidal_plugins.storage.postgres.work import ALL, ANY, SHARDS, Statement
from tidal_plugins.storage.values import from_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IN_USE = """
    SELECT t.generation, t.dimensions, (SELECT sum(vectors)::bigint FROM tidal_corpus) FROM tidal_state t
"""
_SHARE = """
    SELECT generation, dimensions FROM tidal_state WHERE (SELECT sum(vectors) FROM tidal_corpus) > 0 FOR SHARE
"""
_KEPT = "state of the vectors"
_STATE = "SELECT generation, new_dimensions FROM tidal_state FOR UPDATE"
_TOTALS = "SELECT sum(renewed)::bigint, sum(vectors)::bigint FROM tidal_corpus"
_SCOPES = f"""
    SELECT v.passage, v.scope, EXISTS (
        SELECT 1 FROM tidal_vectors n WHERE n.scope = v.scope AND n.generation = %s AND n.passage = v.passage
    ) FROM tidal_vectors v WHERE v.generation = %s AND v.passage = {NUMBERS}
"""
_STORE = """
    INSERT INTO tidal_vectors (scope, generation, passage, vector, checksum)
    SELECT u.scope, %s, u.passage, u.vector, u.checksum
    FROM unnest(%s::bigint[], %s::bigint[], %b::bytea[], %s::bigint[]) u (scope, passage, vector, checksum)
    ON CONFLICT (scope, generation, passage) DO UPDATE SET vector = excluded.vector, checksum = excluded.checksum
"""
_MISSING = """
    SELECT p.key, s.path, e.id, p.start, p."end" FROM tidal_vectors v
    JOIN tidal_passages p ON p.scope = v.scope AND p.key = v.passage
    JOIN tidal_entries e ON e.scope = p.scope AND e.key = p.entry JOIN tidal_scopes s ON s.scope = v.scope
    WHERE v.generation = %s AND NOT EXISTS (
        SELECT 1 FROM tidal_vectors n WHERE n.scope = v.scope AND n.generation = %s AND n.passage = v.passage
    ) ORDER BY v.passage LIMIT %s
"""
_DROP_NEW = "DELETE FROM tidal_vectors WHERE generation = %s"
_SWITCH = (
    ("UPDATE tidal_state SET generation = generation + 1, dimensions = new_dimensions, new_dimensions = 0", ()),
    ("UPDATE tidal_corpus SET vectors = renewed, renewed = 0", ()),
    ("DELETE FROM tidal_columns", ()),
)
_REMOVE = """
    WITH old AS (SELECT scope, generation, passage FROM tidal_vectors WHERE generation < %s ORDER BY passage LIMIT %s)
    DELETE FROM tidal_vectors v USING old o
    WHERE v.scope = o.scope AND v.generation = o.generation AND v.passage = o.passage
"""
_LEFT = "SELECT count(*) FROM tidal_vectors WHERE generation < %s"


def vector_size(db: Connections) -> int:
    """Return how many dimensions the vectors of the store have, 0 if there are none."""
    _, dimensions, vectors = db.kept(ANY, _IN_USE)[0]
    return _size(db, dimensions, vectors)


def sharing(db: Connections, size: int | None) -> list[Statement]:
    """Return the statement whose rows :func:`generation_for` wants before vectors of a size are written."""
    return [] if size is None or _KEPT in db.current.kept else [(_SHARE, ())]


def generation_for(db: Connections, size: int | None, found: Sequence[Sequence[tuple[int, int]]]) -> int:
    """Return the generation in which vectors of a size are to be written, or raise ``InvalidInput``.

    No other generation takes its place before the transaction ends.
    """
    if size is None:
        return 0
    if found and found[0]:
        db.current.kept[_KEPT] = found[0][0]
    elif found:  # there are no vectors yet
        db.rows(ANY, "SELECT 1 FROM tidal_state FOR UPDATE")
        generation, dimensions, vectors = db.rows(ANY, _IN_USE)[0]  # as it is now that nobody else changes it
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
    """Raise ``InvalidInput`` for a vector of another size than that of the store's. All vectors have one size."""
    if expected and size != expected:
        raise InvalidInput(f"a vector has {size} dimensions, not {expected} as the store's")


def _size(db: Connections, dimensions: int, vectors: int) -> int:
    added = sum(count[2] for count in db.current.counts.values())
    return dimensions if vectors + added else 0


def renew(db: Connections, units: Mapping[int, NDArray[np.float32]], most: int, anew: bool) -> Renewal:
    """Store new vectors, and put all of them in place once none is missing. Call it inside a transaction."""
    lock_read(db)  # before the state, as every writer takes them
    db.flush()
    [(generation, dimensions)] = db.rows(ALL, _STATE)  # no other renewal, and no vector of a put, until this one ends
    if anew:
        reset = ("UPDATE tidal_state SET new_dimensions = 0", ())
        db.run(ALL, (_DROP_NEW, [generation + 1]), ("UPDATE tidal_corpus SET renewed = 0", ()), reset)
        dimensions = 0
    db.run(ALL, (_REMOVE, [generation, most]))
    _store(db, units, generation, dimensions if _totals(db)[0] else 0)
    done, total = _totals(db)
    if done == total:
        if total:
            db.run(ALL, *_SWITCH)
            db.current.kept.clear()
        return Renewal((), done, total, total)
    rows = db.rows(ALL, _MISSING, generation, generation + 1, most)
    missing = [Outdated(key, tuple(from_json(path)), *span) for key, path, *span in rows]
    return Renewal(missing, done, total, int(db.one(ALL, _LEFT, generation)))


def remove_replaced(db: Connections) -> None:
    """Remove all vectors that were replaced. Call it inside a transaction."""
    [(generation, _)] = db.rows(ALL, _STATE)
    db.run(ALL, ("DELETE FROM tidal_vectors WHERE generation < %s", [generation]))


def _store(db: Connections, units: Mapping[int, NDArray[np.float32]], generation: int, dimensions: int) -> None:
    sizes = {len(unit) for unit in units.values()} | ({dimensions} if dimensions else set())
    if len(sizes) > 1:
        raise InvalidInput(f"new vectors have one size, got {', '.join(map(str, sorted(sizes)))}")
    known = db.rows(ALL, _SCOPES, generation + 1, generation, list(units)) if units else []
    if not known:
        return
    rows: list[tuple[Any, ...]] = []
    for key, scope, _ in known:
        vector = units[key].tobytes()
        rows.append((scope, key, vector, vector_checksum(key, scope, vector)))
    new = Counter(scope % SHARDS for _, scope, stored in known if not stored)
    add = "UPDATE tidal_corpus SET renewed = renewed + %s WHERE shard = %s"
    size = ("UPDATE tidal_state SET new_dimensions = %s", [sizes.pop()])
    store = (_STORE, [generation + 1, *map(list, zip(*rows, strict=True))])
    db.run(ALL, store, *((add, [count, shard]) for shard, count in sorted(new.items())), size)


def _totals(db: Connections) -> tuple[int, int]:
    [(done, total)] = db.rows(ALL, _TOTALS)
    return done, total
