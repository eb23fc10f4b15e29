"""Checksums: every stored row has one over all of its columns and the scope that it belongs to.

They tell damage, not forgery: whoever can write the file can also compute them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from tidal_plugins.model.entry import Scope

SIZE = 8
"""Bytes of a row's checksum: one damaged row in 1.8e19 has the right one by chance."""

REMEMBERED = 16_384
"""Rows that were verified lately and need not be again: a recall reads a few hundred small rows, mostly the same ones
as the recall before. Computing a checksum takes 6 µs, remembering it 0.4 µs (measured)."""

NO_VECTOR = -1
"""The checksum of a vector that is none by damage: no row was written with it."""

_encode = json.JSONEncoder(default=repr).encode  # once: ``json.dumps`` makes an encoder at every such call


def checksum(scope: Scope, *columns: object) -> bytes:
    """Return the checksum of a row of a scope. Damaged values of any type have one too."""
    return blake2b(_encode([*scope, *columns]).encode(), digest_size=SIZE).digest()


@lru_cache(maxsize=REMEMBERED)
def is_intact(scope: Scope, row: tuple[object, ...]) -> bool:
    """Return whether a small row, whose last column is its checksum, is as it was written."""
    return checksum(scope, *row[:-1]) == row[-1]


def passage_checksum(scope: int, key: int, entry: str, start: int, end: int, words: int) -> int:
    """Return the checksum of a row of the passages, with the id of its entry: 32 bits, as that of a vector."""
    return crc32(f"{scope} {key} {start} {end} {words} {entry}".encode("utf-8", "surrogatepass"))


def vector_checksum(passage: int, scope: int, vector: bytes) -> int:
    """Return the checksum of a row of the vectors: 32 bits, since a first search verifies thousands of long rows.

    Damaged values of any type have one too.
    """
    if not isinstance(vector, bytes):
        return NO_VECTOR
    return crc32(vector, crc32(f"{passage} {scope} ".encode("utf-8", "surrogatepass")))
