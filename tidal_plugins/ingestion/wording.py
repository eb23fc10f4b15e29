"""Words of a turn: what a turn is known by where it comes without an id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.exchange import Exchange, Message, ToolCall, final_of, query_of
from tidal_plugins.model.fence import Frames
from tidal_plugins.validation import storable


@dataclass(frozen=True, slots=True)
class Words:
    """The words that a turn is known by, white space folded. ``said`` is all that the agent said in it, without any."""

    question: str
    answer: str
    said: str = field(default="", compare=False)

    def same(self, stored: Words) -> bool:
        """Return whether an episode with the words ``stored`` holds this turn, as far as it was not forgotten.

        A client that streams puts all that the agent said in a turn into one message.
        """
        if stored == self or (stored.question == self.question and stored.said == self.said):
            return bool(self.question or self.answer)
        blank = stored.question == FORGOTTEN_TEXT, stored.answer == FORGOTTEN_TEXT
        question, answer = blank[0] or self.question == stored.question, blank[1] or self.answer == stored.answer
        return question and answer and any(blank) and not all(blank)


def masked_words(writer: Writer, scope: Scope, history: Sequence[Exchange]) -> list[Words]:
    """Return the words of turns as they would be stored: those that were forgotten on request are blank."""
    turns = [[replace(message, text=storable(message.text)) for message in exchange.messages] for exchange in history]
    gone = writer.forgotten(scope, {message.text for messages in turns for message in messages if message.text})
    return [
        words_of([replace(message, text=FORGOTTEN_TEXT) if message.text in gone else message for message in messages])
        for messages in turns
    ]


def words_of(messages: Sequence[Message]) -> Words:
    final = final_of(messages)
    said = [folded(message.text) for message in messages if message.role == "assistant" and message.text]
    answer = folded(final.text) if final else ""
    return Words(folded(query_of(messages)), answer, "".join(said).replace(" ", ""))


def folded(text: str) -> str:
    return " ".join(storable(text).split())


def said(writer: Writer, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return passed messages as the stored ones are compared: without what recall added, secrets replaced."""
    return unframed(writer.redaction.comparable(messages), writer.frames)


def unframed(messages: Iterable[Message], frames: Frames) -> tuple[Message, ...]:
    """Return the messages as they are indexed and compared: without what recall added."""
    return tuple(_unframed(message, frames) for message in messages)


def _unframed(message: Message, frames: Frames) -> Message:
    text = frames.strip(message.text)
    calls = tuple(_unframed_call(call, frames) for call in message.tool_calls)
    same = text == message.text and calls == message.tool_calls
    return message if same else replace(message, text=text, tool_calls=calls)


def _unframed_call(call: ToolCall, frames: Frames) -> ToolCall:
    return replace(call, result=frames.strip(call.result)) if call.result else call
