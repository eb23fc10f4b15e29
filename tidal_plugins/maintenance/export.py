"""The format of an exported memory: lines of JSON between a header and an end with a count and a checksum.

The lines hold, in this order, the logs, the documents, and for each scope the entries with their passages, and the
links. A vector is the base64 of its float32 values, smallest byte first.
"""

from __future__ import annotations

import gzip
import heapq
import json
import os
import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tidal_plugins.dossiers.dossier import DOSSIERS, TOPICS
from tidal_plugins.dossiers.stored import from_document, of_documents
from tidal_plugins.embedding.identity import alike, identity
from tidal_plugins.errors import Conflict, Corrupt, InvalidInput, NotFound, StorageError
from tidal_plugins.facts.versions import FACTS, Version
from tidal_plugins.graph.records.merging import merges
from tidal_plugins.ingestion import documents
from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.ingestion.reembed import HELD, NEXT
from tidal_plugins.ingestion.tombstones import KEPT, missing, noted_erasures
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.queue import waiting
from tidal_plugins.maintenance.backups import BACKUP
from tidal_plugins.model.codec import decode, encode
from tidal_plugins.model.entry import EPISODE, Entry, Link, Scope
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import ALL_LINKS, META, STORE, Line, Passage, Record, Storage
from tidal_plugins.storage.capabilities import Listing, Listings, Names
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.open import path_of
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.scrubbing import UNSCRUBBED
from tidal_plugins.storage.shorthands import reread, salt, secret, write_document
from tidal_plugins.storage.sqlite.opening import checked_path
from tidal_plugins.storage.sqlite.parts import claim, is_same, part_of, remove_part, sync, sync_folder, target_of
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FORMAT = "tidal-export"
VERSION = 1
"""The version of the format. A file of a later one is refused."""

SCHEMA = 1
"""The schema of the values that the lines hold. An export of another one is refused: raise it whenever the fields of an
entry, a link, a document or the value of a log's line change."""

DIGEST = 16
"""Bytes of the checksum of all lines before the end."""

LEVEL = 6
"""Of gzip's compression; vectors of random bits shrink little at any."""


class LineWriter:
    """Writes the lines of an export to a file, compressed if its name says so."""

    def __init__(self, path: str, *, compressed: bool) -> None:
        raw = Path(path).open("wb")  # noqa: SIM115 (closed by close)
        # Without a name and a time, so that the same memory gives the same bytes.
        packed = gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) if compressed else None
        self._files: list[IO[bytes] | gzip.GzipFile] = [packed, raw] if packed else [raw]
        self._digest = blake2b(digest_size=DIGEST)
        self.lines = 0

    def write(self, value: Any) -> None:
        """Write one line."""
        line = f"{to_json(value)}\n".encode()
        self._digest.update(line)
        self._files[0].write(line)
        self.lines += 1

    def end(self) -> None:
        """Write the end, by which a reader knows that nothing is missing."""
        last = {"is": "end", "lines": self.lines, "checksum": self._digest.hexdigest()}
        self._files[0].write(f"{to_json(last)}\n".encode())

    def close(self) -> None:
        for file in self._files:
            file.close()


