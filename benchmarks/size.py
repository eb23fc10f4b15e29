"""What each part of a memory takes on disk, in bytes an entry: tables and indexes of a file, or of a database.

    python benchmarks/size.py agent.db
    python benchmarks/size.py postgresql://user@host/db

An entry is what recall finds: a turn of two texts makes three, its episode is the third.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from benchmarks.tables import options, table, wide

LEAST = 1.0
"""Bytes an entry from which on a part has a row of its own."""

_SQLITE = "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name ORDER BY 2 DESC"
_POSTGRES = """
    SELECT regexp_replace(c.relname, '_[0-9]+(_|$)', '\\1') || p.suffix, sum(pg_relation_size(p.oid))
    FROM pg_class c CROSS JOIN LATERAL (
        VALUES (c.oid, ''), (nullif(c.reltoastrelid, 0), ' (long values)')
    ) p (oid, suffix)
    WHERE c.relname LIKE 'tidal%' AND c.relkind IN ('r', 'i') AND p.oid IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("memory", help="a file, or the URL of a database")
    at = parser.parse_args(argv).memory
    rows, entries = postgres(at) if "://" in at else sqlite(at)
    found = table(f"{entries:,} entries, bytes of each", "part", "all", "of it unused")
    small = [row for row in rows if row[1] / entries < LEAST]
    for name, size, unused in [*(row for row in rows if row not in small), ("the rest", *_sum(small))]:
        found.add_row(name, f"{size / entries:.0f}", f"{unused / entries:.0f}")
    found.add_section()
    found.add_row("together", *(f"{number / entries:.0f}" for number in _sum(rows)))
    wide(80).print(found)


def _sum(rows: Sequence[tuple[str, int, int]]) -> tuple[int, int]:
    return sum(size for _, size, _ in rows), sum(unused for *_, unused in rows)


def sqlite(path: str) -> tuple[list[tuple[str, int, int]], int]:
    """Return the parts of a file, and the number of its entries. Nobody else may write to it meanwhile."""
    import apsw

    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(_SQLITE)), int(connection.execute("SELECT count(*) FROM entries").get)
    finally:
        connection.close()


def postgres(url: str) -> tuple[list[tuple[str, int, int]], int]:
    """Return the parts of a database, partitions together, and the number of its entries."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("SET tidal.scope = 'all'")
        rows = [(str(name), int(size), 0) for name, size in connection.execute(_POSTGRES)]
        [counted] = connection.execute("SELECT count(*) FROM tidal_entries")
        return rows, int(counted[0])


if __name__ == "__main__":
    main()
