"""A chat history as turns: which of them the store has, which it has yet to get, how they fit its limits [SIYA §2]."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.workflow import Context, WorkflowRuntimeError

from llama_index_tidal.messages import (
    FirstMessage,
    WrittenMessage,
    copies,
    finished,
    size_of,
    text_of,
    to_chat_message,
    to_message,
    to_messages,
    to_shown,
    to_written,
    without_whisper,
)
from tidal_plugins import Episode, Exchange, Message, TidalMemory
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Compaction, Size
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.turns import KeptWhisper, Place, Style, by_agent, drop_kept, read_kept, recording
from tidal_plugins.validation import check_int

State = Literal["new", "stored", "given"]


TOKEN_BYTES = 4
"""Bytes of a token of a text of which an engine tells only the tokens."""

SCRATCHPAD = "scratchpad"
"""The key under which an agent keeps the messages of an open turn (``FunctionAgent.scratchpad_key``)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages from one by the user to the next, under the key that they are recorded with.

    ``new``: the turn, or a part that was added to it, is not stored yet. ``stored``: all of it is stored; the messages
    may be missing until they are read from the store. ``given``: it came with a history from elsewhere and is not
    recorded. In a ``nested`` one another agent asked.
    """

    messages: tuple[ChatMessage, ...]
    key: str = field(default_factory=lambda: secrets.token_hex(8), compare=False)
    state: State = "new"
    nested: bool = False

    @property
    def question(self) -> str:
        """Return the user's words in it."""
        return "\n\n".join(text_of(message) for message in self.messages if message.role == MessageRole.USER)

    @property
    def asked(self) -> bool:
        return any(message.role == MessageRole.USER for message in self.messages)

    @property
    def recordable(self) -> bool:
        """Return whether the user asked, or the memory spoke first. A greeting of a framework is neither."""
        return self.asked or isinstance(self.messages[0], FirstMessage)

    @property
    def waits(self) -> bool:
        """Return whether the user waits for an answer."""
        return self.asked and not finished(self.messages)

    def asks(self, question: str) -> bool:
        """Return whether it waits for the answer to this question: an agent asks again after its tools have run."""
        asked = [message for message in self.messages if message.role == MessageRole.USER]
        if not asked or not self.waits:
            return False
        return "\n".join(block.text for block in asked[-1].blocks if isinstance(block, TextBlock)) == question


def grown(turns: Sequence[Turn], messages: Iterable[ChatMessage], nested: bool = False) -> list[Turn]:
    """Return the turns with more messages at their end.

    A turn begins with a message by the user that follows something else, or with what the memory said first. What
    stands before the first one (a system prompt, a greeting) is kept and not recorded. What a compaction wrote is no
    part of it.
    """
    turns = list(turns)
    for message in copies([message for message in messages if not isinstance(message, WrittenMessage)]):
        last = turns[-1] if turns else None
        if last is None or last.state == "given" or _begins(message, last):
            turns.append(Turn((message,), nested=nested))
        else:
            turns[-1] = replace(last, messages=(*last.messages, message), state="new")
    return turns


def replaced(turns: Sequence[Turn], messages: Iterable[ChatMessage], nested: bool = False) -> list[Turn]:
    """Return the turns of a history that replaces ``turns``.

    Known turns stay unchanged. Of the others only a last turn that waits for its answer is new.
    """
    known: dict[object, list[Turn]] = {}
    for turn in turns:
        known.setdefault(_mark(turn), []).append(turn)
    given = grown([], messages, nested)
    waiting = given[-1] if given and given[-1].waits else None
    return [_taken(known, turn) or (turn if turn is waiting else replace(turn, state="given")) for turn in given]


def resumed(turns: Sequence[Turn], view: Sequence[ChatMessage], delimiters: Delimiters) -> list[Turn]:
    """Return the turns of a history in which a compaction's view replaced ``turns``.

    The turns that the view stands for come back. The turns after it are known ones, unchanged, or new ones.
    """
    ends = [n for n, each in enumerate(view) if isinstance(each, WrittenMessage) and each.part != "fold"]
    shown = view[ends[-1] + 1 if ends else 0 :]
    rest = grown([], (without_whisper(message, delimiters) for message in shown))
    places = [max(0, len(turns) - len(rest)), *reversed(range(len(turns)))] if rest else []
    place = next((place for place in places if _continues(turns[place:], rest)), len(turns))
    whole = [turn if _holds(turn, left) else left for turn, left in zip(turns[place:], rest, strict=False)]
    rest[: len(whole)] = whole
    return [*turns[:place], *replaced(turns[place:], (message for turn in rest for message in turn.messages))]


def to_exchange(turn: Turn, thread: str | None, surfaced: Sequence[str] = ()) -> Exchange | None:
    """Return a turn as an exchange to record, or ``None`` if it has no text."""
    said = [each for message in turn.messages for each in to_messages(message)]
    exchange = recording.to_exchange(said, thread, turn.key, surfaced)
    return by_agent(exchange) if exchange and turn.nested else exchange


