"""Forgetting on request: out of every place where it stands, in one transaction [Tidal §2.2].

What forgetting leaves is a tombstone: the ids, so that citations resolve to «forgotten», and a keyed hash of each
text, so that it is not captured again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from tidal_plugins.ingestion.episodes import FORGOTTEN_TEXT, from_entry, summary, to_entry
from tidal_plugins.ingestion.writer import FORGOTTEN, Writer, message_entry_id
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import EPISODE, Entry, Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Where

logger = logging.getLogger(__name__)

DISTINCT = 2
"""Words with a content from which a text is known again: forgetting one «Noted.» must not blank every other."""


def forget(writer: Writer, scope: Scope, ids: Collection[str], now: datetime) -> int:
    """Remove entries and episodes by id, and return how many there were.

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
        with writer.storage.transaction():
            if told != _episodes(writer, scope, told) or _doomed(writer, scope, ids).keys() - doomed.keys():
                continue  # something was recorded into these episodes meanwhile
            _bury(writer, scope, doomed.values(), now)
            writer.storage.erase(scope, list(doomed))
            for record in records:
                writer.storage.replace(scope, record)
        if doomed and not writer.storage.scrub():
            logger.warning("a reader kept the log from being emptied: forgotten bytes go when the memory is closed")
        return len(doomed)


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
        stone = {"at": to_micros(now)}
        writer.storage.write_document(scope, FORGOTTEN, f"id:{entry.id}", stone)
        if entry.kind != EPISODE and len(set(terms(entry.text))) >= DISTINCT:
            writer.storage.write_document(scope, FORGOTTEN, writer.mark(entry.text), stone)
