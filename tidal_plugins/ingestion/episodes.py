"""Episodes as entries: one row each, with a summary that recall can find and the messages verbatim in the metadata.

Delimiters that recall put into a turn stand verbatim in its episode, and go when a memory that they cite is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tidal_plugins.english.sentences import sentences
from tidal_plugins.ingestion.writer import Writer, message_entry_id
from tidal_plugins.model.delimiters import FRAMED, Delimiters
from tidal_plugins.model.entry import EPISODE, WORDING, Entry, Scope
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Message, ToolCall
from tidal_plugins.storage.base import Storage, WhereLinks

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TOOL_TAG = "tool:"

SUMMARISE = "job:summarise"
"""Jobs by episode, for the summariser."""

TURNS = "turns"
"""Collection of counters: the number of the last turn of each thread."""

SHOWS = "shows"
"""Kind of the link from an episode to an id that a frame in its messages cites."""


def read_episodes(storage: Storage, scope: Scope, ids: Iterable[str]) -> dict[str, Episode]:
    """Return the episodes that are there, by id."""
    return {id_: from_entry(entry) for id_, entry in storage.get(scope, list(ids)).items()}


def to_entry(episode: Episode) -> Entry:
    """Return an episode as the row that holds it."""
    tools = dict.fromkeys(call.name for call in episode.tool_calls)
    return Entry(
        id=episode.id,
        kind=EPISODE,
        text=episode.summary,
        scope=episode.scope,
        occurred_at=episode.occurred_at,
        recorded_at=episode.recorded_at,
        thread=episode.thread,
        episode=episode.id,
        position=episode.turn,
        channel="record",
        tags=tuple(TOOL_TAG + name for name in tools),
        metadata={
            "messages": _messages().dump_python(episode.messages, mode="json", exclude_defaults=True),
            "entries": list(episode.entries),
            "surfaced": list(episode.surfaced),
            "metadata": dict(episode.metadata),
        },
    )


def from_entry(entry: Entry) -> Episode:
    """Return the episode that a row holds."""
    content = entry.metadata
    return Episode(
        id=entry.id,
        scope=entry.scope,
        messages=_messages().validate_python(content["messages"]),
        summary=entry.text,
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        thread=entry.thread,
        turn=entry.position or 0,
        entries=tuple(content["entries"]),
        surfaced=tuple(content["surfaced"]),
        metadata=content["metadata"],
    )


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


def message_ids(row: Entry) -> set[str]:
    """Return the ids of the messages of the episode that a row holds."""
    return {message["id"] for message in row.metadata["messages"]}


def summarised(writer: Writer, scope: Scope, id_: str, text: str) -> None:
    """Give an episode another summary, if it is still there. Takes no lock while it embeds."""
    while row := writer.storage.get(scope, [id_]).get(id_):
        [record] = writer.records([replace(row, text=writer.redaction.text(text))])
        with writer.storage.transaction():
            if writer.storage.get(scope, [id_]).get(id_) != row:
                continue  # it grew, or lost a part, meanwhile
            writer.put(scope, [record], replace=True)
        return


def summary(messages: Iterable[Message], max_chars: int) -> str:
    """Return the question, the tools that ran and the answer in at most ``max_chars`` characters, without a model.

    Episodes are found by the meaning of this text [SIYA §3.2].
    """
    messages = list(messages)
    asked = " ".join(message.text for message in messages if message.role == "user")
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    tools = dict.fromkeys(call.name for message in messages for call in message.tool_calls)
    ran = f"[{', '.join(tools)}] " if tools else ""
    room = max_chars - min(len(ran), max_chars // 4) - 3
    question = _opening(asked, room // 2 if said else room)
    answer = _opening(said[-1], room - len(question)) if said else ""
    return " → ".join(part for part in (question, ran[: max_chars // 4] + answer) if part.strip()).strip()


def cited_by(message: Message, delimiters: Delimiters) -> set[str]:
    """Return the ids that the delimiters in a message, or in the results of its calls, cite."""
    if not _is_framed(message):
        return set()
    texts = [message.text, message.reasoning, *(call.result for call in message.tool_calls if call.result)]
    return {id_ for text in texts for id_ in delimiters.cited(text)}


def showing(writer: Writer, scope: Scope, entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the episodes in which recall showed one of these entries."""
    cited = {id_ for entry in entries for id_ in (entry.id, entry.episode) if id_}
    return {link.source for link in writer.storage.links(scope, WhereLinks(targets=cited, kinds=[SHOWS]))}


def without_shown(episode: Episode, delimiters: Delimiters) -> Episode:
    """Return an episode without what recall showed in it."""
    return replace(episode, messages=unframed(episode.messages, delimiters))


def without_gone(message: Message, gone: Collection[str], delimiters: Delimiters) -> Message:
    """Return a message, without its delimiters if they cite one of the ids that are ``gone``."""
    if cited_by(message, delimiters).isdisjoint(gone):
        return message
    [left] = unframed([message], delimiters)
    return left


def unframed(messages: Iterable[Message], delimiters: Delimiters) -> tuple[Message, ...]:
    """Return the messages as they are indexed and compared: without what recall added."""
    return tuple(_unframed(message, delimiters) if _is_framed(message) else message for message in messages)


def _unframed(message: Message, delimiters: Delimiters) -> Message:
    text, reasoning = delimiters.strip(message.text), delimiters.strip(message.reasoning)
    calls = tuple(_unframed_call(call, delimiters) for call in message.tool_calls)
    left = replace(message, text=text, tool_calls=calls, reasoning=reasoning)
    return message if left == message else left


def _unframed_call(call: ToolCall, delimiters: Delimiters) -> ToolCall:
    return replace(call, result=delimiters.strip(call.result)) if call.result else call


def _is_framed(message: Message) -> bool:
    """Return whether a message may have a frame in it."""
    if FRAMED in message.text or FRAMED in message.reasoning:
        return True
    return bool(message.tool_calls) and any(call.result and FRAMED in call.result for call in message.tool_calls)


def _opening(text: str, max_chars: int) -> str:
    """Return the first sentences that fit, or the first one cut at a word."""
    text = text.strip()
    end = 0
    for _, sentence_end in sentences(text[: max_chars + 1]):
        if sentence_end > max_chars:
            break
        end = sentence_end
    if not end and len(text) > max_chars:
        end = text.rfind(" ", 0, max_chars) if " " in text[:max_chars] else max_chars
    return " ".join(text[: end or None].split())


@cache
def _messages() -> TypeAdapter[tuple[Message, ...]]:
    from pydantic import TypeAdapter  # takes a while to import

    return TypeAdapter(tuple[Message, ...])
