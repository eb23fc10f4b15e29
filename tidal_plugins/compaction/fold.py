"""Folding an ongoing turn that is too long: its oldest complete tool pairs go, the request and the last pairs stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tidal_plugins.compaction.turns import Turn
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.exchange import Message


def foldable(turn: Turn, sizes: Sequence[Size], aim: Size) -> tuple[int, ...]:
    """Return the indexes in :attr:`Turn.said` to fold, so that the rest is within ``aim`` or as near to it as possible.

    ``sizes`` are those of its messages.
    """
    steps = _steps(turn.said)
    last = max((number for number, step in enumerate(steps) if len(step) > 1), default=0)
    left = sum(sizes, Size())
    folded: list[int] = []
    for step in steps[:last]:  # the last pair stays, and what follows it
        if left.within(aim):
            break
        left = left - sum((sizes[index] for index in step), Size())
        folded += step
    return tuple(folded)


def _steps(messages: Sequence[Message]) -> list[list[int]]:
    """Group the assistant's messages into steps, by their positions.

    A step is a message that calls tools with all its results, or a message that only says something. Calls that lack a
    result are no step.
    """
    steps: list[list[int]] = []
    index = 0
    while index < len(messages):
        step = [index]
        message = messages[index]
        while index + 1 < len(messages) and messages[index + 1].role == "tool":
            index += 1
            step.append(index)
        calls = Counter(call.id for call in message.tool_calls)
        results = Counter(messages[at].tool_call_id for at in step[1:])
        if message.role == "assistant" and calls == results:
            steps.append(step)
        index += 1
    return steps
