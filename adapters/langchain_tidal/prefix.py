"""The capsule as a prefix of a model's input: the same bytes from call to call, and part of no history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from langchain_core.messages import BaseMessage, SystemMessage

from langchain_tidal.messages import CAPSULE, by_capsule

MAX_AGE = timedelta(hours=4)


def with_capsule(messages: Sequence[BaseMessage], capsule: BaseMessage | None) -> list[BaseMessage]:
    """Return the messages with the capsule behind the system messages that they begin with, or without any."""
    shown = [message for message in messages if not by_capsule(message)]
    if capsule is not None:
        place = next((index for index, message in enumerate(shown) if message.type != "system"), len(shown))
        shown.insert(place, capsule)
    return shown


def to_message(text: str) -> SystemMessage | None:
    """Return a prefix as a message that is marked, so that nothing takes it for a part of the conversation."""
    return SystemMessage(text, id="tidal-capsule", additional_kwargs={"lc_source": CAPSULE}) if text else None


def appended(message: SystemMessage | None, text: str) -> SystemMessage | None:
    """Return a system message with the prefix after its text; the given message is not changed."""
    if message is None or not text:
        return message or to_message(text)
    said = message.content
    content = f"{said}\n\n{text}" if isinstance(said, str) else [*said, {"type": "text", "text": text}]
    return message.model_copy(update={"content": content})
