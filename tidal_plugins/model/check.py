"""The report of a check of a store, and the description of a backup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

WORDS = {
    "scopes": ("scope", "scopes"),
    "entries": ("entry", "entries"),
    "passages": ("passage", "passages"),
    "vectors": ("vector", "vectors"),
    "links": ("link", "links"),
    "log": ("line of a log", "lines of logs"),
    "documents": ("document", "documents"),
    "earlier_documents": ("earlier version of a document", "earlier versions of documents"),
    "volumes": ("count of a kind", "counts of kinds"),
    "gone": ("note of what went", "notes of what went"),
    "saved_columns": ("saved piece of columns", "saved pieces of columns"),
    "keywords": ("keyword index", "keyword index"),
    "wal": ("log of the file", "log of the file"),
}
"""What reports call a row of a table, and several. Other places are called by their names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a check found.

    Attributes:
        table: where it is: a table such as ``entries`` or ``links``, or ``pages``, ``schema``, ``keywords``,
            ``counts``, ``embedder``, ``wal``.
        name: the name of the row, such as the id of an entry or of a link; empty for a fault of the whole table.
        problem: the fault in words.
        repairable: whether ``check(repair=True)`` can rebuild it from what is intact. The rest is lost.
        repaired: whether this check has done so.
    """

    table: str
    name: str
    problem: str
    repairable: bool = False
    repaired: bool = False

    def __str__(self) -> str:
        state = "repaired" if self.repaired else "can be repaired" if self.repairable else "lost"
        one, several = WORDS.get(self.table, (self.table, self.table))
        return f"{f'{one} {self.name}' if self.name else several}: {self.problem} ({state})"


@dataclass(frozen=True, slots=True)
class Check:
    """The report of ``memory.check()``.

    Attributes:
        rows: how many rows each table has.
        faults: what is wrong, without what was repaired by this very check.
        repaired: what this check has repaired.
        waiting: how many scopes have work in the queue.
        log_bytes: the size of the file's write-ahead log, 0 for an engine without one.
        embedder: the id of the embedder that the vectors are from, if the store has any.
    """

    rows: Mapping[str, int]
    faults: tuple[Fault, ...] = ()
    repaired: tuple[Fault, ...] = ()
    waiting: int = 0
    log_bytes: int = 0
    embedder: str | None = None

    @property
    def ok(self) -> bool:
        """Return whether there is no fault left."""
        return not self.faults

    @property
    def lost(self) -> tuple[Fault, ...]:
        """Return the faults that no repair can mend: only a backup has what was there."""
        return tuple(fault for fault in self.faults if not fault.repairable)

    def __str__(self) -> str:
        found = [str(fault) for fault in (*self.repaired, *self.faults)]
        words = {table: WORDS.get(table, (table, table)) for table in self.rows}
        rows = ", ".join(f"{number:,} {words[table][number != 1]}" for table, number in self.rows.items())
        faults = "1 fault" if len(self.faults) == 1 else f"{len(self.faults) or 'no'} faults"
        return "\n".join([f"{faults} in {rows}", *found])


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a store: the file, the time of the state that it holds, and the path that it was made of.

    ``rows`` are the rows of each table, ``size`` is in bytes.
    """

    path: str
    at: datetime
    source: str
    rows: Mapping[str, int]
    size: int
