"""Steps from one version of the PostgreSQL schema to the next, each inside the transaction of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg

from tidal_plugins.storage.columns.binary import as_stored
from tidal_plugins.storage.damage import vector_checksum


def _add_secrets(connection: psycopg.Connection[Any]) -> None:
    """5 to 6: an entry says where the secrets in it are. Those that are there were never searched."""
    connection.execute("""
        ALTER TABLE tidal_entries ADD COLUMN secrets text COLLATE "C";
        ALTER TABLE tidal_entries ALTER secrets SET STATISTICS 0
    """)


AT_ONCE = 1_000
"""Vectors that are written by one statement."""


def _halve_vectors(connection: psycopg.Connection[Any]) -> None:
    """6 to 7: vectors are halves. Those that are damaged stay so."""
    connection.execute("SET LOCAL tidal.scope = 'all'")
    with connection.cursor("single_vectors") as reading:
        reading.execute("SELECT scope, generation, passage, vector, checksum FROM tidal_vectors")
        while rows := reading.fetchmany(AT_ONCE):
            intact = [row for row in rows if vector_checksum(row[2], row[0], row[3]) == row[4]]
            halves = as_stored([np.frombuffer(row[3], np.float32) for row in intact])
            new = [
                (scope, generation, passage, half, vector_checksum(passage, scope, half))
                for (scope, generation, passage, *_), (half, _) in zip(intact, halves, strict=True)
            ]
            connection.cursor().executemany(
                "UPDATE tidal_vectors SET vector = %s, checksum = %s"
                " WHERE scope = %s AND generation = %s AND passage = %s",
                [(half, sum_, *place) for *place, half, sum_ in new],
            )


STEPS: dict[int, Callable[[psycopg.Connection[Any]], None]] = {5: _add_secrets, 6: _halve_vectors}
"""By the version that a database has, what leads to the next one."""
