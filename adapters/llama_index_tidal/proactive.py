"""What the memory says first, as an event of a workflow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from llama_index.core.base.llms.types import MessageRole, TextBlock
from llama_index.core.workflow import HumanResponseEvent

from llama_index_tidal.messages import FirstMessage
from llama_index_tidal.place import Scope
from tidal_plugins import InvalidInput, ProactiveMessage, TidalMemory
from tidal_plugins.shown import shown
from tidal_plugins.turns import in_scope


class ProactiveEvent(HumanResponseEvent):
    """A message that the memory says first [Tidal §5].

    Its base class tells LlamaIndex that the event comes from outside of a workflow, so that a step may wait for it.

    Attributes:
        id: the id of the message, by which a receiver knows it again.
        text: what it says.
        kind: what it is about: ``promise``, ``task``, ``plan``, ``question`` or ``stirred``.
        citations: what it rests on, such as ``ep:6k1m…``.
        why: why it is said, with the score of the gate.
        at: when it was decided.
    """

    id: str
    text: str
    kind: str
    citations: tuple[str, ...]
    why: str
    at: datetime

    def to_chat_message(self) -> FirstMessage:
        """Return the message as the agent's.

        A :class:`TidalChatMemory` that it is put into shows it to the model and records it as a turn of its own, in
        which the user said nothing.
        """
        return FirstMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text=self.text)])


async def speak_first(
    memory: TidalMemory, emit: Callable[[ProactiveEvent], object], *, scope: Scope | None = None
) -> ProactiveEvent | None:
    """Step the memory's presence, and emit what it says; return that, or ``None`` if it is silent.

    Call it from a scheduler. ``emit`` is called with the event, in the event loop: ``ctx.write_event_to_stream`` within
    a step of a workflow, ``handler.ctx.send_event`` for a workflow that runs, or a function that starts one::

        await speak_first(memory, lambda event: workflow.run(proactive=event))

    If ``emit`` raises, the message waits again. ``scope`` defaults to that of the memory. Raises ``InvalidInput`` for
    an ``emit`` that cannot be called, and the errors of ``memory.presence.step``.
    """
    if not callable(emit):
        raise InvalidInput(f"emit= is a function of an event, such as ctx.write_event_to_stream, got {shown(emit)}")
    presence = in_scope(memory, scope).presence
    await presence.astep()
    message = await presence.atake()
    if message is None:
        return None
    event = _event(message)
    try:
        emit(event)
    except Exception:
        await presence.agive_back(message)
        raise
    return event


def _event(message: ProactiveMessage) -> ProactiveEvent:
    return ProactiveEvent(
        id=message.id,
        text=message.text,
        kind=message.kind,
        citations=message.citations,
        why=message.why,
        at=message.at,
    )
