"""The check of a whole store, and the repair of what can be rebuilt from what is intact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.embedding.identity import alike, describe, identity
from tidal_plugins.errors import Corrupt, EmbedderMismatch, InvalidInput, StorageError
from tidal_plugins.ingestion.indexing import EntryIndexer
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.queue import waiting as waiting_scopes
from tidal_plugins.model.entry import EPISODE, KINDS, Scope
from tidal_plugins.model.reports import Check, Fault
from tidal_plugins.storage.base import META, STORE, Record, Where, WhereLinks
from tidal_plugins.storage.capabilities import Checks
from tidal_plugins.storage.damage import noticed
from tidal_plugins.storage.shorthands import passage_vectors, write_meta
from tidal_plugins.storage.transactions import retry

_LOST_LOG = Fault(
    "wal", "", "the file was opened without the log that a process had left, and the writes that the log held are lost"
)

_CUT_HERE = (*KINDS, EPISODE)
"""The kinds of entries whose passages are cut here; an adapter chooses those of its own."""


def check(writer: Writer, indexer: EntryIndexer, now: datetime, repair: bool) -> Check:
    """Return what is wrong with a store, and with ``repair`` rebuild what can be rebuilt."""
    storage = writer.storage
    if not isinstance(storage, Checks):
        raise InvalidInput(f"{type(storage).__name__} cannot be examined: it has no method examine")
    before = storage.examine()
    lost = [_LOST_LOG] if before.log_lost else []
    found = [*lost, *before.faults, *_disagreements(writer)]
    left, examined = found, before
    if repair and (lost or any(fault.repairable for fault in found)) and _rebuilt(storage):
        _rewrite_meta(writer)
        after = storage.examine().unindexed
        for scope in {*before.unindexed, *after}:  # the rows that told of some may be gone by now
            _index(writer, indexer, scope, {**before.unindexed.get(scope, {}), **after.get(scope, {})}, now)
        examined = storage.examine()
        left = [*lost, *examined.faults, *_disagreements(writer)]
    stored: Any = None
    waiting = 0
    with suppress(StorageError):  # what cannot be read is among the faults
        stored, waiting = identity(storage), len(waiting_scopes(storage))
    return Check(
        examined.rows,
        tuple(left),
        tuple(replace(fault, repaired=True) for fault in found if fault not in left),
        waiting,
        examined.log_bytes,
        stored["id"] if stored else None,
    )


@retry
def _rebuilt(storage: Checks) -> bool:
    """Rebuild what an engine can rebuild. Return whether its pages are whole enough; else nothing is changed."""
    try:
        storage.rebuild()
    except Corrupt:
        return False
    return True


def _disagreements(writer: Writer) -> list[Fault]:
    """Return the faults that only the meaning of the rows shows."""
    try:
        return _of_meaning(writer)
    except StorageError as error:
        return [Fault("pages", "", str(error))]


def _of_meaning(writer: Writer) -> list[Fault]:
    storage, faults = writer.storage, list[Fault]()
    stored = identity(storage)
    with suppress(EmbedderMismatch):
        writer.embedder.reader()  # after a renewal it is another than the last that was used
    own = writer.embedder.embedder
    if stored and not alike(stored, describe(own)):
        faults.append(Fault("embedder", str(stored["id"]), f"the memory was opened with {describe(own)['id']}"))
    with noticed():
        for scope in storage.scopes((), Where(include_archived=True)):
            links = storage.links(scope, WhereLinks(kinds=[ASSOCIATION]))
            ends = {end for link in links for end in (link.source, link.target)}
            known = storage.summaries(scope, ends).keys() if ends else set()
            gone = [link for link in links if not {link.source, link.target} <= known]
            faults += [Fault("links", link.id, "it ends at an entry that is not there or damaged") for link in gone]
    return faults


@retry
def _rewrite_meta(writer: Writer) -> None:
    """Write the values about the whole store anew, so that each has an intact copy again."""
    storage = writer.storage
    with storage.transaction():
        for document in storage.documents(STORE, META):
            with noticed() as damaged:
                storage.documents(STORE, META, [document.key])
            if damaged:
                write_meta(storage, document.key, document.value)


def _index(
    writer: Writer, indexer: EntryIndexer, scope: Scope, spans: Mapping[str, Sequence[tuple[int, int]]], now: datetime
) -> None:
    """Index entries anew. What an adapter stored is queued with the parts that it chose, as when it was stored."""
    storage = writer.storage
    entries = storage.get(scope, list(spans))
    stored = passage_vectors(storage, scope, [id_ for id_, one in entries.items() if one.kind not in _CUT_HERE]).spans
    for id_, entry in entries.items():
        with storage.transaction():
            if entry.kind in _CUT_HERE:
                writer.put(scope, writer.records([entry]), replace=True)
                continue
            parts = {*spans[id_], *((span.start, span.end) for span in stored if span.id == id_)}
            storage.put(scope, [Record(entry)], replace=True)
            indexer.add(entry, sorted(parts), now)
