"""TidalMemoryBlock: the whisper as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from llama_index_tidal.messages import inert, text_of
from llama_index_tidal.nesting import in_tool
from llama_index_tidal.place import Rules, Scope, path_of, reopened, restore_with
from llama_index_tidal.turns import grown, to_exchange
from tidal_plugins import InvalidInput, TidalMemory
from tidal_plugins.turns import (
    Nested,
    Place,
    Recent,
    Surfaced,
    checked_nested,
    in_scope,
    record_history,
    session_config,
    surface,
)

MAX_THREADS = 1024
"""Threads whose last whisper is kept, for the steps of a tool loop."""


class TidalMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's ``Memory`` that shows the whisper for the user's last message.

    **It is written to on overflow only**: ``Memory`` gives a block the messages that no longer fit its history (0.7 of
    ``token_limit``). Therefore short chats are never recorded, and long ones late. If every turn must be recorded, use
    :class:`TidalChatMemory` instead of ``Memory``. With engines that ask before they put
    (``CondensePlusContextChatEngine``, ``ContextChatEngine``), leave ``insert_method`` at ``SYSTEM``: at ``USER`` a
    block lands in the previous turn.

    ``scope`` defaults to that of the memory; the thread is that of ``Memory``. With a ``policy`` and an ``agent``,
    recall uses the signals of that session, as in :class:`TidalChatMemory`. ``nested`` is as there, by where the
    ``Memory`` overflows.
    """

    name: str = "tidal_memory"
    description: str | None = "What the agent is reminded of."
    path: str
    scope: tuple[str, ...]
    policy: Rules = None
    agent: str | None = None
    nested: Nested = "apart"

    _memory: TidalMemory | None = PrivateAttr(default=None)
    _surfaced: Recent[tuple[int, Surfaced]] = PrivateAttr(default_factory=lambda: Recent(MAX_THREADS))

    def __init__(
        self, memory: TidalMemory | None = None, *, scope: Scope | None = None, path: str | None = None, **fields: Any
    ) -> None:
        if memory is not None:
            restore_with(memory)
            path, scope = path_of(memory), in_scope(memory, scope).scope
        if path is None:
            raise InvalidInput("give the memory that this block shows: TidalMemoryBlock(memory)")
        checked_nested(fields.get("nested", "apart"))
        super().__init__(path=path, scope=scope, **fields)
        self._memory = memory
        if memory is not None:
            session_config(self._scoped(), self.policy, self.agent, check_name=True)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._whisper, messages or [], block_kwargs.get("session_id"))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._record, messages)

    def _whisper(self, messages: Sequence[ChatMessage], thread: str | None) -> str:
        """Return the whisper for the last message, once per user turn; none if the message is answered.

        After its tools have run an agent's question comes twice: in the history, and once more behind it.
        """
        turns = grown([], messages)
        if not turns or not turns[-1].waits:
            return ""
        asked = [message for message in turns[-1].messages if message.role == MessageRole.USER]
        memory, turn = self._scoped(), len(turns)
        last, known = self._surfaced.get(thread) or (turn, None)
        surfaced = surface(
            Place(memory, thread),
            text_of(asked[-1]),
            config=session_config(memory, self.policy, self.agent),
            known=known if last == turn else None,
            shown_texts={text_of(message) for message in messages},
        )
        self._surfaced.put(thread, (turn, surfaced))
        return inert(surfaced.whisper.text)

    def _record(self, messages: Sequence[ChatMessage]) -> None:
        """Record messages that will not come again, in their turns; ``aput`` writes the thread into them."""
        thread = next((kwargs["session_id"] for m in messages if "session_id" in (kwargs := m.additional_kwargs)), None)
        apart = self.nested != "user" and in_tool()
        if apart and self.nested == "skip":
            return
        history = [to_exchange(turn, thread) for turn in grown([], messages, apart)]
        record_history(Place(self._scoped(), thread), history, range(len(history)))

    def _scoped(self) -> TidalMemory:
        if self._memory is None:
            self._memory = reopened(self.path)
        return self._memory.scoped(*self.scope)
