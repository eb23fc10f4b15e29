"""Loading: an exported memory becomes the contents of an empty store, in one transaction or not at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import Any

from tidal_plugins.errors import Conflict, Corrupt, InvalidInput, NotFound, StorageError
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.maintenance.portable import read_lines, to_vector
from tidal_plugins.model.codec import decode
from tidal_plugins.model.entry import EPISODE, Entry, Scope
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import META, STORE, Line, Passage, Record, Storage
from tidal_plugins.storage.checks import Listings, Names
from tidal_plugins.storage.open import path_of
from tidal_plugins.storage.salt import reread
from tidal_plugins.storage.shorthands import write_document
from tidal_plugins.storage.sqlite.opening import checked_path

BATCH = 256
"""Entries or links that are stored at once."""

FILLER = "filler"
"""The log whose lines take the numbers that no line has. They are removed at once: a number is never used again."""


def load(writer: Writer, path: str | PathLike[str]) -> int:
    """Store what an export holds, and return the number of its lines. Raises as ``memory.load`` does."""
    storage, source = writer.storage, checked_path(path)
    with storage.transaction():
        _check_empty(storage)
        try:
            lines = _Loader(writer).load(read_lines(source))
        except OSError as error:
            raise StorageError(f"{source} cannot be read: {error.strerror}") from error
        except (InvalidInput, NotFound, KeyError, TypeError, ValueError, AttributeError) as error:
            raise Corrupt(f"{source} was altered ({error}), and nothing was loaded; export the memory again") from error
    reread(storage)
    return lines


def _check_empty(storage: Storage) -> None:
    if not isinstance(storage, Listings):
        raise InvalidInput(f"{type(storage).__name__} cannot be loaded into: it has no method listing")
    listing = storage.listing()
    if listing.last_seq or any(scope != STORE or names != Names((META,)) for scope, names in listing.scopes.items()):
        raise Conflict(f"{path_of(storage)} is or was in use: load into a new memory")


class _Loader:
    """One loading. Records and links are held until there are enough of them for one call."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.storage = writer.storage
        self.seq = 0
        self.records: dict[Scope, list[Record]] = defaultdict(list)
        self.links: dict[Scope, list[Link]] = defaultdict(list)

    def load(self, lines: Iterator[Mapping[str, Any]]) -> int:
        """Store all lines. The transaction around it is rolled back if the file turns out to be damaged."""
        storage, header, count = self.storage, next(lines), 1
        storage.erase_documents(STORE, META, [document.key for document in storage.documents(STORE, META)])
        kinds: Mapping[str, Callable[[Mapping[str, Any], Scope], None]] = {
            "line": self._line, "document": self._document, "entry": self._entry, "link": self._link
        }  # fmt: skip
        last = int(header["last_seq"])
        for line in lines:
            if line["is"] != "line":
                self._fill(last + 1)
            kinds[line["is"]](line, tuple(line["scope"]))
            count += 1
        self._fill(last + 1)
        for scope in [*self.records]:
            self._put(scope)
        for scope in [*self.links]:
            self._put_links(scope)
        return count

    def _line(self, value: Mapping[str, Any], scope: Scope) -> None:
        self._fill(value["seq"])
        line = Line(value["key"], datetime.fromisoformat(value["at"]), value["value"])
        [self.seq] = self.storage.append_log(scope, value["log"], [line])
        if self.seq != value["seq"]:
            raise Conflict(f"{path_of(self.storage)} was in use: load into a new memory")

    def _fill(self, seq: int) -> None:
        """Use up the numbers of lines below ``seq``."""
        missing = seq - 1 - self.seq
        while missing > 0:
            some = min(missing, BATCH)
            epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
            self.seq = self.storage.append_log(STORE, FILLER, [Line("", epoch, None)] * some)[-1]
            self.storage.trim_log(STORE, FILLER, keep=0)
            missing -= some

    def _document(self, value: Mapping[str, Any], scope: Scope) -> None:
        """Store a document with the versions that it has, and the same numbers."""
        versions = {int(version): each for version, each in value["versions"]}
        first, last, storage = min(versions), max(versions), self.storage
        for version in range(1, last + 1):
            kept = max(0, min(version - first, len(versions) - 1))
            write_document(storage, scope, value["collection"], value["key"], versions.get(version), keep=kept)

    def _entry(self, value: Mapping[str, Any], scope: Scope) -> None:
        entry = decode(Entry, {**value["entry"], "scope": scope})
        spans = [(start, end) for start, end, _, _ in value["passages"]]
        words = [""] * len(spans) if entry.kind == EPISODE else self.writer.terms_of(entry, spans)
        passages = [
            Passage(start, end, said if count else "", None if vector is None else to_vector(vector))
            for (start, end, count, vector), said in zip(value["passages"], words, strict=True)
        ]
        self.records[scope].append(Record(entry, passages))
        if len(self.records[scope]) >= BATCH:
            self._put(scope)

    def _link(self, value: Mapping[str, Any], scope: Scope) -> None:
        self.links[scope].append(decode(Link, value["link"]))
        if len(self.links[scope]) >= BATCH:
            self._put_links(scope)

    def _put(self, scope: Scope) -> None:
        self.storage.put(scope, self.records.pop(scope))

    def _put_links(self, scope: Scope) -> None:
        self.storage.put_links(scope, self.links.pop(scope))
