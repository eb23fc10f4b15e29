"""Ways to damage a file: one bit of one value of a table, behind the back of all indexes and triggers, or raw bytes.

The checksums of pages stay what they were, as when a disk does it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import apsw

from tidal_plugins.storage.sqlite.pages import OS

PAGES: Final = "pages"
"""Stands for the raw bytes of the file."""

FLIPS: Final = (1, 8, 40)
"""Bytes that are changed at once, at random places behind the file's header."""
HEADER = 100
"""Bytes of the header of an SQLite file. Damage there is told by SQLite, or it is no database."""
SECTOR = 512
"""Bytes of a disk's sector, which is overwritten with zeros in one of four damages to pages."""


class Damage(NamedTuple):
    """A damage: its table or ``PAGES``, the column, and a seed for what else chance decides."""

    table: str
    column: str
    seed: int

    def __str__(self) -> str:
        return f"{self.table}.{self.column} #{self.seed}" if self.column else f"{self.table} #{self.seed}"


def columns(path: Path) -> list[tuple[str, str]]:
    """Return table and column of every column with a value, SQLite's own tables and those of the index included."""
    connection = apsw.Connection(str(path), vfs=OS)
    try:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'keywords' ORDER BY name"
        tables = [name for (name,) in connection.execute(sql)]
        return [
            (str(table), str(row[1]))
            for table in tables
            for row in connection.execute(f"PRAGMA table_info ({table})").fetchall()
            if connection.execute(f'SELECT count("{row[1]}") FROM {table}').get
        ]
    finally:
        connection.close()


def damages(path: Path, count: int) -> list[Damage]:
    """Return that many damages: of three quarters each column has its share, the rest are of raw bytes."""
    places = columns(path)
    Random(count).shuffle(places)  # a few damages are of many tables, too
    rows = max(count * 3 // 4, 1)
    some = [Damage(*places[number % len(places)], number) for number in range(rows)]
    return some + [Damage(PAGES, "", number) for number in range(count - rows)]


def apply(path: Path, damage: Damage) -> bool:
    """Damage a closed file; return whether SQLite let it happen."""
    dice = Random(f"{damage}")
    if damage.table == PAGES:
        _flip_bytes(path, dice)
        return True
    connection = apsw.Connection(str(path), vfs=OS)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.execute("PRAGMA foreign_keys = OFF")
        _flip_value(connection, damage, dice)
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    finally:
        connection.close()
    return True


def _flip_bytes(path: Path, dice: Random) -> None:
    data = bytearray(path.read_bytes())
    if not dice.randrange(4):
        start = dice.randrange(1, len(data) // SECTOR) * SECTOR
        data[start : start + SECTOR] = bytes(SECTOR)
    else:
        for _ in range(dice.choice(FLIPS)):
            data[dice.randrange(HEADER, len(data))] ^= dice.randrange(1, 256)
    path.write_bytes(data)


def _flip_value(connection: apsw.Connection, damage: Damage, dice: Random) -> None:
    """Flip a bit of a column of a random row."""
    table, column = damage.table, damage.column
    info = connection.execute(f"PRAGMA table_info ({table})").fetchall()
    names = [f'"{row[1]}"' for row in sorted(info, key=lambda row: int(str(row[5]))) if row[5]] or ["rowid"]
    sql = f'SELECT {", ".join(names)}, "{column}" FROM {table} WHERE "{column}" IS NOT NULL ORDER BY {", ".join(names)}'
    *key, value = dice.choice(connection.execute(sql).fetchall())
    new, how = _flipped(value, dice)
    where = " AND ".join(f"{name} IS ?" for name in names)
    connection.execute(f'UPDATE {table} SET "{column}" = {how} WHERE {where}', (new, *key))


def _flipped(value: Any, dice: Random) -> tuple[Any, str]:
    """Return a value with one bit changed, and how SQL writes it."""
    if isinstance(value, int):
        return value ^ (1 << dice.randrange(max(value.bit_length(), 4))), "?"
    if isinstance(value, float):
        return struct.unpack("<d", _one_bit(struct.pack("<d", value), dice))[0], "?"
    if isinstance(value, str):
        return _one_bit(value.encode() or b"\0", dice), "CAST(? AS TEXT)"
    return _one_bit(value or b"\0", dice), "?"


def _one_bit(data: bytes, dice: Random) -> bytes:
    changed = bytearray(data)
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)
