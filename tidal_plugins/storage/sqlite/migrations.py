"""Bring a file of an earlier schema to that of this version, in one transaction and after a copy of the file.

A step leads from one version of the schema to the next. All that a file lacks run in one transaction, which ends with
the schema compared: a process that is killed meanwhile, and a disk that is full, leave the file as it was. No other
process may have the file open, since it would go on by the schema of before.
"""

from __future__ import annotations

import filecmp
import itertools
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np

from tidal_plugins.errors import Busy, Conflict, Corrupt, StorageError
from tidal_plugins.storage.columns.binary import as_stored
from tidal_plugins.storage.damage import vector_checksum
from tidal_plugins.storage.sqlite.locks import FILE_LOCKS
from tidal_plugins.storage.sqlite.log_mark import SCHEMA_BITS, settle, take_back
from tidal_plugins.storage.sqlite.opening import Key, begin, check_writable, is_damaged, translated, unlock, vfs
from tidal_plugins.storage.sqlite.parts import claim, part_of, remove_part, sync, sync_folder
from tidal_plugins.storage.sqlite.schema import STATEMENTS, VERSION, altered, made, vectors_table, version_of

logger = logging.getLogger(__name__)


def migrate(path: str, key: Key | None, busy_timeout: float, *, copied: bool = False) -> None:
    """Bring a file to this version, unless another process just did. Raises ``StorageError``; the file stays as it was
    then. One that is itself ``copied`` is not copied."""
    with FILE_LOCKS.reading(path, busy_timeout), translated(path):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs(key))
        try:
            connection.set_busy_timeout(int(busy_timeout * 1000))
            if key is not None:
                unlock(connection, key)
            check_writable(connection, path)
            settle(connection, path)
            take_back(connection)  # the log goes now
            connection.execute("PRAGMA secure_delete = ON; PRAGMA foreign_keys = OFF").fetchall()
            _take_alone(connection, path, busy_timeout)
            found = version_of(connection)
            if found != VERSION:
                if not copied:
                    copy = _copy(path, found, key)
                    logger.warning("%s goes from schema %d to %d; as it was it is at %s", path, found, VERSION, copy)
                _take_steps(connection, path, found)
            connection.execute("COMMIT")
        finally:
            connection.close(True)  # which rolls back what is not committed


def _take_alone(connection: apsw.Connection, path: str, seconds: float) -> None:
    """Leave WAL, which needs the file for itself, and begin to write. SQLite does not wait for the first."""
    end = time.monotonic() + seconds
    while True:
        try:
            connection.pragma("journal_mode", "delete")
            connection.execute("BEGIN IMMEDIATE")
            if connection.pragma("journal_mode") == "delete":
                return
            connection.execute("ROLLBACK")  # another process opened the file in between, and has it in WAL again
        except apsw.BusyError as error:
            if time.monotonic() > end:
                raise Busy(
                    f"{path} is of an earlier version, and another process has it open: it can be brought up to date "
                    "once that one has ended"
                ) from error
            time.sleep(0.05)


def _take_steps(connection: apsw.Connection, path: str, found: int) -> None:
    for version in range(found, VERSION):
        STEPS[version](connection)
        logger.info("%s: schema %d of %d", path, version + 1, VERSION)
    wrong = altered(dict(connection.execute(STATEMENTS)))
    if wrong or connection.execute("PRAGMA foreign_key_check").fetchone():
        raise StorageError(
            f"{path} could not be brought to schema {VERSION} and stays as it was: {wrong or 'its keys'}"
        )
    connection.pragma("user_version", connection.pragma("user_version") & ~SCHEMA_BITS | VERSION)


def _copy(path: str, version: int, key: Key | None) -> str:
    """Copy a file that is locked for writing, and return the name of the copy."""
    part = part_of(path)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))  # nobody may read it who may not read the file
        Path(part).chmod(Path(path).stat().st_mode & 0o777)
        _copy_pages(path, part, key)
        sync(part)
        for number in itertools.count(1):
            target = f"{path}.schema-{version}" + (f".{number}" if number > 1 else "")
            try:
                claim(target)
            except Conflict:  # of an earlier attempt, which did not end, or of a copy that was restored
                if filecmp.cmp(part, target, shallow=False):  # attempts that fail again and again do not fill the disk
                    return target
                continue
            os.replace(part, target)  # noqa: PTH105
            sync_folder(target)
            return target
    finally:
        remove_part(part)
    raise AssertionError


def _copy_pages(path: str, part: str, key: Key | None) -> None:
    source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs(key))
    target = apsw.Connection(part, vfs=vfs(key))
    try:
        if key is not None:
            unlock(source, key)
            unlock(target, key)
        begin(target)
        try:
            with target.backup("main", source, "main") as copying:
                copying.step(-1)
            faults = [row[0] for row in target.execute("PRAGMA quick_check(1)")]
        except apsw.Error as error:
            if not is_damaged(error):
                raise
            faults = ["a page of it fails its checksum"]
        if faults != ["ok"]:
            raise Corrupt(
                f"{path} is damaged and was left as it is ({faults[0]}); repair it by the version that wrote it, or "
                "restore it from a backup"
            )
    finally:
        source.close()
        target.close()


def _remake(connection: apsw.Connection, table: str) -> None:
    """Give a table the shape of today. It keeps the columns that both shapes have; the others have their defaults."""
    new = f"new_{table}"
    (create,), *belonging = made(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql NOT NULL ORDER BY rowid", table
    )
    connection.execute(create.replace(table, new, 1))
    columns = [{row[1]: None for row in connection.execute(f"PRAGMA table_info ({name})")} for name in (table, new)]
    shared = ", ".join(f'"{name}"' for name in columns[1] if name in columns[0])
    connection.execute(f"INSERT INTO {new} ({shared}) SELECT {shared} FROM {table}")
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    connection.execute(f"DROP TABLE {table}; ALTER TABLE {new} RENAME TO {table}")
    if last:  # the keys of rows that are gone are not given again
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", [*last, table])
    for (sql,) in belonging:
        connection.execute(sql)


def _add_secrets(connection: apsw.Connection) -> None:
    """10 to 11: an entry says where the secrets in it are. Those that are there were never searched."""
    _remake(connection, "entries")


def _halve_vectors(connection: apsw.Connection) -> None:
    """11 to 12: vectors are halves, with their signs beside them. Those that are damaged are left out."""
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'signs'").fetchone():
        return
    # A renewal that is under way begins anew.
    connection.execute("DROP TABLE IF EXISTS new_vectors; DROP TABLE IF EXISTS old_vectors")
    connection.execute(f"ALTER TABLE vectors RENAME TO single_vectors; {vectors_table('vectors')}")
    rows = connection.execute("SELECT passage, scope, vector, checksum FROM single_vectors")
    for passage, scope, vector, stored in rows:
        if vector_checksum(passage, scope, vector) == stored:
            [(half, signs)] = as_stored([np.frombuffer(vector, np.float32)])
            row = (passage, scope, half, vector_checksum(passage, scope, half))
            connection.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", row)
            connection.execute("INSERT INTO signs VALUES (?, ?, ?)", (passage, scope, signs))
    connection.execute("DROP TABLE single_vectors")


STEPS: dict[int, Callable[[apsw.Connection], None]] = {10: _add_secrets, 11: _halve_vectors}
"""By the version that a file has, what leads to the next one. A step that finds a table as a later version has it
leaves it so. Foreign keys are checked at the end."""
