"""The examination of an SQL store: whether each row is as it was written, and whether the indexes have all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Fault
from tidal_plugins.storage.base import META
from tidal_plugins.storage.capabilities import Checks
from tidal_plugins.storage.damage import UNKNOWN, checksum, passage_checksum, vector_checksum
from tidal_plugins.storage.rows import COLUMNS, LINK_COLUMNS, Row, check_link_row, from_row
from tidal_plugins.storage.sql.dialect import SQLStore
from tidal_plugins.storage.sql.store import COPIES

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


Unindexed = dict[Scope, dict[str, list[tuple[int, int]]]]
"""The entries to index anew, by scope, each with the spans of its passages as far as they are known."""


class SQLChecks(SQLStore, Checks):
    """Examines the rows of a store, and whether its indexes have what they should."""

    of_passages: ClassVar[str]
    """SQL for the scope and the key of each passage, the id of its entry, its other values and its checksum."""
    of_owners: ClassVar[str]
    """SQL for the scopes and ids of entries that a passage may be of, whatever entry it names now."""
    of_vectors: ClassVar[str]
    """SQL for the scope of each passage, its entry's id, its span, and the row of its vector, with NULL for none."""
    of_wordless: ClassVar[str]
    """SQL for the scope, the entry's id and the span of each passage whose words are not indexed."""
    of_orphans: ClassVar[Mapping[str, str]]
    """SQL for the number of the rows of a table that belong to nothing."""

    def _index_faults(self, scopes: Mapping[int, Scope], unindexed: Unindexed) -> Iterator[Fault]:
        """Yield the faults of passages, their words and their vectors, and note the entries to index anew."""

        def note(scope: int, id_: str, *span: int) -> None:
            if scope in scopes:
                unindexed.setdefault(scopes[scope], {}).setdefault(id_, []).extend([(span[0], span[1])] if span else [])

        for scope, key, id_, *place, stored in self._each("passages", self.of_passages):
            if id_ is None or passage_checksum(scope, key, id_, *place) != stored:
                owners = [(scope, id_)] if id_ is not None else []
                around = self._owners(scope, key)
                owners += [owner for owner in around if passage_checksum(owner[0], key, owner[1], *place) == stored]
                for owner in owners:
                    note(*owner)
                yield Fault("passages", owners[-1][1] if owners else UNKNOWN, BROKEN, True)
        for scope, id_, start, end, passage, of, vector, stored in self._each("vectors", self.of_vectors):
            if vector is None or of != scope or vector_checksum(passage, of, vector) != stored:
                note(scope, id_, start, end)
                yield Fault("vectors", id_, "it is missing" if vector is None else BROKEN, True)
        for scope, id_, start, end in self._each("passages", self.of_wordless):
            note(scope, id_, start, end)
            yield Fault("keywords", id_, "its words are not indexed", True)
        for table, sql in self.of_orphans.items():
            if number := self._count(sql):
                yield Fault(table, "", f"{number} rows belong to nothing", True)

    @abstractmethod
    def _each(self, table: str, sql: str) -> Iterator[Any]:
        """Yield the rows of a query, some at a time."""

    @abstractmethod
    def _owners(self, scope: int, key: int) -> Iterable[tuple[int, str]]:
        """Return what ``of_owners`` finds for a passage."""

    @abstractmethod
    def _count(self, sql: str) -> int:
        """Return a number."""
