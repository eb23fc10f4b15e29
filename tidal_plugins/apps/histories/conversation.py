"""A conversation as it is read from a file: its turns of messages, their branches, and what they are to a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tidal_plugins import Exchange, InvalidInput, Message

if TYPE_CHECKING:
    from tidal_plugins import TidalMemory

LONG = 100_000
"""Characters of a turn after which it is parted. One that long is recorded in 45 ms, and many a hook has half a second:
a turn of several millions would never be recorded within its time, nor would any that follows."""


MALFORMED = (AttributeError, KeyError, TypeError, ValueError)
"""What reading an item raises that only looks like one of its format."""

ROOT = ""
"""The parent of what stands at the beginning."""


class Unknown(Exception):
    """A file is in no format that is known, or not in the one that was named."""


@dataclass(frozen=True)
class Skipped:
    """An item of a file that could not be read, and the reason. What follows it is read."""

    item: str
    reason: str


@dataclass(frozen=True)
class Conversation:
    """The turns of one conversation, each of messages that all have ids. ``at`` is when it began, if that is known.

    ``left`` are turns on branches that another one took the place of. ``parent`` is the conversation that this one was
    forked from, if it is known: its turns are repeated at the beginning.
    """

    thread: str
    turns: Sequence[Sequence[Message]]
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    left: Sequence[Sequence[Message]] = ()
    parent: str | None = None


def turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages into turns, as :func:`opens` says. What stands before the first question is a turn, too."""
    tree = TurnTree()
    tree.add(messages)
    return tree.branches()[0]


def opens(message: Message, last: Message, size: int) -> bool:
    """Return whether a message begins a turn after the ``last`` one of a turn that has ``size`` characters.

    A user's message does that follows something else. So does an agent's that follows a tool's result, if the turn is
    longer than ``LONG``: an agent that works for hours on one request leaves several episodes.
    """
    if message.role == "user":
        return last.role != "user"
    return message.role == "assistant" and last.role == "tool" and size > LONG


def size_of(message: Message) -> int:
    """Return the characters of a message, with those of the arguments of its tools."""
    return len(message.text) + sum(len(str(call.arguments)) for call in message.tool_calls)


def time_of(value: Any) -> datetime | None:
    """Return a time that is given as ISO 8601 or as seconds since 1970; ``None`` for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value  # milliseconds, as some programs write
            return datetime.fromtimestamp(seconds, UTC)
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of blocks; an image or a file is named."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _block(content)
    if isinstance(content, Sequence):
        return "\n".join(text for block in content if (text := text_of(block)))
    return ""


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the arguments of a tool call, which are an object, or JSON, or a text."""
    from json import JSONDecodeError, loads

    if isinstance(value, str):
        try:
            value = loads(value)
        except JSONDecodeError:
            return {"input": value}
    return {str(name): each for name, each in value.items()} if isinstance(value, Mapping) else {"input": value}


def _block(block: Mapping[str, Any]) -> str:
    kind = str(block.get("type", "text"))
    if isinstance(text := block.get("text"), str) and kind in ("text", "input_text", "output_text"):
        return text
    return f"[{kind}]" if kind in ("image", "input_image", "image_url", "document", "file") else ""


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the blocks of a message's content; none of a text."""
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def listed(value: Any, name: str) -> list[Any]:
    """Return a list that may be missing. Raises ``ValueError`` for anything else."""
    if value is None or isinstance(value, list):
        return value or []
    raise ValueError(f"{name} is no list")


@dataclass(slots=True)
class _Turn:
    messages: list[Message]
    before: _Turn | None
    size: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """The end of the first ``count`` messages of a turn."""

    turn: _Turn | None
    count: int = 0