def dump(turn: Turn) -> dict[str, Any]:
    """Return a turn as plain JSON: its key if the store can return it unchanged, else with its messages."""
    plain: dict[str, Any] = {"key": turn.key, "state": turn.state, "nested": turn.nested}
    if turn.state != "stored" or turn.nested or not all(map(_survives, turn.messages)):
        plain["messages"] = [message.model_dump(mode="json") for message in turn.messages]
    return plain


def load(plain: Mapping[str, Any]) -> Turn:
    """Return the turn of a :func:`dump`, without the messages that are in the store."""
    messages = tuple(ChatMessage.model_validate(message) for message in plain.get("messages", ()))
    return Turn(messages, plain["key"], plain["state"], plain.get("nested", False))


def filled(memory: TidalMemory, thread: str, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with the messages that the store has of them; those that were forgotten are left out."""
    if all(turn.messages for turn in turns):
        return list(turns)
    episodes = {episode.id: episode for episode in memory.episodes.list(thread=thread)}
    found = []
    for turn in turns:
        if turn.messages:
            found.append(turn)
        elif episode := episodes.get(memory.episodes.id_of(turn.key, thread=thread)):
            found.append(replace(turn, messages=tuple(map(to_chat_message, episode.messages))))
    return found


def stored(memory: TidalMemory, thread: str, last: int | None = None) -> list[Turn]:
    """Return the turns of a thread that the store has, all or the ``last``, for a history that was lost."""
    episodes = memory.episodes.list(thread=thread, limit=last, newest_first=True)[::-1]
    return [_stored(memory, episode) for episode in episodes]


def _stored(memory: TidalMemory, episode: Episode) -> Turn:
    """Return an episode as a turn, under the key that it was recorded with if its messages tell it."""
    messages, first = tuple(map(to_chat_message, episode.messages)), episode.messages[0].id or ""
    for key in (first.rpartition("/")[0], first):
        if key and memory.episodes.id_of(key, thread=episode.thread) == episode.id:
            return Turn(messages, key, "stored")
    return Turn(messages, state="given")


def _begins(message: ChatMessage, last: Turn) -> bool:
    if isinstance(message, FirstMessage):
        return True
    return message.role == MessageRole.USER and last.messages[-1].role != MessageRole.USER


def _continues(turns: Sequence[Turn], rest: Sequence[Turn]) -> bool:
    """Return whether a view shows ``turns`` as ``rest``; the last turn may have gone on, or others may follow."""
    pairs = list(zip(turns, rest, strict=False))
    held = all(_holds(turn, left) for turn, left in pairs[:-1])
    return bool(pairs) and held and pairs[-1][0].messages[:1] == pairs[-1][1].messages[:1]


def _holds(turn: Turn, rest: Turn) -> bool:
    """Return whether a fold left ``rest`` of a turn."""
    left = iter(turn.messages)
    return all(message in left for message in rest.messages)


def _mark(turn: Turn) -> object:
    return tuple((message.role, text_of(message)) for message in turn.messages)


def _taken(known: Mapping[object, list[Turn]], turn: Turn) -> Turn | None:
    """Return the known turn with the same messages; the same words said twice are two turns."""
    same = known.get(_mark(turn), [])
    found = next((each for each in same if each.messages == turn.messages), None)
    if found:
        same.remove(found)
    return found


def _survives(message: ChatMessage) -> bool:
    """Return whether the store returns a message unchanged."""
    recorded = to_message(message)
    return recorded is not None and to_chat_message(recorded) == message


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
        compactor.compact, to_history(turns, place.thread), thread=place.thread, sizes=_sizes(place, turns, limits)
    )
    fixed = Size(initial_token_count, initial_token_count * TOKEN_BYTES)
    fixed = sum(limits.size([ChatMessage(asked)] if asked else []), fixed)
    overflow: ContextOverflow | None = None
    try:
        compaction = compact(reserved=sum(limits.size(held_back), fixed))
    except ContextOverflow as error:
        if not held_back:
            raise
        # Nothing here can shorten what an agent holds back: all else makes as much room for it as it can.
        compaction, overflow = compact(reserved=fixed, force="hard"), error
    if compaction.stage in ("compact", "hard"):
        drop_kept(place, [to_exchange(turn, place.thread) for turn in turns])
    return _shown(compaction, messages, limits.style), overflow


def kept_by(turns: Sequence[Turn], kept: Mapping[int, KeptWhisper]) -> dict[int, KeptWhisper]:
    """Return the whispers that turns keep, by the identity of the messages that show them: the user's last of each."""
    found = {}
    for place, whisper in kept.items():
        asked = [message for message in turns[place].messages if message.role == MessageRole.USER]
        if asked:
            found[id(asked[-1])] = whisper
    return found


def _sizes(place: Place, turns: Sequence[Turn], limits: Limits) -> list[Size]:
    """Return the sizes of the messages of turns, with the whispers that completed turns keep."""
    kept = read_kept(place, [to_exchange(turn, place.thread) for turn in turns])
    if turns and turns[-1].waits:  # there is always room for the one of the open turn
        kept.pop(len(turns) - 1, None)
    shown, messages = kept_by(turns, kept), messages_of(turns)
    whispers = [[ChatMessage(shown[id(each)].text)] if id(each) in shown else [] for each in messages]
    own = zip(limits.size(messages), map(limits.size, whispers), strict=True)
    return [sum(beside, size) for size, beside in own]


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
