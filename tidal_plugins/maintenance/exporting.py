"""Export: a whole store, all its scopes, as one file that any engine can load, read through the contract alone."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from os import PathLike
from typing import Any

from tidal_plugins.errors import Conflict, InvalidInput, StorageError
from tidal_plugins.ingestion.reembed import HELD, NEXT
from tidal_plugins.ingestion.scrub import UNSCRUBBED
from tidal_plugins.maintenance.backups import BACKUP
from tidal_plugins.maintenance.parts import claim, is_same, part_of, remove_part, sync, sync_folder, target_of
from tidal_plugins.maintenance.portable import FORMAT, VERSION, LineWriter, to_text
from tidal_plugins.model.codec import encode
from tidal_plugins.model.entry import Scope
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import ALL_LINKS, META, STORE, Line, Storage
from tidal_plugins.storage.checks import Listing, Listings
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.open import path_of
from tidal_plugins.validation import check_flag

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
            out.write({"is": FORMAT, "version": VERSION, "last_seq": listing.last_seq})
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
                value = encode(found[id_], exclude=frozenset(["scope", "admission"]))
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
