"""A chat within its limits: its turns as a history to compact, and the result as LlamaIndex's messages [SIYA §2]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, WorkflowRuntimeError

from llama_index_tidal.messages import to_shown, to_written
from llama_index_tidal.sizes import size_of
from llama_index_tidal.turns import Turn
from tidal_plugins import Exchange, Message
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Compaction, Size
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.turns import Place, Style
from tidal_plugins.validation import check_int

TOKEN_BYTES = 4
"""Bytes of a token of a text of which an engine tells only the tokens."""

SCRATCHPAD = "scratchpad"
"""The key under which an agent keeps the messages of an open turn (``FunctionAgent.scratchpad_key``)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The tokens and bytes that a chat may take (``None`` for the memory's own), and how it is shortened."""

    max_tokens: int | None
    max_bytes: int | None
    style: Style
    summariser: Summariser | None
    counter: TokenCounter
    files: CurrentFiles | None = None

    def size(self, messages: Iterable[ChatMessage]) -> list[Size]:
        """Return the size of each message."""
        return [size_of(message, self.counter) for message in messages]


def rebuilt(
    place: Place,
    turns: Sequence[Turn],
    limits: Limits,
    *,
    asked: str | None = None,
    initial_token_count: int = 0,
    held_back: Sequence[ChatMessage] = (),
    **ignored: Any,
) -> tuple[list[ChatMessage], ContextOverflow | None]:
    """Return a chat within its limits, and an error if the messages that an agent holds back make it too long.

    ``asked`` is a question that an engine puts later, ``initial_token_count`` the tokens of its own text. Raises
    ``ContextOverflow`` if the messages that may not be shortened are too long by themselves.
    """
    compactor = place.memory.compactor(
        max_tokens=limits.max_tokens,
        max_bytes=limits.max_bytes,
        summariser=limits.summariser,
        counter=limits.counter,
        files=limits.files,
        nested=place.nested,
    )
    messages = messages_of(turns)
    compact = partial(
        compactor.compact, to_history(turns, place.thread), thread=place.thread, sizes=limits.size(messages)
    )
    fixed = Size(initial_token_count, initial_token_count * TOKEN_BYTES)
    fixed = sum(limits.size([ChatMessage(asked)] if asked else []), fixed)
    try:
        return _shown(compact(reserved=sum(limits.size(held_back), fixed)), messages, limits.style), None
    except ContextOverflow as error:
        if not held_back:
            raise
        # Nothing here can shorten what an agent holds back: all else makes as much room for it as it can.
        return _shown(compact(reserved=fixed, force="hard"), messages, limits.style), error


def messages_of(turns: Sequence[Turn]) -> list[ChatMessage]:
    """Return the messages of turns, in order."""
    return [message for turn in turns for message in turn.messages]


def to_history(turns: Sequence[Turn], thread: str | None) -> list[Exchange]:
    """Return turns as the exchanges of a history, message for message.

    A turn from elsewhere gets no key, because its key would be another one in the next process. It is recognised by its
    texts: an episode of the thread with the same texts is its episode.
    """
    history: list[Exchange] = []
    for turn in turns:
        messages = list(map(to_shown, turn.messages))
        opening = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
        if history and opening == len(messages):  # only the first exchange may consist of system messages
            history[-1] = _longer(history[-1], messages)
            continue
        if not history and opening:
            history.append(Exchange(tuple(messages[:opening]), thread))
            messages = messages[opening:]
        if messages:
            history.append(Exchange(tuple(messages), thread, None if turn.state == "given" else turn.key))
    return history


def limit_of(name: str, limit: int | None) -> int | None:
    """Return a limit of a chat, ``None`` for no compaction, or raise ``InvalidInput``."""
    return None if limit is None else check_int(limit, name, 1)


async def held_back() -> list[ChatMessage]:
    """Return the calls and results that a ``FunctionAgent`` holds back until its turn is over; none outside a step."""
    try:
        held = await Context.get_step_context().store.get(SCRATCHPAD, default=[])
    except (AttributeError, WorkflowRuntimeError):  # outside a step, or of an older release
        return []
    return [message for message in held if isinstance(message, ChatMessage)] if isinstance(held, list) else []


def _longer(exchange: Exchange, messages: Sequence[Message]) -> Exchange:
    return Exchange((*exchange.messages, *messages), exchange.thread, exchange.id)


def _shown(compaction: Compaction, messages: Sequence[ChatMessage], style: Style) -> list[ChatMessage]:
    if not compaction.rebuilt:
        return list(messages)
    pieces = style.messages(compaction)
    return [messages[piece] if isinstance(piece, int) else to_written(piece) for piece in pieces]
