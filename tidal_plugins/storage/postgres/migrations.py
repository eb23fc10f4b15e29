"""Steps from one version of the PostgreSQL schema to the next, each inside the transaction of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg


def _add_secrets(connection: psycopg.Connection[Any]) -> None:
    """5 to 6: an entry says where the secrets in it are. Those that are there were never searched."""
    connection.execute("""
        ALTER TABLE tidal_entries ADD COLUMN secrets text COLLATE "C";
        ALTER TABLE tidal_entries ALTER secrets SET STATISTICS 0
    """)


STEPS: dict[int, Callable[[psycopg.Connection[Any]], None]] = {5: _add_secrets}
"""By the version that a database has, what leads to the next one."""
