"""Episodes as sources to condense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.dossier import Source
from tidal_plugins.model.exchange import Episode, Message
from tidal_plugins.secrets.finding import masked, masked_value


def source_of(episode: Episode, delimiters: Delimiters, indexes: Iterable[int] | None = None) -> Source:
    """Return the messages of an episode, all or those at some indexes, under ids unique in the store.

    Secrets are hidden: nothing that is written of them may tell them again. Nor may what recall showed, between
    ``delimiters``.
    """
    places = range(len(episode.messages)) if indexes is None else sorted(indexes)
    said = (replace(_shown(episode.messages[at], delimiters), id=f"{episode.id}/{at}") for at in places)
    return Source(episode.id, tuple(said), episode.occurred_at)


def _shown(message: Message, delimiters: Delimiters) -> Message:
    calls = tuple(replace(call, arguments=masked_value(call.arguments)) for call in message.tool_calls)
    return replace(message, text=masked(delimiters.strip(message.text)), tool_calls=calls)
