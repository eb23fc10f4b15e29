"""TidalChatMemory: the history of one chat, what surfaces in it, and every turn into the memory."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory import BaseMemory
from pydantic import PrivateAttr, SerializationInfo, SerializerFunctionWrapHandler, model_serializer

from llama_index_tidal.messages import copies, finished, inert, inert_history, text_of, with_whisper
from llama_index_tidal.place import Scope, path_of, reopened, restore_with, scope_of
from llama_index_tidal.turns import Turn, dump, filled, grown, load, record, replaced, to_exchange
from llama_index_tidal.whispers import surface
from tidal_plugins import InvalidInput, TidalMemory, Whisper


@dataclass(frozen=True, slots=True)
class _Surfaced:
    """The whisper of one question. ``turn`` is the key of its turn, ``None`` while the question is still to be put."""

    question: str
    whisper: Whisper
    turn: str | None = None


class TidalChatMemory(BaseMemory):
    """The memory of one chat, for chat engines and agents.

    ``put`` keeps the history, and records each turn in ``memory`` when its answer is there. ``get`` gives the history
    with what the question reminds the agent of: at the head of the user's last message, or, for engines that ask
    before they put, in a message by the user at the end. That is worked out once per turn, and not kept
    here; a ``Context`` serialised while a step runs may hold it in the workflow's own events.

    ``session`` names the chat (default: a new name). ``chat_history`` is what was said before; like what ``set``
    gives, it is shown and not recorded. ``scope`` defaults to the memory's own. Every method has its async twin,
    which runs on a worker thread. Serialised, it has the file's path, the scope, the session and the turns' keys, and
    the messages only of turns that are not in the file; see :func:`restore_with`.
    """

    path: str
    scope: tuple[str, ...]
    session: str

    _memory: TidalMemory | None = PrivateAttr(default=None)
    _turns: list[Turn] = PrivateAttr(default_factory=list)
    _surfaced: _Surfaced | None = PrivateAttr(default=None)
    _lock: threading.RLock = PrivateAttr(default_factory=threading.RLock)

    def __init__(
        self,
        memory: TidalMemory | None = None,
        *,
        session: str | None = None,
        scope: Scope | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        path: str | None = None,
        turns: Sequence[Mapping[str, Any]] = (),
        class_name: str | None = None,
    ) -> None:
        if memory is not None:
            restore_with(memory)
            path, scope = path_of(memory), scope_of(memory, scope)
        if path is None:
            raise InvalidInput("give the memory that this chat is remembered in: TidalChatMemory(memory)")
        super().__init__(path=path, scope=scope, session=session or secrets.token_hex(8))
        self._memory = memory
        self._turns = replaced((), chat_history) if chat_history else [load(turn) for turn in turns]

    @classmethod
    def class_name(cls) -> str:
        return "TidalChatMemory"

    @classmethod
    def from_defaults(
        cls,
        memory: TidalMemory | None = None,
        *,
        session: str | None = None,
        scope: Scope | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        **others: Any,
    ) -> TidalChatMemory:
        """The same as the constructor. Raises ``InvalidInput`` without a memory, and for what has no effect here."""
        if memory is None:
            raise InvalidInput("pass memory=TidalChatMemory(memory) to the engine; memory_cls= knows no memory")
        if others:
            raise InvalidInput(f"{', '.join(sorted(others))} would have no effect on a TidalChatMemory; leave it out")
        return cls(memory, session=session, scope=scope, chat_history=chat_history)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Return the history with the whisper, if there is one, for the question in ``input`` or the last message.

        Once a turn is answered, it is only the history.
        """
        with self._lock:
            turns = self._loaded()
            if isinstance(input, str) and input.strip() and not _asks(turns, input):
                whisper = self._whisper(input, None)
                said = [ChatMessage(inert(whisper.text), role=MessageRole.USER)] if whisper else []
                return inert_history(_messages(turns)) + said
            if turns and turns[-1].waits:
                return with_whisper(_messages(turns), self._whisper(turns[-1].question, turns[-1].key).text)
            return copies(_messages(turns))

    def get_all(self) -> list[ChatMessage]:
        """Return the history."""
        with self._lock:
            return copies(_messages(self._loaded()))

    def put(self, message: ChatMessage) -> None:
        """Add a message; when it ends the turn, the turn is on disk when this returns."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, and record the turns that end with them. When that fails, nothing was added."""
        with self._lock:
            turns = grown(self._loaded(), messages)
            shown = self._surfaced
            if turns and shown and shown.turn is None and turns[-1].question.endswith(shown.question):
                self._surfaced = replace(shown, turn=turns[-1].key)
            self._turns = self._recorded(turns)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replace the history. Nothing is recorded, and what was stays in the memory."""
        with self._lock:
            self._turns = replaced(self._loaded(), messages)

    def reset(self) -> None:
        """Begin with an empty history. What was recorded stays in the memory."""
        self.set([])

    @model_serializer(mode="wrap")
    def custom_model_dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        turns = self._turns  # replaced whole, never changed: no lock, which a turn being recorded would hold for long
        return {**handler(self), "turns": [dump(turn) for turn in turns], "class_name": self.class_name()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> TidalChatMemory:
        return self  # it stands for a chat in a store: workflows copy the state that it is in, and go on with the copy

    def _whisper(self, question: str, turn: str | None) -> Whisper:
        """The whisper for a question; steps of a tool loop and retries get the one that the turn began with."""
        shown = self._surfaced
        if shown is None or (shown.question, shown.turn) != (question, turn):
            memory, turns = self._scoped(), self._turns
            seen = {text_of(message) for message in _messages(turns)}
            stored = [memory.episode_id(known.key, session=self.session) for known in turns if known.state == "stored"]
            whisper = surface(memory, question, seen=seen, exclude=stored)
            shown = self._surfaced = _Surfaced(question, whisper, turn)
        return shown.whisper

    def _recorded(self, turns: list[Turn]) -> list[Turn]:
        """Record the new turns that are over, and return the turns as they then stand."""
        over = turns if turns and finished(turns[-1].messages) else turns[:-1]
        new = {turn.key: turn for turn in over if turn.state == "new" and turn.asked}
        shown = self._surfaced
        ids = {shown.turn: shown.whisper.ids} if shown else {}
        exchanges = [to_exchange(turn, self.session, ids.get(key, ())) for key, turn in new.items()]
        done = record(self._scoped(), [exchange for exchange in exchanges if exchange])
        settled = {key: replace(turn, state="stored" if key in done else "given") for key, turn in new.items()}
        return [settled.get(turn.key, turn) for turn in turns]

    def _loaded(self) -> list[Turn]:
        if not all(turn.messages for turn in self._turns):  # restored, and not yet read
            self._turns = filled(self._scoped(), self.session, self._turns)
        return self._turns

    def _scoped(self) -> TidalMemory:
        if self._memory is None:
            self._memory = reopened(self.path)
        return self._memory.scoped(*self.scope)


def _messages(turns: Sequence[Turn]) -> list[ChatMessage]:
    return [message for turn in turns for message in turn.messages]


def _asks(turns: Sequence[Turn], question: str) -> bool:
    """Whether the last turn waits for the answer to this question: an agent asks again after its tools have run."""
    if not turns or not turns[-1].waits:
        return False
    asked = [message for message in turns[-1].messages if message.role == MessageRole.USER]
    return "\n".join(block.text for block in asked[-1].blocks if isinstance(block, TextBlock)) == question
