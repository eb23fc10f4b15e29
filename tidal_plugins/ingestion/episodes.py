"""Episodes as entries: one row each, with a summary that recall can find and the messages verbatim in the metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tidal_plugins.english.sentences import sentences
from tidal_plugins.ingestion.batch import Batch
from tidal_plugins.ingestion.plan import TurnPlan
from tidal_plugins.model.entry import EPISODE, Entry, Scope, derive_id
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from tidal_plugins.ingestion.writer import Writer

TOOL_TAG = "tool:"


TURNS = "turns"
"""Collection of counters: the number of the last turn of each thread."""


def read_episodes(storage: Storage, scope: Scope, ids: Iterable[str]) -> dict[str, Episode]:
    """Return the episodes that are there, by id."""
    return {id_: from_entry(entry) for id_, entry in storage.get(scope, list(ids)).items()}


def load_numbers(batch: Batch, plans: Sequence[TurnPlan]) -> None:
    """Read the numbers of the last turns of threads."""
    batch.load_documents(TURNS, [key for plan in plans if (key := _counter(batch.scope, plan)) is not None])


def number(batch: Batch, plan: TurnPlan) -> None:
    """Give a new turn its number. The turns of a thread count from 1 in the order in which they were recorded; a turn
    without a thread has the number 0."""
    key = _counter(batch.scope, plan)
    if key is not None:
        turn = 1 + (batch.document(TURNS, key) or 0)
        batch.set_document(TURNS, key, turn)
        plan.episode = replace(plan.episode, turn=turn)


def store_episode(batch: Batch, plan: TurnPlan) -> None:
    """Store an episode, new or grown."""
    record = replace(plan.records[plan.episode.id], entry=to_entry(plan.episode))
    if plan.known is None:
        batch.add(record)
    else:
        batch.replace(record)


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


def _counter(scope: Scope, plan: TurnPlan) -> str | None:
    """Return the key of the counter that gives a turn its number, or ``None`` if it needs none."""
    thread = plan.episode.thread
    if plan.known is not None or thread is None:
        return None
    return derive_id(scope, TURNS, thread)  # a hash: the thread's name may have to be forgotten


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