def read_lines(path: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export, the header first and without the end.

    Raises ``StorageError`` for another file and for one of a later version, and ``Corrupt`` at the end,
    or before, if the file was truncated or altered: what was read until then is not to be used.
    """
    with Path(path).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        try:
            yield from _checked(source, path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, "a line is no JSON") from error


def to_text(vector: NDArray[np.float32]) -> str:
    """Return a vector as text."""
    return b64encode(vector.astype("<f4").tobytes()).decode()


def to_vector(text: str) -> NDArray[np.float32]:
    """Return the vector that :func:`to_text` made a text of."""
    import numpy as np

    return np.frombuffer(b64decode(text), "<f4").astype(np.float32)


def _checked(source: IO[bytes] | gzip.GzipFile, path: str) -> Iterator[dict[str, Any]]:
    digest = blake2b(digest_size=DIGEST)
    for count, line in enumerate(source):
        value = _object(line, path, first=not count)
        if value.get("is") == "end":
            if (value.get("lines"), value.get("checksum")) != (count, digest.hexdigest()):
                raise _damaged(path, "its checksum fails")
            if source.read(1):
                raise _damaged(path, "something follows its end")
            return
        digest.update(line)
        yield value
    raise _damaged(path, "its end is missing")


def _object(line: bytes, path: str, *, first: bool) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        if first:
            raise _other(path) from error
        raise _damaged(path, "a line is no JSON") from error
    if first:
        _check_header(value, path)
    if not isinstance(value, dict):
        raise _damaged(path, "a line is no object")
    return value


def _check_header(value: Any, path: str) -> None:
    if not isinstance(value, dict) or value.get("is") != FORMAT or not isinstance(value.get("version"), int):
        raise _other(path)
    if value["version"] > VERSION:
        raise StorageError(
            f"{path} is an export of version {value['version']}, and this library reads {VERSION}: upgrade"
        )
    if (schema := value.get("schema")) != SCHEMA:
        named = f"schema {schema}" if isinstance(schema, int) else "a schema before the first"
        remedy = (
            "upgrade"
            if isinstance(schema, int) and schema > SCHEMA
            else "load it with the version of tidal-plugins that wrote it"
        )
        raise StorageError(f"{path} was written with {named}, and this library reads schema {SCHEMA}: {remedy}")


def _other(path: str) -> StorageError:
    return StorageError(f"{path} is no export of a memory: name a file that an export wrote")


def _damaged(path: str, why: str) -> Corrupt:
    return Corrupt(f"{path} was truncated or altered ({why}), and nothing was loaded; export the memory again")


PAGE = 256
"""Entries, and lines of a log, that are read at once."""

OF_THE_FILE = frozenset([(META, UNSCRUBBED), (META, NEXT), (META, BACKUP), (HELD, HELD)])
"""Documents about the whole store that are about a file and not about what it holds. They do not travel."""


def export(storage: Storage, path: str | PathLike[str], *, replace: bool) -> int:
    """Write a store to a file, as of one moment, and return the number of lines. Raises as ``memory.export`` does."""
    check_flag(replace, "replace")
    if not isinstance(storage, Listings):
        raise InvalidInput(f"{type(storage).__name__} cannot be exported: it has no method listing")
    target = target_of(path)
    if is_same(target, path_of(storage)):
        raise InvalidInput(f"{target} is the memory itself; name another file")
    if not replace and os.path.lexists(target):
        raise Conflict(f"there is a file at {target} already; name another one, or say replace=True")
    part = part_of(target)
    try:
        lines = _write(storage, storage, part, compressed=target.endswith(".gz"))
        sync(part)
        if not replace:
            claim(target)
        os.replace(part, target)  # noqa: PTH105
        sync_folder(target)
    except OSError as error:
        raise StorageError(f"the memory cannot be exported to {shown(target)}: {error.strerror}") from error
    finally:
        remove_part(part)
    return lines


@whole()
def _write(storage: Storage, listed: Listings, path: str, *, compressed: bool) -> int:
    out = LineWriter(path, compressed=compressed)
    try:
        with storage.snapshot():
            listing = listed.listing()
            out.write({"is": FORMAT, "version": VERSION, "schema": SCHEMA, "last_seq": listing.last_seq})
            for line in _logs(storage, listing):
                out.write(line)
            for scope, names in listing.scopes.items():
                for collection in names.collections:
                    for document in _documents(storage, scope, collection):
                        out.write(document)
            for scope in listing.scopes:
                for value in chain(_entries(storage, scope), _links(storage, scope)):
                    out.write(value)
        out.end()
    finally:
        out.close()
    return out.lines


def _logs(storage: Storage, listing: Listing) -> Iterator[dict[str, Any]]:
    """Yield the lines of all logs together, in the order in which they were appended."""

    def lines(scope: Scope, log: str) -> Iterator[tuple[int, Scope, str, Line]]:
        after = 0
        while page := storage.read_log(scope, log, after=after, limit=PAGE):
            yield from ((line.seq, scope, log, line) for line in page)
            after = page[-1].seq

    named = [lines(scope, log) for scope, names in listing.scopes.items() for log in names.logs]
    for seq, scope, log, line in heapq.merge(*named, key=lambda item: item[0]):
        about = {"is": "line", "scope": scope, "log": log, "seq": seq}
        yield about | {"key": line.key, "at": line.at.isoformat(), "value": line.value}


def _documents(storage: Storage, scope: Scope, collection: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a collection, each with its versions, the oldest first."""
    versions: list[tuple[int, Any]] = []
    found = storage.documents(scope, collection, versions=True)
    about = {"is": "document", "scope": scope, "collection": collection}
    for place, document in enumerate(found):
        versions.append((document.version, document.value))
        if place + 1 == len(found) or found[place + 1].key != document.key:
            if scope != STORE or (collection, document.key) not in OF_THE_FILE:
                yield about | {"key": document.key, "versions": versions[::-1]}
            versions = []


def _entries(storage: Storage, scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield the entries in the order in which they were stored, which decides between equal scores."""
    ids = storage.columns(scope).arrays.ids
    for start in range(0, len(ids), PAGE):
        found = storage.get(scope, page := ids[start : start + PAGE])
        for id_, indexed in zip(page, _passages(storage, scope, page), strict=True):
            if id_ in found:  # else it is damaged, and was noted
                value = encode(found[id_], exclude=frozenset(["scope", "screened"]))
                yield {"is": "entry", "scope": scope, "entry": value, "passages": indexed}


def _passages(storage: Storage, scope: Scope, ids: Sequence[str]) -> list[list[Any]]:
    """Return the passages of entries: start, end, how many words they are found by, and the vector."""
    columns = storage.columns(scope)
    rows = columns.rows(ids)
    place, passages = columns.passages_of(rows)
    table = columns.arrays.passages
    spans = zip(*(table[name][passages].tolist() for name in ("start", "end", "words")), strict=True)
    has = (table["unit"][passages] >= 0).tolist()
    vectors = iter(columns.units(passages[table["unit"][passages] >= 0]))
    found: list[list[Any]] = [[] for _ in ids]
    for owner, span, vectored in zip(place.tolist(), spans, has, strict=True):
        found[owner].append([*span, to_text(next(vectors)) if vectored else None])
    return found


def _links(storage: Storage, scope: Scope) -> Iterator[dict[str, Any]]:
    for link in storage.links(scope, ALL_LINKS):
        yield {"is": "link", "scope": scope, "link": encode(link)}


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
            reread(storage)
            _check_values(writer)
        except OSError as error:
            raise StorageError(f"{source} cannot be read: {error.strerror}") from error
        except (InvalidInput, NotFound, KeyError, TypeError, ValueError, AttributeError) as error:
            raise Corrupt(f"{source} was altered ({error}), and nothing was loaded; export the memory again") from error
        finally:
            reread(storage)  # the transaction may be rolled back
    return lines


def _check_values(writer: Writer) -> None:
    """Read the values that opening a memory and its capabilities read, so that none of them fails later.

    Call it inside the transaction, which ends with nothing loaded if one cannot be read.
    """
    storage = writer.storage
    if len(secret(storage)) == 0 or not salt(storage):
        raise ValueError("the key or the salt of the memory is missing")
    if (stored := identity(storage)) is not None:
        alike(stored, stored)
    waiting(storage)
    for scope in cast(Listings, storage).listing().scopes:
        for fact in storage.documents(scope, FACTS, versions=True):
            Version(**fact.value).fact()
        for dossier in storage.documents(scope, DOSSIERS, versions=True):
            _ = dossier.value and from_document(dossier, dossier.key)
        for topic in storage.documents(scope, TOPICS):
            of_documents(topic, None)
        list(Ledger(storage, scope, writer.settings, partial(missing, storage, scope), writer.redaction.value).all())
        documents.read_all(writer, scope)
        merges(storage, scope)
        noted_erasures(storage, scope, KEPT)


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
        if entry.kind == EPISODE:
            from_entry(entry)  # raises for a message that cannot be read
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
