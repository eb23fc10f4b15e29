"""What the turns of a conversation are to a memory: repeated from another conversation, or left for another branch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from tidal_plugins import Exchange, Message, TidalMemory
from tidal_plugins.apps.histories.conversation import Conversation


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
