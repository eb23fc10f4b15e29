"""Corrections: the earlier wordings of entries, and episodes with the words that stand now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidal_plugins.ingestion.episodes import read_episodes
from tidal_plugins.ingestion.writer import message_entry_id
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.link import WORDING
from tidal_plugins.storage.base import Storage, WhereLinks


def wordings(storage: Storage, scope: Scope, ids: Iterable[str]) -> dict[str, Entry]:
    """Return the entries that keep earlier wordings of some entries, by id."""
    links = storage.links(scope, WhereLinks(sources=list(ids), kinds=[WORDING]))
    return storage.get(scope, [link.target for link in links]) if links else {}


def read_corrected(storage: Storage, scope: Scope, ids: Iterable[str]) -> dict[str, Episode]:
    """Return the episodes that are there, by id, with the words of their messages as they were corrected."""
    found = read_episodes(storage, scope, ids)
    said = {id_ for episode in found.values() for id_ in episode.entries}
    links = storage.links(scope, WhereLinks(sources=said, kinds=[WORDING])) if said else []
    corrected = storage.get(scope, {link.source for link in links}) if links else {}
    return {id_: _as_corrected(episode, corrected) for id_, episode in found.items()} if corrected else found


def _as_corrected(episode: Episode, corrected: Mapping[str, Entry]) -> Episode:
    def reworded(message: Message) -> Message:
        entry = corrected.get(message_entry_id(episode, message))
        return message if entry is None or message.text == FORGOTTEN_TEXT else replace(message, text=entry.text)

    return replace(episode, messages=tuple(map(reworded, episode.messages)))
