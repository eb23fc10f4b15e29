"""LangChain's messages as turns of a memory; a whisper into messages, and a capsule ahead of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import ToolCall as LangChainCall
from pydantic import BaseModel

from tidal_plugins import Exchange, Message, ToolCall
from tidal_plugins.model.delimiters import FRAMED, Delimiters
from tidal_plugins.model.exchange import REASONING, reasoning_of
from tidal_plugins.turns import Cache, KeptWhisper, Surfaced, json_arguments, recording, spoken_text

COMPACTION = "tidal_compaction"
"""The ``lc_source`` of messages that compaction wrote."""

CAPSULE = "tidal_capsule"
"""The ``lc_source`` of the message that holds the capsule."""

WHISPER = "tidal_whisper"
"""The ``lc_source`` of a message that holds nothing but the whisper."""

PRESENCE = "tidal_presence"
"""The ``lc_source`` of what the memory said first. Under the same name stands what it rests on."""


MAX_AGE = timedelta(hours=4)


def turns(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Split a history into turns: each begins with a human message that follows something else, or with what the
    memory said first.

    What stands before the first human message (a system prompt) belongs to no turn, nor does what a framework wrote
    in a human's name, or compaction in anybody's.
    """
    return [
        [message for message in span if not (is_notice(message) or by_compaction(message))]
        for span in spans(messages)[1:]
    ]


