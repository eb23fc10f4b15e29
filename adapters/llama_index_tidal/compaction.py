"""A chat's turns for a compaction, and what it shows of them as LlamaIndex's messages [SIYA §2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.workflow import Context, WorkflowRuntimeError

from llama_index_tidal.messages import WrittenMessage, to_shown
from llama_index_tidal.turns import Turn
from tidal_plugins import Exchange, InvalidInput, Message
from tidal_plugins.model.compaction import Compaction, Kept, Part, RestoredFile, Written
from tidal_plugins.model.transcript import file_text

RestoreAs = Literal["tool", "human"]
SummaryAs = Literal["assistant", "human"]

SCRATCHPAD = "scratchpad"
"""Under which key an agent keeps the messages of a turn that goes on (``FunctionAgent.scratchpad_key``)."""


def to_history(turns: Sequence[Turn], thread: str | None) -> list[Exchange]:
    """Return turns as the exchanges of a history, message for message.

    A turn that came from elsewhere goes without its key, which would be another one in the next process: it is known
    by what it says, and where the thread has an episode that says the same, that is its episode.
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


def shown(
    compaction: Compaction, messages: Sequence[ChatMessage], *, restore_as: RestoreAs, summary_as: SummaryAs
) -> list[ChatMessage]:
    """Return what a compaction shows of the messages of its history."""
    if not compaction.rebuilt:
        return list(messages)
    view: list[ChatMessage] = []
    for piece in compaction.view:
        if isinstance(piece, Kept):
            view.append(messages[piece.position])
        elif isinstance(piece, Written):
            role = MessageRole.USER if piece.part == "question" or summary_as == "human" else MessageRole.ASSISTANT
            view.append(_written(piece.part, role, TextBlock(text=piece.text)))
        else:
            view += _restored(piece, restore_as)
    return view


async def held_back() -> list[ChatMessage]:
    """What a ``FunctionAgent`` keeps to itself until its turn is over (calls and results), where a step of it asks."""
    try:
        held = await Context.get_step_context().store.get(SCRATCHPAD, default=[])
    except (AttributeError, WorkflowRuntimeError):  # outside a step, or of an older release
        return []
    return [message for message in held if isinstance(message, ChatMessage)] if isinstance(held, list) else []


def one_of(name: str, value: Any, choices: Any) -> Any:
    """Return a value that is one of a Literal's; raise ``InvalidInput`` for any other."""
    if value not in get_args(choices):
        raise InvalidInput(f"{name} must be one of {', '.join(get_args(choices))}, got {value!r}")
    return value


def _longer(exchange: Exchange, messages: Sequence[Message]) -> Exchange:
    return Exchange((*exchange.messages, *messages), exchange.thread, exchange.id)


def _restored(file: RestoredFile, restore_as: RestoreAs) -> Iterator[ChatMessage]:
    if restore_as == "human":
        yield _written("file", MessageRole.USER, TextBlock(text=file_text(file)))
        return
    call = ToolCallBlock(tool_call_id=file.id, tool_name=file.tool, tool_kwargs=dict(file.arguments))
    yield _written("file", MessageRole.ASSISTANT, call)
    yield _written("file", MessageRole.TOOL, TextBlock(text=file.content), tool_call_id=file.id)


def _written(
    part: Part | Literal["file"], role: MessageRole, block: TextBlock | ToolCallBlock, **additional: Any
) -> WrittenMessage:
    return WrittenMessage(role=role, blocks=[block], additional_kwargs=additional, part=part)
