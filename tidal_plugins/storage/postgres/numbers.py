"""The numbers of scopes, by which their rows are found and spread over partitions: 63 bits of a hash of the path.

Nothing has to be looked up to know one. The row of a scope holds its path, and a write compares it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.values import to_json


@lru_cache(maxsize=1 << 14)
def number_of(scope: Scope) -> int:
    """Return the number of a scope."""
    return _number(path_of(scope).encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 14)
def path_of(scope: Scope) -> str:
    """Return the path of a scope: a JSON array of its segments."""
    return to_json(list(scope))


@lru_cache(maxsize=1 << 16)
def token_number(token: tuple[str, ...]) -> int:
    """Return the number by which the keyword index knows a word."""
    return _number(" ".join(token).encode("utf-8", "surrogatepass"))


def _number(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1