def spans(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Split a history so that every message is in one span: first those before the first turn, then the turns."""
    found: list[list[BaseMessage]] = [[]]
    previous: BaseMessage | None = None
    for message in messages:
        if by_presence(message) or (by_human(message) and (previous is None or not by_human(previous))):
            found.append([])
        found[-1].append(message)
        previous = previous if is_notice(message) else message
    return found


def by_human(message: BaseMessage) -> bool:
    """Return whether a human wrote a message: LangChain puts marked summaries and notices into human messages too."""
    if not isinstance(message, HumanMessage) or by_compaction(message):
        return False
    return bool(message.additional_kwargs.get("lc_source", COMPACTION) == COMPACTION)  # a client may set it as well


def by_compaction(message: BaseMessage) -> bool:
    """Return whether our compaction wrote a message, be it in the assistant's, a tool's or a human's name.

    The mark alone would let a client make any message disappear: the id tells, too.
    """
    marks = message.additional_kwargs
    if marks.get("lc_source") != COMPACTION or not marks.get(COMPACTION):
        return False
    return (message.id or "").startswith(written_id(marks[COMPACTION], ""))


def written_id(compaction: str, part: str) -> str:
    """Return the id of a message that a compaction wrote."""
    return f"tidal-{compaction}-{part}"


def by_capsule(message: BaseMessage) -> bool:
    """Return whether a message holds the capsule."""
    return message.additional_kwargs.get("lc_source") == CAPSULE


def by_presence(message: BaseMessage) -> bool:
    """Return whether the memory said a message first, to which no human message led."""
    return isinstance(message, AIMessage) and message.additional_kwargs.get("lc_source") == PRESENCE


def is_notice(message: BaseMessage) -> bool:
    """Return whether some other framework wrote a message in a human's name."""
    return isinstance(message, HumanMessage) and not by_human(message) and not by_compaction(message)


def finished(turn: Sequence[BaseMessage]) -> bool:
    """Return whether a turn ends with an answer, not with a call of tools or their results."""
    last = turn[-1]
    return isinstance(last, AIMessage) and not last.tool_calls


def turn_key(turn: Sequence[BaseMessage]) -> str | None:
    """Return the key that a turn is recorded under: the id of its first message with one."""
    return next((message.id for message in turn if message.id), None)


def question(turn: Sequence[BaseMessage]) -> str:
    """Return the human's words in a turn."""
    return "\n\n".join(text_of(message) for message in turn if isinstance(message, HumanMessage))


def to_exchange(turn: Sequence[BaseMessage], thread: str | None, surfaced: Sequence[str] = ()) -> Exchange | None:
    """Return a turn as an exchange to record, or ``None`` if it has no text."""
    return recording.to_exchange([to_message(message) for message in turn], thread, surfaced=surfaced)


def with_structured_answer(turn: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a turn that ended with a structured response (``ToolStrategy``), with its arguments for an answer.

    The model gave them in a call of a tool, and wrote no text of its own. They are JSON here.
    """
    said = list(turn)
    result = said[-1] if said else None
    for place in range(len(said) - 2, -1, -1):
        message = said[place]
        if not isinstance(result, ToolMessage) or not isinstance(message, AIMessage):
            continue
        call = next((call for call in message.tool_calls if call["id"] == result.tool_call_id), None)
        if call:
            parts = [text_of(message), _json(call["args"])]
            said[place] = message.model_copy(update={"content": "\n\n".join(part for part in parts if part.strip())})
            break
    return said


def answered(output: Any) -> list[BaseMessage]:
    """Return the output of a model or chain as messages: of several, those that follow the last human one.

    Output that is neither text nor messages becomes JSON.
    """
    if isinstance(output, BaseMessage):
        return [output]
    if isinstance(output, list) and output and all(isinstance(item, BaseMessage) for item in output):
        asked = [index for index, message in enumerate(output) if by_human(message)]
        return output[asked[-1] + 1 :] if asked else output
    return [AIMessage(output if isinstance(output, str) else _json(output))]


def to_message(message: BaseMessage) -> Message | None:
    """Return a message to record; ``None`` for one that is no part of the conversation, such as a system prompt."""
    if by_compaction(message):
        return None
    text = spoken_text(text_of(message))
    if isinstance(message, HumanMessage):
        return Message("user", text, message.id, message.name or None)
    if isinstance(message, AIMessage):
        calls = tuple(map(_call, message.tool_calls))
        blocks = message.content if isinstance(message.content, list) else []
        beside = {"type": "reasoning", "reasoning": message.additional_kwargs.get("reasoning_content")}
        reasoning = reasoning_of([*blocks, beside])
        return Message("assistant", text, message.id, message.name or None, calls, reasoning=reasoning)
    if isinstance(message, ToolMessage):
        failed = message.status == "error"
        return Message("tool", text, message.id, tool_call_id=message.tool_call_id or None, error=failed)
    return None


def text_of(message: BaseMessage) -> str:
    """Return the text of a message. Content that is no text (an image, a file) is named in brackets, not stored."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part for part in map(_part, message.content) if part)


def with_whisper(messages: Sequence[BaseMessage], whisper: str) -> list[BaseMessage]:
    """Return the messages with the whisper at the head of the last human one; the given ones stay as they are.

    There it stands between no tool call and its result.
    """
    shown = list(messages)
    for index in range(len(shown) - 1, -1, -1):
        message = shown[index]
        if by_human(message):
            shown[index] = _whispered(message, whisper)
            break
    return shown


def with_whispers(
    messages: Sequence[BaseMessage], history: Sequence[Sequence[BaseMessage]], surfaced: Surfaced, cache: Cache
) -> list[BaseMessage]:
    """Return the messages with the whispers that a call shows: those that earlier turns of the history keep, and that
    of the open one."""
    kept = kept_by(history, surfaced.kept)
    shown = [_whispered(message, kept.get(_identity(message))) for message in messages]
    return with_tail(shown, surfaced.whisper.text) if cache == "tail" else with_whisper(shown, surfaced.whisper.text)


def kept_by(history: Sequence[Sequence[BaseMessage]], kept: Mapping[int, KeptWhisper]) -> dict[Any, str]:
    """Return the whispers that turns keep, by the messages that show them: the last human one of each turn."""
    found = {}
    for place, whisper in kept.items():
        if asked := next(filter(by_human, reversed(history[place])), None):
            found[_identity(asked)] = whisper.text
    return found


def with_tail(messages: Sequence[BaseMessage], whisper: str) -> list[BaseMessage]:
    """Return the messages with the whisper as the last thing: behind the human's words, or behind the results of tools
    in a message of its own."""
    shown = list(messages)
    if not whisper or not shown:
        return shown
    if isinstance(shown[-1], HumanMessage):
        content = shown[-1].content
        text: Any = f"{content}\n\n{whisper}"
        content = text if isinstance(content, str) else [*content, {"type": "text", "text": whisper}]
        shown[-1] = shown[-1].model_copy(update={"content": content})
    elif isinstance(shown[-1], ToolMessage):
        shown.append(HumanMessage(whisper, id=WHISPER, additional_kwargs={"lc_source": WHISPER}))
    else:  # no provider takes a human message in the middle of what the assistant says
        return with_whisper(shown, whisper)
    return shown


def without_whisper(message: BaseMessage, delimiters: Delimiters) -> BaseMessage:
    """Return a human message without the whispers in it; any other, and one that has none, as it is."""
    if not isinstance(message, HumanMessage) or FRAMED not in message.text:
        return message
    said = message.content
    if isinstance(said, str):
        content: Any = said if (left := delimiters.strip(said)) == said else left.removesuffix("\n\n")
    else:
        content = [part for part in said if not (isinstance(part, dict) and _is_whisper(part, delimiters))]
    return message if content == said else message.model_copy(update={"content": content})


def _is_whisper(part: Mapping[str, Any], delimiters: Delimiters) -> bool:
    text = part.get("text")
    return bool(text) and part.get("type") == "text" and not delimiters.strip(str(text)).strip()


def by_whisper(message: BaseMessage) -> bool:
    """Return whether a message holds nothing but the whisper."""
    return message.additional_kwargs.get("lc_source") == WHISPER


def _identity(message: BaseMessage) -> Any:
    return message.id or id(message)


def _whispered(message: BaseMessage, whisper: str | None) -> BaseMessage:
    if not whisper or not by_human(message):
        return message
    return message.model_copy(update={"content": _prefixed(whisper, message.content)})


def _json(value: Any) -> str:
    return json.dumps(value.model_dump() if isinstance(value, BaseModel) else value, default=str, ensure_ascii=False)


def _call(call: LangChainCall) -> ToolCall:
    return ToolCall(call["name"] or "unnamed", json_arguments(call["args"]), call["id"] or None)


def _prefixed(whisper: str, content: str | list[Any]) -> str | list[Any]:
    if isinstance(content, str):
        return f"{whisper}\n\n{content}"
    return [{"type": "text", "text": whisper}, *content]


def _part(part: str | dict[str, Any]) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("type", "part"))
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "non_standard" and isinstance(inner := part.get("value"), dict):  # as LangChain wraps a provider's own
        return _part(inner)
    return "" if kind in (*REASONING, "tool_use", "tool_call") else f"[{kind}]"


def with_capsule(messages: Sequence[BaseMessage], capsule: BaseMessage | None) -> list[BaseMessage]:
    """Return the messages with the capsule behind the system messages that they begin with, or without any."""
    shown = [message for message in messages if not by_capsule(message)]
    if capsule is not None:
        place = next((index for index, message in enumerate(shown) if message.type != "system"), len(shown))
        shown.insert(place, capsule)
    return shown


def capsule_message(text: str) -> SystemMessage | None:
    """Return a prefix as a message that is marked, so that nothing takes it for a part of the conversation."""
    return SystemMessage(text, id="tidal-capsule", additional_kwargs={"lc_source": CAPSULE}) if text else None


def appended(message: SystemMessage | None, text: str) -> SystemMessage | None:
    """Return a system message with the prefix after its text; the given message is not changed."""
    if message is None or not text:
        return message or capsule_message(text)
    said = message.content
    content = f"{said}\n\n{text}" if isinstance(said, str) else [*said, {"type": "text", "text": text}]
    return message.model_copy(update={"content": content})
