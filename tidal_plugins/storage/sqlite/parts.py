"""Files that are written aside, and get their name once they are whole."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from os import PathLike
from pathlib import Path

from tidal_plugins.errors import Conflict, InvalidInput
from tidal_plugins.storage.sqlite.opening import checked_path

BESIDE = ("-wal", "-shm", "-journal")
"""The endings of the files that SQLite keeps beside a file."""

PART = ".part"
"""The ending of a copy that is not whole yet. One that is left over may be deleted."""


def target_of(path: str | PathLike[str]) -> str:
    """Return where a file goes, behind links. Raises ``InvalidInput`` for a place that no copy may take."""
    target = os.path.realpath(checked_path(path))
    if os.path.lexists(target) and not os.path.isfile(target):  # noqa: PTH113 (Path.is_file may raise)
        raise InvalidInput(f"{target} is a device, a pipe or a link to itself; name a file")
    for ending in BESIDE:
        owner = target.removesuffix(ending)
        if owner != target and os.path.lexists(owner):
            raise InvalidInput(f"{target} belongs to {owner}, which may lose its last writes; name another file")
    return target


def is_same(target: str, path: str) -> bool:
    """Return whether two paths lead to one file, by links of any kind."""
    return os.path.lexists(target) and os.path.lexists(path) and os.path.samefile(target, path)  # noqa: PTH121


def claim(target: str) -> None:
    """Take a name that is free. Raises ``Conflict`` if somebody was quicker."""
    try:
        Path(target).touch(exist_ok=False)
    except FileExistsError as error:
        raise Conflict(f"there is a file at {target} already; name another one, or say replace=True") from error


def part_of(target: str) -> str:
    return f"{target}.{secrets.token_hex(4)}{PART}"


def remove_part(part: str) -> None:
    for ending in ("", *BESIDE):
        if os.path.lexists(part + ending):  # false for a name that is too long
            Path(part + ending).unlink(missing_ok=True)


def sync(path: str, flags: int = os.O_RDWR) -> None:
    """Write a file to the disk. Windows does so only for one that is open for writing."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: str) -> None:
    with suppress(OSError):  # not every system lets a folder be opened
        sync(str(Path(path).parent), os.O_RDONLY)
