"""Documents in several parts, such as files: known by their source, and replaced as a whole when they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from tidal_plugins.errors import Forgotten, InvalidInput
from tidal_plugins.ingestion.forget import SOURCES, forget
from tidal_plugins.ingestion.record import remember
from tidal_plugins.ingestion.tombstones import FORGOTTEN, remove_tombstones
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Document, Note, Scope
from tidal_plugins.shown import shown
from tidal_plugins.storage.shorthands import read_document, write_document

PARTS = 32
"""Parts that are remembered at a time: what of a document is in memory at once."""


def read(writer: Writer, scope: Scope, source: str) -> Document | None:
    """Return a document by its source, or ``None``."""
    found = read_document(writer.storage, scope, SOURCES, source)
    return None if found is None else _of(found.key, found.value)


def read_all(writer: Writer, scope: Scope) -> list[Document]:
    """Return all documents, by source."""
    return [_of(found.key, found.value) for found in writer.storage.documents(scope, SOURCES)]


def put(
    writer: Writer, scope: Scope, source: str, parts: Iterable[Note], digest: str | None, now: datetime
) -> Document:
    """Remember the parts of a document, and return it. Parts that it no longer has wait for :func:`sweep`.

    Until all are remembered, it has no digest. If one cannot be, it is as it was before.
    """
    ids: dict[str, None] = {}
    given, before = iter(parts), read(writer, scope, source) or Document(source, None, (), (), now)
    try:
        while some := [_part(note, source) for note in islice(given, PARTS)]:
            ids |= dict.fromkeys(_remembered(writer, scope, some, now))
            if len(some) == PARTS:  # there may be more
                so_far = tuple(dict.fromkeys([*before.parts, *ids]))
                _write(writer, scope, replace(before, digest=None, parts=so_far, remembered_at=now))
    except Exception:
        new = [id_ for id_ in ids if id_ not in before.parts]
        if new or before.parts:
            _write(writer, scope, replace(before, stale=tuple(dict.fromkeys([*before.stale, *new]))))
        raise
    with writer.storage.transaction():
        known = read(writer, scope, source) or before
        gone = [id_ for id_ in dict.fromkeys([*known.parts, *known.stale]) if id_ not in ids]
        made = Document(source, digest, tuple(ids), tuple(gone), now)
        _write(writer, scope, made)
    return made


def _part(note: Note, source: str) -> Note:
    if not isinstance(note, Note):
        raise InvalidInput(f"the parts of a document are Notes, got {shown(note)}")
    return replace(note, source=source)


def _write(writer: Writer, scope: Scope, document: Document) -> None:
    value = {"digest": document.digest, "parts": document.parts, "stale": document.stale}
    at = {"at": document.remembered_at.isoformat()}
    write_document(writer.storage, scope, SOURCES, document.source, value | at)


def _remembered(writer: Writer, scope: Scope, notes: Sequence[Note], now: datetime) -> list[str]:
    """Remember notes but for those that were forgotten on request, and return the ids."""
    try:
        return [entry.id for entry in remember(writer, scope, notes, now)]
    except Forgotten:
        if len(notes) == 1:
            return []
        return [id_ for note in notes for id_ in _remembered(writer, scope, [note], now)]


def sweep(writer: Writer, scope: Scope, now: datetime) -> int:
    """Remove the parts that documents no longer have, and return how many there were.

    The same texts may be remembered again, unlike those that were forgotten on request.
    """
    stale = {id_: document.source for document in read_all(writer, scope) for id_ in document.stale}
    if stale:
        gone = writer.storage.get(scope, list(stale)).values()
        marks = [writer.mark(entry.text) for entry in gone]
        forget(writer, scope, list(stale), now)
        with writer.storage.transaction():
            writer.storage.erase_documents(scope, FORGOTTEN, marks)
            remove_tombstones(writer.storage, scope, stale)
    with writer.storage.transaction():
        for document in read_all(writer, scope):
            left = tuple(id_ for id_ in document.stale if id_ not in stale)
            if not document.parts and not left:
                writer.storage.erase_documents(scope, SOURCES, [document.source])
            elif left != document.stale:
                _write(writer, scope, replace(document, stale=left))
    return len(stale)


def _of(source: str, value: dict[str, object]) -> Document:
    parts, stale = (tuple(map(str, _list(value[name]))) for name in ("parts", "stale"))
    digest = value["digest"]
    return Document(
        source, None if digest is None else str(digest), parts, stale, datetime.fromisoformat(str(value["at"]))
    )


def _list(value: object) -> Iterator[object]:
    return iter(value if isinstance(value, list) else [])
