"""The examination of an SQL store, as far as it is of rows: whether each is as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.check import Fault
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checksums import checksum
from tidal_plugins.storage.damage import UNKNOWN
from tidal_plugins.storage.documents import META
from tidal_plugins.storage.rows import COLUMNS, LINK_COLUMNS, Row, check_link_row, from_row
from tidal_plugins.storage.sql.documents import COPIES

TABLES = ("scopes", "entries", "passages", "vectors", "links", "log", "documents", "earlier_documents")

BROKEN = "its checksum fails"

_NO_SCOPE = (UNKNOWN, UNKNOWN)
"""Stands for a scope that is damaged or not there: no row is of it."""


class Checked(NamedTuple):
    """The columns of a table that are read, after the number of the scope: first the name of a row. ``check`` raises
    ``Corrupt`` unless a row is as it was written in a scope."""

    columns: str
    check: Callable[[Row, Scope], object]


def _check_sum(row: Row, scope: Scope) -> None:
    if checksum(scope, *row[1:-1]) != row[-1]:
        raise Corrupt(BROKEN)


_DOCUMENT = Checked("collection || '/' || key, collection, key, value, version, checksum", _check_sum)
CHECKED = {
    "entries": Checked(", ".join(COLUMNS), from_row),
    "links": Checked(", ".join(LINK_COLUMNS), check_link_row),
    "log": Checked("name || ' ' || seq, seq, name, key, at, value, checksum", _check_sum),
    "documents": _DOCUMENT,
    "earlier_documents": _DOCUMENT,
}


def row_faults(table: str, rows: Iterable[Row], scopes: Mapping[int, Scope]) -> Iterator[Fault]:
    """Yield a fault for each row of a table in ``CHECKED`` that is not intact."""
    for number, *row in rows:
        try:
            CHECKED[table].check(row, scopes.get(number, _NO_SCOPE))
        except Corrupt:
            name = str(row[0])
            about_store = name.startswith((f"{COPIES}/", f"{META}/"))  # each of the two is a copy of the other
            yield Fault(table, name, BROKEN, about_store and table == "documents")
