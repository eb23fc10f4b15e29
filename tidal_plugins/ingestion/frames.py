"""Frames in a turn: they stand verbatim in its episode, and go when a memory that they cite is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from tidal_plugins.ingestion.batch import Batch
from tidal_plugins.ingestion.plan import TurnPlan
from tidal_plugins.ingestion.wording import unframed
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Entry, Scope, derive_id
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.fence import Frames
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import WhereLinks

SHOWS = "shows"
"""Kind of the link from an episode to an id that a frame in its messages cites."""


def note_shown(batch: Batch, plan: TurnPlan) -> None:
    """Link a turn to what the frames in it cite."""
    scope, id_, now, frames = batch.scope, plan.episode.id, batch.now, batch.writer.frames
    cited = {each for message in plan.episode.messages for each in cited_by(message, frames)}
    batch.put_links(Link(derive_id(scope, SHOWS, id_, each), SHOWS, id_, each, now) for each in sorted(cited))


def cited_by(message: Message, frames: Frames) -> set[str]:
    """Return the ids that the frames in a message, or in the results of its calls, cite."""
    return {id_ for text in _texts(message) for id_ in frames.cited(text)}


def showing(writer: Writer, scope: Scope, entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the episodes in which recall showed one of these entries."""
    cited = {id_ for entry in entries for id_ in (entry.id, entry.episode) if id_}
    return {link.source for link in writer.storage.links(scope, WhereLinks(targets=cited, kinds=[SHOWS]))}


def without_shown(episode: Episode, frames: Frames) -> Episode:
    """Return an episode without what recall showed in it."""
    return replace(episode, messages=unframed(episode.messages, frames))


def without_gone(message: Message, gone: Collection[str], frames: Frames) -> Message:
    """Return a message, without its frames if they cite one of the ids that are ``gone``."""
    if cited_by(message, frames).isdisjoint(gone):
        return message
    [left] = unframed([message], frames)
    return left


def _texts(message: Message) -> list[str]:
    return [message.text, *(call.result for call in message.tool_calls if call.result)]