@dataclass(slots=True)
class TurnTree:
    """The turns of a conversation, of which the branch that was written last is current.

    A question goes on from what it names as its parent, or else from what was written last. With ``exact`` an answer
    does, too: two answers to one question are two turns. Without it an answer belongs to the turn that was written
    last, since programs that work in parallel name various parents within one turn.
    """

    exact: bool = False
    _turns: list[_Turn] = field(default_factory=list)
    _places: dict[str, _Place] = field(default_factory=dict)
    _last: _Place = _Place(None)

    def add(self, messages: Iterable[Message], id: str = "", parent: str | None = None) -> None:
        """Add what stands in the tree under ``id``. ``parent`` may be ``ROOT``; one that is not known says nothing.

        What is there already is not added again, as some programs repeat lines: a copy would take its own place.
        """
        if id and id in self._places:
            self._last = self._places[id]
            return
        if parent == ROOT and not self._turns:
            self._places[ROOT] = _Place(None)
        here = self._places.get(parent, self._last) if parent is not None else self._last
        for message in messages:
            here = self._last = self._put(message, here)
        if id:
            self._places[id] = here

    def roll_back(self, turns: int) -> None:
        """Go on from before the last ``turns`` questions."""
        turn = self._last.turn
        while turn is not None and turns > 0:
            turns -= turn.messages[0].role == "user"
            turn = turn.before
        self._last = _Place(turn, len(turn.messages) if turn else 0)

    def branches(self, current: str | None = None) -> tuple[list[list[Message]], list[list[Message]]]:
        """Return the turns of the current branch, by default that of what was added last, and those that were left."""
        turn = self._places.get(current, self._last).turn if current is not None else self._last.turn
        shown: list[_Turn] = []
        while turn is not None:
            shown.append(turn)
            turn = turn.before
        kept = {id(turn) for turn in shown}
        left = [turn.messages for turn in self._turns if id(turn) not in kept]
        return [turn.messages for turn in reversed(shown)], left

    def _put(self, message: Message, place: _Place) -> _Place:
        turn, at_end = place.turn, place.turn is not None and place.count == len(place.turn.messages)
        if turn is not None and not opens(message, turn.messages[place.count - 1], turn.size if at_end else 0):
            if at_end or not (self.exact or message.role == "user"):
                turn.messages.append(message)
                turn.size += size_of(message)
                return _Place(turn, len(turn.messages))
            if message.role != "user":
                return self._again(turn, place.count, message)
        return self._begin([message], turn)

    def _again(self, turn: _Turn, count: int, message: Message) -> _Place:
        """Begin a turn with the question of another, and another answer. Its id says so, since a turn has that of its
        first message."""
        first, *rest = turn.messages[:count]
        return self._begin([replace(first, id=f"{first.id}/{message.id}"), *rest, message], turn.before)

    def _begin(self, messages: list[Message], before: _Turn | None) -> _Place:
        turn = _Turn(messages, before, sum(map(size_of, messages)))
        self._turns.append(turn)
        return _Place(turn, len(messages))


def read_tree(
    nodes: Mapping[str, tuple[str | None, Sequence[Message]]], current: str | None
) -> tuple[list[list[Message]], list[list[Message]]]:
    """Return the turns of the current branch of a tree of messages, and those that were left.

    ``nodes`` have parents and messages by their ids, children of one parent from the oldest to the newest. Without a
    ``current`` node that is known, the branch with the newest message is.
    """
    children: dict[str, list[str]] = {}
    for id_, (parent, _) in nodes.items():
        children.setdefault(parent if parent is not None and parent in nodes else ROOT, []).append(id_)
    begins = [*children.get(ROOT, []), *nodes]  # all of them: from a circle of parents no beginning leads to its nodes
    tree, waiting = TurnTree(exact=True), [(ROOT, id_) for id_ in reversed(begins)]
    newest, tip, done = "", None, set[str]()
    while waiting:
        parent, id_ = waiting.pop()
        if id_ in done:
            continue
        done.add(id_)
        messages = nodes[id_][1]
        tree.add(messages, id_, parent)
        at = max((message.at.isoformat() for message in messages if message.at), default="")
        if at >= newest:
            newest, tip = at, id_
        waiting += [(id_, child) for child in reversed(children.get(id_, []))]
    return tree.branches(current if current in nodes else tip)


def record_all(
    memory: TidalMemory, exchanges: Sequence[Exchange], refused: Callable[[Exchange, str], object]
) -> list[Exchange]:
    """Record turns in one transaction, and return those that are stored.

    One that cannot be is given to ``refused`` with the reason, and the others are stored.
    """
    try:
        memory.record_many(exchanges)
    except InvalidInput as error:
        if len(exchanges) > 1:
            return [stored for exchange in exchanges for stored in record_all(memory, [exchange], refused)]
        refused(exchanges[0], str(error))
        return []
    return list(exchanges)


def repeated(memory: TidalMemory, conversation: Conversation) -> int:
    """Return how many turns at its beginning a conversation repeats from the one that it was forked from.

    Some programs name that one; others repeat its messages under their ids, which no other conversation has.
    """
    turns = conversation.turns
    if conversation.parent is not None:
        history = [Exchange(tuple(turn)) for turn in turns]
        held = memory.episodes.match(history, thread=conversation.parent).episodes if history else ()
        return next((number for number, episode in enumerate(held) if episode is None), len(held))
    return next((n for n, turn in enumerate(turns) if not _elsewhere(memory, turn, conversation.thread)), len(turns))


def settle(memory: TidalMemory, conversation: Conversation) -> None:
    """Take the turns on branches that were left out of recall, and those of the current branch into it again."""

    def ids(turns: Sequence[Sequence[Message]]) -> list[str]:
        return [memory.episodes.id_of(str(turn[0].id), thread=conversation.thread) for turn in turns]

    memory.episodes.follow({}, replaced=ids(conversation.left), back=ids(conversation.turns))


def _elsewhere(memory: TidalMemory, turn: Sequence[Message], thread: str) -> bool:
    first = turn[0]
    if first.at is None or not first.id:
        return False
    then = memory.episodes.list(since=first.at, until=first.at + timedelta(microseconds=1))
    return any(episode.thread != thread and episode.messages[0].id == first.id for episode in then)
