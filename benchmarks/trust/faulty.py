"""A virtual file system whose disk fails on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import apsw

from tidal_plugins.storage.sqlite import pages

NAME = "tidal-faulty"

Operation = Literal["read", "write", "sync", "truncate", "full"]

CODES: Final[dict[Operation, int]] = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
}


@dataclass(slots=True)
class Fault:
    """A fault of an operation: how many go well before it, whether all after it fail, too, and how many have failed.

    ``full`` is a write for which no space is left.
    """

    operation: Operation
    before: int
    lasting: bool
    failed: int = 0

    def strike(self) -> None:
        """Raise SQLite's error if it is time."""
        if self.before:
            self.before -= 1
        elif self.lasting or not self.failed:
            self.failed += 1
            if self.operation == "full":
                raise apsw.FullError("no space is left")
            error = apsw.IOError(f"the disk failed to {self.operation}")
            error.extendedresult = CODES[self.operation]  # type: ignore[attr-defined]
            raise error


class Faulty(apsw.VFS):
    """Passes everything on to the disk but what its fault hits. It is the default of the process from then on,
    and stands below the checksums of pages."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self._real = apsw.vfs_names()[0]
        super().__init__(NAME, self._real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self._real, name, flags, self)

    def strike(self, *operations: Operation) -> None:
        """Fail if it is time for one of the operations to."""
        if self.fault is not None and self.fault.operation in operations:
            self.fault.strike()


class _File(apsw.VFSFile):
    def __init__(self, real: str, name: Any, flags: list[int], disk: Faulty) -> None:
        self._disk = disk
        super().__init__(real, name, flags)

    def excepthook(self, *_: object) -> bool:
        return True  # SQLite has the error already, and goes on without what it could not do

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.strike("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.strike("write", "full")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.strike("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.strike("truncate")
        super().xTruncate(newsize)


@contextmanager
def faulty() -> Iterator[Faulty]:
    """Let every SQLite file that is opened inside stand on a disk that may fail."""
    disk = _disk()
    try:
        yield disk
    finally:
        disk.fault = None


@cache
def _disk() -> Faulty:
    disk = Faulty()
    pages.load()
    return disk
