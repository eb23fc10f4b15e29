"""The identity of an open file: whether the one at its path is still the one that was opened.

A file that is deleted or replaced lives on without a name for those who have it open. They would go on to write into
it, and what they acknowledge would be gone when they close it. The log and its index stand for themselves: without
them other processes make new ones, and the commits of each side are lost to the other.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tidal_plugins.errors import StorageError

_Inode = tuple[int, int] | None


class FileIdentity(NamedTuple):
    """The real path of a file, and its device and inode with those of its log and of the log's index; ``None`` for
    one that is not there."""

    real: str
    file: _Inode
    log: _Inode
    log_index: _Inode

    @classmethod
    def of(cls, path: str) -> FileIdentity:
        """Return what is at a path now."""
        real = os.path.realpath(path)  # the log stands beside the file itself, not beside a link to it
        return cls(real, _inode(real), _inode(f"{real}-wal"), _inode(f"{real}-shm"))

    def check(self, path: str) -> None:
        """Raise ``StorageError`` if the files at a path are not these."""
        self.check_file(path)
        for inode, part in ((self.log, f"{self.real}-wal"), (self.log_index, f"{self.real}-shm")):
            if _inode(part) != inode:
                raise _replaced(part)

    def check_file(self, path: str) -> None:
        """Raise ``StorageError`` if the file at a path is not this one, whatever its log is."""
        if _inode(path) != self.file:
            raise _replaced(path)


def _inode(path: str) -> _Inode:
    try:
        found = os.stat(path)  # noqa: PTH116 (at every transaction, so cheaply)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _replaced(path: str) -> StorageError:
    return StorageError(
        f"{path} was {'replaced' if _inode(path) else 'deleted or moved'} while it was open: nothing more is read or "
        "written. Close the memory in every process, put the file in order, and open it again"
    )
