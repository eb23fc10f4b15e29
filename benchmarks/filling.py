"""Fill a memory with the sessions of a conversation, as an application would have recorded them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.locomo import Session, Turn
from tidal_plugins import (
    Exchange,
    Message,
    Note,
    TidalMemory,
)


def fill(memory: TidalMemory, sessions: Sequence[Session]) -> None:
    """Record sessions: one exchange for each turn of a person, with the assistant's turns that follow it."""
    exchanges: list[Exchange] = []
    for session in sessions:
        for turns in exchanges_in(session):
            exchanges.append(Exchange(tuple(map(to_message, turns)), session.id, occurred_at=turns[0].at))
    documents = [
        Note(turn.text, thread=session.id, occurred_at=turn.at, metadata={"message": turn.id})
        for session in sessions
        for turn in session.turns
        if turn.role == "document"
    ]
    memory.record_many(exchanges)
    memory.remember(documents)
    memory.supersessions.find()  # the background may not have come to it
    memory.graph.index_pending()  # what the graph says must not take the places of what was said


def exchanges_in(session: Session) -> Iterator[list[Turn]]:
    held: list[Turn] = []
    for turn in session.turns:
        if turn.role == "user" and held:
            yield held
            held = []
        if turn.role != "document":
            held.append(turn)
    if held:
        yield held


def to_message(turn: Turn) -> Message:
    return Message("assistant" if turn.role == "assistant" else "user", turn.text, turn.id, turn.speaker, at=turn.at)
