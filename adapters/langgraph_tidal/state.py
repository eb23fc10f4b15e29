"""The state of a graph that remembers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, convert_to_messages
from langgraph.channels import UntrackedValue
from langgraph.graph.message import add_messages

from langchain_tidal.messages import by_capsule, by_compaction, by_human, with_capsule
from langchain_tidal.run import Recalled
from tidal_plugins import InvalidInput
from tidal_plugins.shown import shown
from tidal_plugins.validation import MAX_LABEL, clean

PREPARED = "llm_input_messages"


def last(_: Recalled, new: Recalled) -> Recalled:
    """Return the value of one branch: branches that recall side by side write one value in a step."""
    return new


class TidalState(TypedDict):
    """State with messages as usual and what recall adds.

    ``llm_input_messages`` are the messages with the whisper in them, less what compaction left out. They are never
    checkpointed and never stale: after an interrupt they are absent, and :func:`model_input` falls back to
    ``messages``. Lead a resumed graph back to compaction and recall: in the same process the whisper is the one that
    the turn began with.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: NotRequired[Annotated[list[AnyMessage], UntrackedValue(list, guard=False)]]
    recalled: NotRequired[Annotated[Recalled, last]]


def model_input(state: Any, input_messages_key: str = "messages") -> list[BaseMessage]:
    """Return the messages that the model should see: those of the state as compaction shows them, with the capsule
    and the whisper.

    Compaction's messages, the capsule and the human message with the whisper come from ``llm_input_messages``. Messages
    that were added, removed or edited since (a tool call and its result, a trimmed history) show as they stand.
    """
    clean(input_messages_key, max_chars=MAX_LABEL, name="input_messages_key")
    messages, prepared = compacted(state, input_messages_key), value(state, PREPARED) or []
    whispered = next((message for message in reversed(prepared) if by_human(message)), None)
    for index in range(len(messages) - 1, -1, -1):
        if whispered and _carries(whispered, messages[index]):
            messages[index] = whispered
            break
    return messages


def compacted(state: Any, input_messages_key: str) -> list[BaseMessage]:
    """Return the messages as they are now, less those that compaction left out, with the capsule in front if any."""
    messages, prepared = messages_of(state, input_messages_key), value(state, PREPARED) or []
    return with_capsule(_compacted(messages, prepared), next(filter(by_capsule, prepared), None))


def messages_of(state: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a state. Raises ``InvalidInput`` if it has none under ``key``."""
    messages = value(state, key)
    if messages is None:
        raise InvalidInput(f"the state has no {shown(key)}; say where its messages are with input_messages_key=")
    return convert_to_messages(messages)


def value(state: Any, name: str) -> Any:
    """Return the value of a state under ``name``, of a mapping or an object (pydantic, dataclass); ``None`` without."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _compacted(messages: list[BaseMessage], prepared: Sequence[BaseMessage]) -> list[BaseMessage]:
    if any(map(by_compaction, messages)) or not any(map(by_compaction, prepared)):
        return messages
    places = {_key(message): place for place, message in enumerate(messages)}
    last = max((places[_key(message)] for message in prepared if _key(message) in places), default=None)
    if last is None:  # another history has taken the place of the one that was compacted
        return messages
    now = [message if by_compaction(message) else _now(message, messages, places) for message in prepared]
    return [*(message for message in now if message), *messages[last + 1 :]]


def _now(message: BaseMessage, messages: list[BaseMessage], places: Mapping[Hashable, int]) -> BaseMessage | None:
    place = places.get(_key(message))
    return None if place is None else messages[place]


def _key(message: BaseMessage) -> Hashable:
    return message.id or (message.type, str(message.content))


def _carries(whispered: BaseMessage, message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and message.id == whispered.id and whispered.text.endswith(message.text)
