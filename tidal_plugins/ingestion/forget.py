"""Forgetting on request: entries and episodes are removed from every place in one transaction [Tidal §2.2].

Derived documents that rest on them are emptied, known by their mark and their sources
(:mod:`tidal_plugins.ingestion.derived`). Forgetting leaves tombstones: the ids, so that citations resolve to
«forgotten», and a keyed hash of each text, so that it is not captured again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from tidal_plugins.errors import StorageError
from tidal_plugins.facts.versions import forget_facts
from tidal_plugins.ingestion.derived import purge
from tidal_plugins.ingestion.episodes import read_episodes, summary, to_entry
from tidal_plugins.ingestion.repeats import duplicates, promote
from tidal_plugins.ingestion.shown import showing, without_shown
from tidal_plugins.ingestion.tombstones import add_text_tombstone, add_tombstones
from tidal_plugins.ingestion.wording import unframed
from tidal_plugins.ingestion.writer import Writer, message_entry_id
from tidal_plugins.model.entry import EPISODE, Entry, Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import read_meta, write_meta

logger = logging.getLogger(__name__)

UNSCRUBBED = "unscrubbed"
"""Whether erased texts may have left bytes in the file."""

DISTINCT = 4
"""Content words from which on a text is recognised again, unless it has digits as secrets do: forgetting one «Run the
tests again» must not blank every other."""


def forget(writer: Writer, scope: Scope, ids: Collection[str], now: datetime, *, source: str | None = None) -> int:
    """Remove entries and episodes by id, and what facts have from ``source``, and return how many were removed.

    A fact that loses a value counts as one. An episode goes with all its entries. An entry that was said in an episode
    is blanked there, and the episode's summary is made anew from the rest; an episode with nothing left goes too.
    Unknown ids are passed over.
    """
    while True:
        to_delete = _chosen(writer, scope, ids)
        shown = showing(writer, scope, to_delete.values())
        told = read_episodes(writer.storage, scope, _blanked(to_delete) | (shown - to_delete.keys()))
        blanked = [_blank(writer, episode, to_delete, shown) for episode in told.values()]
        to_delete |= {episode.id: to_entry(episode) for episode in blanked if _is_empty(episode)}
        records = writer.records([to_entry(episode) for episode in blanked if episode.id not in to_delete])
        repeating = duplicates(writer, scope, to_delete.keys())
        promoted = writer.records(list(writer.storage.get(scope, repeating).values()))
        with writer.storage.transaction():
            if _chosen(writer, scope, ids).keys() - to_delete.keys():
                continue  # something was recorded into these episodes meanwhile
            if showing(writer, scope, to_delete.values()) - shown:
                continue  # or shown in another turn
            if told != read_episodes(writer.storage, scope, told):
                continue
            if repeating != duplicates(writer, scope, to_delete.keys()):
                continue  # or said again
            _leave_tombstones(writer, scope, to_delete.values(), now)
            promote(writer, scope, to_delete.keys(), promoted, now)
            facts = forget_facts(writer.storage, scope, to_delete.values(), ids, source)
            if to_delete or facts:
                write_meta(writer.storage, UNSCRUBBED, True)
            derived = writer.later.forget(scope, to_delete.values(), told.keys() - to_delete.keys(), now)
            writer.storage.erase(scope, list(to_delete))
            writer.put(scope, records, replace=True)
            ended = facts.difference(to_delete, writer.storage.summaries(scope, facts))
            add_tombstones(writer.storage, scope, ended, now)
            purge(writer.storage, scope, {*to_delete, *told, *facts, *derived}, now)
        scrub(writer.storage)
        return len(facts.union(to_delete))


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


def _chosen(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
    found = writer.storage.get(scope, ids)
    episodes = {entry.id for entry in found.values() if entry.kind == EPISODE}
    if episodes:
        found |= {entry.id: entry for entry in writer.storage.find(scope, Where(episodes=episodes))}
    return found


def _blanked(to_delete: Mapping[str, Entry]) -> set[str]:
    """Return the ids of the episodes that lose a part and are not deleted themselves."""
    return {entry.episode for entry in to_delete.values() if entry.episode} - to_delete.keys()


def _is_empty(episode: Episode) -> bool:
    return not any(message.text not in ("", FORGOTTEN_TEXT) for message in episode.messages)


def _blank(writer: Writer, episode: Episode, to_delete: Collection[str], shown: Collection[str]) -> Episode:
    if episode.id in shown:
        episode = without_shown(episode, writer.frames)
    gone = {message_entry_id(episode, message) for message in episode.messages} & set(to_delete)
    messages = tuple(
        replace(message, text=FORGOTTEN_TEXT) if message_entry_id(episode, message) in gone else message
        for message in episode.messages
    )
    return replace(
        episode,
        messages=messages,
        summary=summary(unframed(messages, writer.frames), writer.settings.ingestion.summary_chars),
        entries=tuple(id_ for id_ in episode.entries if id_ not in gone),
    )


def _leave_tombstones(writer: Writer, scope: Scope, entries: Collection[Entry], now: datetime) -> None:
    add_tombstones(writer.storage, scope, [entry.id for entry in entries], now)
    for entry in entries:
        if entry.kind != EPISODE and _distinct(entry.text):
            add_text_tombstone(writer.storage, scope, writer.mark(entry.text), now)


def _distinct(text: str) -> bool:
    words = set(terms(text))
    return len(words) >= DISTINCT or any(character.isdigit() for word in words for character in word)
