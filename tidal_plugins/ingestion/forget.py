"""Forgetting on request: out of every place where it stands, in one transaction [Tidal §2.2].

What forgetting leaves is a tombstone: the ids, so that citations resolve to «forgotten», and a keyed hash of each
text, so that it is not captured again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from tidal_plugins.errors import StorageError
from tidal_plugins.facts.versions import forget_facts
from tidal_plugins.graph.unlearning import fact_id, forget_knowledge
from tidal_plugins.ingestion.episodes import FORGOTTEN_TEXT, from_entry, summary, to_entry
from tidal_plugins.ingestion.queue import ExtractionQueue
from tidal_plugins.ingestion.repeats import heirs, succeed
from tidal_plugins.ingestion.writer import FORGOTTEN, Writer, message_entry_id
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import EPISODE, Entry, Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import read_meta, write_meta

logger = logging.getLogger(__name__)

UNSCRUBBED = "unscrubbed"
"""Whether erased texts may have left bytes in the file."""

COMPACTIONS = "compactions"
"""Collection of rebuilt contexts. They quote the episodes that their ``sources`` name."""

DOSSIERS = "dossiers"
CAPSULES = "capsules"
RECURRING = "recurring"
DERIVED = (COMPACTIONS, DOSSIERS, CAPSULES, RECURRING)
"""Collections of texts made of others: ``sources`` are the ids of what they and their earlier versions quote, ``entry``
is that of the entry that makes them findable, where there is one."""

DISTINCT = 4
"""Words with a content from which a text is known again, unless it has digits as secrets do: forgetting one «Run the
tests again» must not blank every other."""


def forget(writer: Writer, scope: Scope, ids: Collection[str], now: datetime, *, source: str | None = None) -> int:
    """Remove entries and episodes by id, and what facts have from ``source``, and return how many there were: a fact
    that loses a value counts as one.

    An episode goes with all its entries. An entry that was said in an episode is blanked there, and the episode's
    summary made anew from what is left; an episode with nothing left goes too. Unknown ids are passed over.
    """
    while True:
        doomed = _doomed(writer, scope, ids)
        told = _episodes(writer, scope, {e.episode for e in doomed.values() if e.episode} - doomed.keys())
        blanked = [_blank(writer, episode, doomed) for episode in told.values()]
        doomed |= {
            e.id: to_entry(e) for e in blanked if not any(m.text not in ("", FORGOTTEN_TEXT) for m in e.messages)
        }
        records = writer.records([to_entry(episode) for episode in blanked if episode.id not in doomed])
        next_ = heirs(writer, scope, doomed.keys())
        found_instead = writer.records(list(writer.storage.get(scope, next_).values()))
        with writer.storage.transaction():
            if told != _episodes(writer, scope, told) or _doomed(writer, scope, ids).keys() - doomed.keys():
                continue  # something was recorded into these episodes meanwhile
            if next_ != heirs(writer, scope, doomed.keys()):
                continue  # or said again
            _bury(writer, scope, doomed.values(), now)
            succeed(writer, scope, doomed.keys(), found_instead, now)
            facts = forget_facts(writer.storage, scope, doomed.values(), ids, source)
            if doomed or facts:
                write_meta(writer.storage, UNSCRUBBED, True)
            known = _unlearn(writer, scope, doomed.values(), now)
            writer.storage.erase(scope, list(doomed))
            ExtractionQueue(writer.storage, scope, writer.settings.graph).read_anew(told.keys() - doomed.keys(), now)
            writer.storage.put(scope, records, replace=True)
            ended = facts.difference(doomed, writer.storage.summaries(scope, facts))
            _bury_ids(writer.storage, scope, ended, now)
            purge(writer.storage, scope, {*doomed, *told, *facts, *known}, now)
        scrub(writer.storage)
        return len(facts.union(doomed))


def scrub(storage: Storage) -> None:
    """Overwrite what forgotten texts left in the file, where something was erased since this last succeeded.

    It is not part of the erasing transaction. When it fails (a full disk, a reader that keeps the log) or the process
    dies before it, the store remembers, and the next forgetting or opening tries again.
    """
    if not read_meta(storage, UNSCRUBBED):
        return
    try:
        done = storage.scrub()
    except StorageError as error:
        logger.warning("forgotten bytes are still in the file, and go when it is next opened: %s", error)
        return
    if done:
        write_meta(storage, UNSCRUBBED, False)
    else:
        logger.warning("a reader keeps forgotten bytes in the log; they go when the memory is next opened")


def purge(storage: Storage, scope: Scope, gone: Collection[str], now: datetime) -> None:
    """Empty the texts made of any of these, with their earlier versions, and the texts made of those in turn: they are
    made anew when next needed. Call it inside the transaction that removes what they were made of."""
    left = set(gone)
    while left:
        found = set()
        for collection in DERIVED:
            for document in storage.documents(scope, collection):
                if document.value and not left.isdisjoint(document.value["sources"]):
                    found |= {document.value["entry"]} if "entry" in document.value else set()
                    storage.write_document(scope, collection, document.key, None)
        _bury_ids(storage, scope, found, now)
        storage.erase(scope, list(found))
        left = found


def _unlearn(writer: Writer, scope: Scope, doomed: Iterable[Entry], now: datetime) -> set[str]:
    """Take out of the graph what was learned from these entries; return the ids of the entries of what that changed."""
    gone = forget_knowledge(writer.storage, scope, doomed, writer.settings.graph.functional, now)
    stale = {fact_id(scope, id_) for id_ in gone.entities | gone.relations | gone.lessened}
    writer.storage.erase(scope, stale)  # what is left of them is written anew, without what is forgotten
    return stale


def _doomed(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
    found = writer.storage.get(scope, ids)
    episodes = {entry.id for entry in found.values() if entry.kind == EPISODE}
    if episodes:
        found |= {entry.id: entry for entry in writer.storage.find(scope, Where(episodes=episodes))}
    return found


def _episodes(writer: Writer, scope: Scope, ids: Iterable[str]) -> dict[str, Episode]:
    return {id_: from_entry(entry) for id_, entry in writer.storage.get(scope, list(ids)).items()}


def _blank(writer: Writer, episode: Episode, doomed: Collection[str]) -> Episode:
    gone = {message_entry_id(episode, message) for message in episode.messages} & set(doomed)
    messages = tuple(
        replace(message, text=FORGOTTEN_TEXT) if message_entry_id(episode, message) in gone else message
        for message in episode.messages
    )
    return replace(
        episode,
        messages=messages,
        summary=summary(messages, writer.settings.ingestion.summary_chars),
        entries=tuple(id_ for id_ in episode.entries if id_ not in gone),
    )


def _bury(writer: Writer, scope: Scope, entries: Iterable[Entry], now: datetime) -> None:
    for entry in entries:
        _bury_ids(writer.storage, scope, [entry.id], now)
        if entry.kind != EPISODE and _distinct(entry.text):
            writer.storage.write_document(scope, FORGOTTEN, writer.mark(entry.text), {"at": to_micros(now)})


def _bury_ids(storage: Storage, scope: Scope, ids: Iterable[str], now: datetime) -> None:
    for id_ in ids:
        storage.write_document(scope, FORGOTTEN, f"id:{id_}", {"at": to_micros(now)})


def _distinct(text: str) -> bool:
    words = set(terms(text))
    return len(words) >= DISTINCT or any(character.isdigit() for word in words for character in word)
