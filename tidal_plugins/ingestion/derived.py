"""Derived documents: texts that memory made of entries, known by a mark, so that forgetting reaches them.

A derived document is a mapping with the ids of its ``sources``: the entries that it quotes, and those that its earlier
versions quote. ``entry`` is the id of the entry by which recall finds it, if there is one. The scope marks each
collection that holds such documents, and so forgetting needs no list of collections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.ingestion.tombstones import add_tombstones
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.queue import note
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import read_document, write_document

DERIVED = "derived"
"""Collection of marks, one for each collection that holds derived documents."""


def write_derived(
    storage: Storage,
    scope: Scope,
    collection: str,
    key: str,
    value: Mapping[str, Any],
    *,
    sources: Iterable[str],
    entry: str | None = None,
    expected: int | None = None,
    keep: int = 0,
) -> int:
    """Write a document that rests on ``sources`` and return its version.

    Call it inside the transaction that checks that the sources are there. ``expected`` and ``keep`` as in
    :meth:`Documents.write_documents`. Raises ``Conflict``.
    """
    if read_document(storage, scope, DERIVED, collection) is None:
        write_document(storage, scope, DERIVED, collection, True)
    marked = {**value, "sources": sorted(set(sources)), **({"entry": entry} if entry else {})}
    return write_document(storage, scope, collection, key, marked, expected=expected, keep=keep)


def purge(storage: Storage, scope: Scope, gone: Collection[str], now: datetime) -> Counter[str]:
    """Empty the documents that rest on any of these entries, with their earlier versions, and remove their entries.

    Returns how many documents were emptied, by collection.

    Documents that rest on the removed entries follow in turn. They are made anew when next needed. Call it inside the
    transaction that erases the entries.
    """
    collections = [document.key for document in storage.documents(scope, DERIVED)]
    left, emptied = set(gone), Counter[str]()
    while left:
        found = set()
        for collection in collections:
            for document in storage.documents(scope, collection):
                if document.value and not left.isdisjoint(document.value["sources"]):
                    found |= {document.value["entry"]} if "entry" in document.value else set()
                    write_document(storage, scope, collection, document.key, None)
                    emptied[collection] += 1
        add_tombstones(storage, scope, found, now)
        storage.erase(scope, list(found))
        left = found
    return emptied


def forget_derived(
    writer: Writer, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime
) -> set[str]:
    """Remove from the graph what was read in entries that are about to be erased, and return the ids of the entries
    that go with it. ``blanked`` are the episodes that lose a part: their jobs begin anew, without their errors.

    Call it inside the transaction that erases them. Erasing an entry removes its own jobs.
    """
    from tidal_plugins.graph.indexing.forgetting import forget_graph

    gone = forget_graph(writer.storage, scope, entries, writer.settings[GraphTuning].functional, now)
    if writer.jobs.renew(scope, blanked, now) or gone:
        note(writer.storage, scope, now)
    return gone
