"""Branches of a conversation: its turns as a tree, since people edit what they asked and have answers made anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidal_plugins import Message
from tidal_plugins.apps.histories.conversation import opens, size_of

ROOT = ""
"""The parent of what stands at the beginning."""


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
