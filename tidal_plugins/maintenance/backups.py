"""Backups: a file beside the store with one state of it, verified before it gets its name, and the way back."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import Conflict, Corrupt, InvalidInput, StorageError
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.reports import Backup
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import META, STORE, Storage
from tidal_plugins.storage.capabilities import Backups
from tidal_plugins.storage.open import path_of
from tidal_plugins.storage.shorthands import read_meta, write_meta
from tidal_plugins.storage.sqlite import ReadOnlySQLite, SQLiteStorage
from tidal_plugins.storage.sqlite.copies import WAIT, put_in_place
from tidal_plugins.storage.sqlite.migrations import migrate
from tidal_plugins.storage.sqlite.opening import Key, check_key, checked_path
from tidal_plugins.storage.sqlite.parts import PART, claim, is_same, part_of, remove_part, sync, sync_folder, target_of
from tidal_plugins.storage.sqlite.schema import OlderSchema
from tidal_plugins.validation import check_flag, check_path

BACKUP = "backup"
"""The value of a copy that says of when and of what it is."""

_REMEDY = "memory.check(repair=True) mends what it can, and damaged=True backs up the rest all the same"


def back_up(storage: Storage, path: str | PathLike[str], now: datetime, *, replace: bool, damaged: bool) -> Backup:
    """Copy a store that may be in use to a file, and return what the file holds."""
    check_flag(replace, "replace")
    check_flag(damaged, "damaged")
    if not isinstance(storage, Backups):
        way = "open the memory at a path, or on PostgreSQL back up the database with pg_dump"
        raise InvalidInput(f"{path_of(storage)} has no file to back up; {way}")
    target = target_of(path)
    if is_same(target, path_of(storage)):
        raise InvalidInput(f"{target} is the memory itself; name another file for its backup")
    if not replace and os.path.lexists(target):
        raise Conflict(f"there is a file at {target} already; name another one, or say replace=True")

    def stamp(copy: SQLiteStorage) -> Any:
        return write_meta(copy, BACKUP, {"at": to_micros(now), "source": path_of(storage)})

    part = part_of(target)
    try:
        try:
            storage.copy_to(part, damaged=damaged)
        except Corrupt as error:
            raise Corrupt(f"{path_of(storage)} is damaged and was not copied; {_REMEDY}") from error
        _verified(part, storage.key, stamp, damaged)
        if replace:
            put_in_place(part, target, storage.key)
        else:
            claim(target)
            os.replace(part, target)  # noqa: PTH105
        sync_folder(target)
    finally:
        remove_part(part)
    return read_backup(target, storage.key)


def read_backup(path: str | PathLike[str], key: Key | None = None) -> Backup:
    """Return what a backup holds. Raises ``StorageError`` for a file that is none."""
    file = ReadOnlySQLite(checked_path(path), key=key, older=True)

    def read() -> Backup:
        about = read_meta(file, BACKUP)
        if about is None:
            raise StorageError(f"{file.path} is a memory, but no backup of one: it does not say of when it is")
        rows = file.counted()
        return Backup(file.path, from_micros(about["at"]), about["source"], rows, Path(file.path).stat().st_size)

    return file.while_open(read)


def list_backups(folder: str | PathLike[str], *, key: Key | None = None) -> list[Backup]:
    """List the backups in a folder, the newest first. Other files in it are passed over.

    Each says of which moment it is (``at``) and of which memory (``source``). ``key`` returns the key of encrypted
    backups; backups with another one, or with none, are passed over then. Raises ``InvalidInput`` if there is no such
    folder, and ``StorageError`` if it may not be read, or where SQLite has no ciphers.
    """
    if key is not None:
        check_key(key)
    name = check_path(folder, "the folder of the backups")
    if not os.path.isdir(name):  # noqa: PTH112 (Path.is_dir raises for a name that is too long)
        raise InvalidInput(f"there is no folder {shown(name)} to look for backups in")
    try:
        files = sorted(Path(name).iterdir())
    except OSError as error:
        raise StorageError(f"the folder {shown(name)} cannot be read: {error.strerror}") from error
    found = []
    for path in files:
        if os.path.isfile(path) and path.suffix != PART:  # noqa: PTH113 (Path.is_file may raise)
            with suppress(StorageError, InvalidInput):
                found.append(read_backup(path, key))
    return sorted(found, key=lambda backup: backup.at, reverse=True)


def restore(
    backup: Backup | str | PathLike[str], path: str | PathLike[str], *, key: Key | None = None, replace: bool = False
) -> Backup:
    """Put a backup in the place of a memory, and return what it holds. The backup stays as it is.

    Args:
        backup: a backup, or the path of one.
        path: the file of the memory. It must be closed in every process.
        key: returns the key that the backup was made with. It is the memory's key from then on.
        replace: whether a file that is there may be replaced.

    The copy is verified before it takes the place of anything, and does so at once: a restoring that is interrupted
    leaves the file as it was. A copy of an earlier version's backup is brought up to date first. Raises ``Conflict``
    for a file that is there without ``replace=True``, ``Busy`` for one that is open, ``StorageError`` for a key that
    does not fit, and ``Corrupt`` if the backup is damaged.
    """
    check_flag(replace, "replace")
    known = read_backup(backup.path if isinstance(backup, Backup) else backup, key)
    target = target_of(path)
    if is_same(target, known.path):
        raise InvalidInput(f"{target} is the backup itself; name the file of the memory to put it in the place of")
    if os.path.lexists(target) and not replace:
        raise Conflict(f"there is a file at {target} already; name another one, or say replace=True")
    part = part_of(target)
    try:
        ReadOnlySQLite(known.path, key=key, older=True).copy_to(part)
        _verified(part, key, lambda copy: copy.erase_documents(STORE, META, [BACKUP]), damaged=False)
        put_in_place(part, target, key)
        sync_folder(target)
    except Corrupt as error:
        raise Corrupt(f"the backup {known.path} is damaged, and nothing was restored: take another one") from error
    finally:
        remove_part(part)
    return known


alist_backups = in_thread(list_backups)
arestore = in_thread(restore)


def _verified(path: str, key: Key | None, change: Callable[[SQLiteStorage], Any], damaged: bool) -> None:
    """Bring a copy to this version, change and examine it, and write it to the disk. Raises ``Corrupt`` for one with
    faults."""
    try:
        copy = SQLiteStorage(path, key=key, migrate=False)
    except OlderSchema:  # of a backup, which stays as it is
        migrate(path, key, WAIT, copied=True)
        copy = SQLiteStorage(path, key=key)
    try:
        change(copy)
        faults = copy.examine().faults
    finally:
        copy.close()
    if faults and not damaged:
        raise Corrupt(f"the copy has {len(faults)} faults, such as {faults[0]}, and was not kept; {_REMEDY}")
    sync(path)
