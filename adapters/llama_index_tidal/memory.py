"""TidalChatMemory, the history of one chat, and TidalMemoryBlock, the whisper as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from pydantic import PrivateAttr, SerializationInfo, SerializerFunctionWrapHandler, model_serializer

from llama_index_tidal.messages import (
    Tokenizer,
    Tokens,
    WrittenMessage,
    copies,
    finished,
    inert,
    inert_history,
    text_of,
    with_kept,
    with_whisper,
    without_whisper,
)
from llama_index_tidal.models import summariser_of
from llama_index_tidal.place import Rules, Scope, found_for, in_tool, path_of, reopened, restore_with
from llama_index_tidal.turns import (
    Limits,
    State,
    Turn,
    dump,
    filled,
    grown,
    held_back,
    kept_by,
    limit_of,
    load,
    messages_of,
    rebuilt,
    replaced,
    resumed,
    stored,
    to_exchange,
)
from tidal_plugins import ContextOverflow, Episode, InvalidInput, Policy, TidalMemory
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.turns import (
    CACHE,
    Cache,
    Nested,
    Place,
    Recent,
    RestoreAs,
    Style,
    SummaryAs,
    Surfaced,
    checked_cache,
    checked_nested,
    going_on,
    in_scope,
    record_history,
    session_config,
    surface,
)

logger = logging.getLogger(__name__)

_STATES: Mapping[bool, State] = {True: "stored", False: "given"}
"""The state of a turn that is over, by whether the store has it."""


EARLIER = "earlier turns"
"""What agents go on without if a store fails."""

GOES_ON = 20
"""Turns of a known thread that a chat without limits goes on with: an older history would fill the context."""

MAX_THREADS = 1024
"""Threads whose last whisper is kept, for the steps of a tool loop."""


class TidalChatMemory(BaseMemory):
    """The memory of one chat, for chat engines and agents.

    ``put`` keeps the history, and records each turn in ``memory`` once it is answered. ``get`` returns the history with
    the whisper for the question. The whisper stands at the head of the user's last message or, for engines that ask
    before they put, in a message by the user at the end. It is computed once per turn and no part of the history. It
    stays with its turn until the next compaction, so that providers find the prompt in their cache. With
    ``cache="turn"`` it goes when its turn is over; with ``"tail"`` it stands behind the user's words. A ``Context``
    that is serialised while a step runs may hold it in the workflow's own events.

    **Compaction** [SIYA §2]: with a ``token_limit`` or a ``byte_limit``, ``get`` never returns more than that. A
    summary stands for the turns that do not fit, and cites them as ``[ep:ID]``; give the agent
    ``TidalToolSpec.read_episode`` to look them up. The summary is followed by the files that were read last, and the
    open turn stays unchanged. None of this is put or recorded: ``get_all`` returns the whole history. Turns that were
    never recorded are recorded before they are left out.

    Leave room for the tools, and for the text that an engine adds; the engine's ``input`` and ``initial_token_count``
    are counted. Messages that a ``FunctionAgent`` holds back while its tools run cannot be shortened here. The history
    makes room for them, and a warning is logged once a turn if that is not enough.

    Inside a tool of another agent the chat is **nested**: its questions are that agent's, and recorded as such.
    ``nested="skip"`` records nothing of them, and ``nested="user"`` takes them for the user's own.

    **Sessions** [tidalDB]: with a ``policy``, the chat has a session of ``agent`` under it. The session's user is that
    of a scope such as ``("user", "42")``. Whispers use the session's signals from the next ``get`` on. ``signal_tools``
    of the same policy and agent let the model write signals.

    Serialised, the memory has the file's path, the scope, the thread, the limits and the keys of the turns, and the
    messages only of turns that are not in the file. See :func:`restore_with`. Every method has an async twin, which
    runs on a worker thread.

    Args:
        memory: the memory that records the chat.
        token_limit: the most tokens that ``get`` returns. Without either limit nothing is compacted; if only one is
            given, the other is the memory's own (``Settings.compaction``).
        byte_limit: the most bytes that ``get`` returns, as they are sent.
        summariser: an ``LLM`` or a ``Summariser``. Default: extracts. It is not serialised: a restored memory has the
            default.
        tokenizer_fn: returns the tokens of a text. Default: about four characters a token. It is not serialised
            either.
        files: tells what the agent's files are now: ``DiskFiles(folder)``. Default: what the conversation says of them.
            It is not serialised either.
        restore_as: ``"human"`` shows files in messages by the user, for integrations that refuse them as tool results
            (some do not know ``ToolCallBlock``).
        summary_as: ``"human"`` shows summaries in messages by the user, for integrations that refuse them in the
            assistant's name.
        thread: the name of the chat. Default: a new name. A known one goes on: with all of its turns if there is a
            limit, else with the last 20. If its first message is put again, the whole history is taken to follow.
        scope: the owner. Default: that of the memory.
        policy: the policy of the chat's session, or its name.
        agent: the agent of the chat's session.
        nested: what is recorded of questions that a tool of another agent asks: ``"apart"``, ``"skip"`` or ``"user"``.
        cache: the place of whispers, see above: ``"sticky"``, ``"tail"`` or ``"turn"``.
        chat_history: earlier messages, in place of those of the thread. Like those of ``set``, they are shown but not
            recorded, unless a compaction leaves them out.

    ``get`` raises ``ContextOverflow`` if the messages that may not be shortened are too long by themselves. For other
    errors, see :mod:`tidal_plugins.turns`.
    """

    path: str
    scope: tuple[str, ...]
    thread: str
    token_limit: int | None = None
    byte_limit: int | None = None
    restore_as: RestoreAs = "tool"
    summary_as: SummaryAs = "assistant"
    policy: Rules = None
    agent: str | None = None
    nested: Nested = "apart"
    cache: Cache = CACHE

    _memory: TidalMemory | None = PrivateAttr(default=None)
    _summariser: Summariser | None = PrivateAttr(default=None)
    _files: CurrentFiles | None = PrivateAttr(default=None)
    _counter: TokenCounter = PrivateAttr(default_factory=ApproximateCounter)
    _turns: list[Turn] = PrivateAttr(default_factory=list)
    _surfaced: Surfaced | None = PrivateAttr(default=None)
    _surfaced_in: str | None = PrivateAttr(default=None)  # a turn's key; None while its question is still to be put
    _overfull: str | None = PrivateAttr(default=None)
    _goes_on: bool = PrivateAttr(default=False)  # with the turns of the thread, which are yet to be read
    _untouched: bool = PrivateAttr(default=False)  # nothing was put since they were
    _lock: threading.RLock = PrivateAttr(default_factory=threading.RLock)

    def __init__(
        self,
        memory: TidalMemory | None = None,
        *,
        token_limit: int | None = None,
        byte_limit: int | None = None,
        summariser: LLM | Summariser | None = None,
        tokenizer_fn: Tokenizer | None = None,
        files: CurrentFiles | None = None,
        restore_as: RestoreAs = "tool",
        summary_as: SummaryAs = "assistant",
        thread: str | None = None,
        scope: Scope | None = None,
        policy: Policy | str | None = None,
        agent: str | None = None,
        nested: Nested = "apart",
        cache: Cache = CACHE,
        chat_history: Sequence[ChatMessage] | None = None,
        path: str | None = None,
        turns: Sequence[Mapping[str, Any]] = (),
        goes_on: bool | None = None,
        class_name: str | None = None,
    ) -> None:
        if memory is not None:
            restore_with(memory)
            path, scope = path_of(memory), in_scope(memory, scope).scope
        if path is None:
            raise InvalidInput("give the memory that this chat is remembered in: TidalChatMemory(memory)")
        Style(summary_as, restore_as)  # refuses others in our own words
        super().__init__(
            path=path,
            scope=scope,
            thread=thread or secrets.token_hex(8),
            token_limit=limit_of("token_limit", token_limit),
            byte_limit=limit_of("byte_limit", byte_limit),
            restore_as=restore_as,
            summary_as=summary_as,
            policy=policy,
            agent=agent,
            nested=checked_nested(nested),
            cache=checked_cache(cache),
        )
        self._memory = memory
        if memory is not None:
            session_config(self._scoped(), self.policy, self.agent, check_name=True)
        self._summariser = summariser_of(summariser)
        self._files = files
        self._counter = Tokens(tokenizer_fn) if tokenizer_fn else ApproximateCounter()
        self._turns = [load(turn) for turn in turns]
        self._goes_on = thread is not None and class_name is None if goes_on is None else goes_on
        if chat_history is not None:
            self.set(chat_history)

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex knows the class."""
        return "TidalChatMemory"

    @classmethod
    def from_defaults(cls, memory: TidalMemory | None = None, **options: Any) -> TidalChatMemory:
        """Create a memory as the constructor does.

        Raises ``InvalidInput`` without a memory, and for arguments that have no effect here.
        """
        if memory is None:
            raise InvalidInput("pass memory=TidalChatMemory(memory) to the engine; memory_cls= knows no memory")
        if others := sorted(options.keys() - inspect.signature(cls).parameters.keys()):
            raise InvalidInput(f"{', '.join(others)} would have no effect on a TidalChatMemory; leave it out")
        return cls(memory, **options)

    @property
    def tokenizer_fn(self) -> Tokenizer:
        """Return the function that counts tokens: engines count with it the text that they put in front.

        It returns the tokens of a text, or another sequence of the same length.
        """
        counter = self._counter
        return counter.tokenizer if isinstance(counter, Tokens) else lambda text: range(counter.count(text))

    @property
    def surfaced(self) -> tuple[str, ...]:
        """Return the ids of the entries that surfaced for the last question."""
        return self._surfaced.ids if self._surfaced else ()

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Return the history, within the limit, with the whisper, if there is one, for the question in ``input`` or
        the last message.

        Once a turn is answered, it is only the history. Raises ``ContextOverflow``, see above.
        """
        with self._lock:
            turns = self._loaded()
        asked = input if isinstance(input, str) and input.strip() and not (turns and turns[-1].asks(input)) else None
        view = self._view(turns, asked, **kwargs)  # a model may write in it: not under the lock
        with self._lock:
            if asked is not None:
                surfaced = self._surface(asked, None, turns, view)
                whisper = inert(surfaced.whisper.text)
                said = [ChatMessage(whisper, role=MessageRole.USER)] if whisper else []
                return inert_history(with_kept(view, kept_by(turns, surfaced.kept))) + said
            if turns and turns[-1].waits:
                surfaced = self._surface(turns[-1].question, turns[-1].key, turns, view)
                shown = with_kept(view, kept_by(turns, surfaced.kept))
                return with_whisper(shown, surfaced.whisper.text, behind=self.cache == "tail")
            return copies(view)

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Run :meth:`get` on a worker thread."""
        if self._limited:
            kwargs["held_back"] = await held_back()
        return await asyncio.to_thread(self.get, input, **kwargs)

    def get_all(self) -> list[ChatMessage]:
        """Return the history."""
        with self._lock:
            return copies(messages_of(self._loaded()))

    def put(self, message: ChatMessage) -> None:
        """Add a message; when it ends the turn, the turn is on disk when this returns."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, and record the turns that end with them. When that fails, nothing was added."""
        with self._lock:
            turns = self._loaded()
            if self._untouched and messages and self._begins_thread(messages[0]):
                turns = []  # the whole history is put once more
            held, turns = len(turns), grown(turns, messages, self._apart)
            shown = self._surfaced
            if turns and shown and self._surfaced_in is None and turns[-1].question.endswith(shown.question):
                self._surfaced_in = turns[-1].key
            self._turns, self._untouched = self._recorded(turns, held), False

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replace the history. Nothing is recorded, and earlier turns stay in the memory.

        If messages of a compaction are among the new ones, the turns that they stand for stay in the history.
        """
        with self._lock:
            turns, self._untouched = self._loaded(), False
            delimiters = self._scoped().delimiters
            if any(isinstance(message, WrittenMessage) for message in messages):
                self._turns = resumed(turns or stored(self._scoped(), self.thread), messages, delimiters)
            else:
                self._turns = replaced(
                    turns, (without_whisper(message, delimiters) for message in messages), self._apart
                )

    def reset(self) -> None:
        """Begin with an empty history. What was recorded stays in the memory."""
        self.set([])

    @model_serializer(mode="wrap")
    def custom_model_dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """Return the fields and the turns that are held, for LlamaIndex's serialisation."""
        turns = self._turns  # replaced whole, never changed: no lock, which a turn being recorded would hold for long
        plain = {"turns": [dump(turn) for turn in turns], "goes_on": self._goes_on, "class_name": self.class_name()}
        return {**handler(self), **plain}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> TidalChatMemory:
        return self  # it stands for a chat in a store: workflows copy the state that it is in, and go on with the copy

    @property
    def _apart(self) -> bool:
        return self.nested != "user" and in_tool()

    @property
    def _limited(self) -> bool:
        return self.token_limit is not None or self.byte_limit is not None

    def _view(self, turns: Sequence[Turn], asked: str | None, **engine: Any) -> list[ChatMessage]:
        """Return the history as the model should see it."""
        if not turns or not self._limited:
            return messages_of(turns)
        style = Style(self.summary_as, self.restore_as)
        limits = Limits(self.token_limit, self.byte_limit, style, self._summariser, self._counter, self._files)
        made = partial(rebuilt, self._place(), turns, limits, asked=asked, **engine)
        whole: tuple[list[ChatMessage], ContextOverflow | None] = messages_of(turns), None
        view, overflow = going_on(self._scoped(), "compaction", made, whole)
        if overflow and self._overfull != turns[-1].key:  # at the first of a turn's many steps
            logger.warning("thread %s: what the agent holds back in this turn is too long: %s", self.thread, overflow)
            self._overfull = turns[-1].key
        return view

    def _surface(self, question: str, turn: str | None, turns: Sequence[Turn], view: Sequence[ChatMessage]) -> Surfaced:
        """Return the whisper for a question.

        What the model sees anyway does not surface; what a compaction left out may.
        """
        place, visible = self._place(), set(map(id, view))
        surfaced = surface(
            place,
            question,
            config=session_config(place.memory, self.policy, self.agent),
            known=self._surfaced if self._surfaced_in == turn else None,
            history=[to_exchange(each, self.thread) for each in turns],
            shown=[n for n, each in enumerate(turns) if any(id(message) in visible for message in each.messages)],
            shown_texts={text_of(message) for message in view},
            cache=self.cache,
            ahead=turn is None,
            beside=found_for(place.memory, question) if turn is None else (),
        )
        self._surfaced, self._surfaced_in = surfaced, turn
        return surfaced

    def _recorded(self, turns: list[Turn], held: int) -> list[Turn]:
        """Record the new turns that are over, and return the turns as they then stand. So many were held before."""
        end = len(turns) if turns and finished(turns[-1].messages) else len(turns) - 1
        over = enumerate(turns[: max(0, end)])
        new = [n for n, turn in over if turn.state == "new" and turn.recordable and not self._skips(turn)]
        if not new:
            return turns
        ids = {self._surfaced_in: self.surfaced}
        history = [to_exchange(turn, self.thread, ids.get(turn.key, ())) for turn in turns]
        passed = len(turns) > held and end == len(turns)  # question and answer came together
        done = record_history(self._place(), [*history, None] if passed else history, new)
        return [replace(turn, state=_STATES[done[n]]) if n in done else turn for n, turn in enumerate(turns)]

    def _skips(self, turn: Turn) -> bool:
        return turn.nested and self.nested == "skip"

    def _begins_thread(self, message: ChatMessage) -> bool:
        """Return whether a message is the first of the thread: it was recorded, and comes again."""
        memory = self._scoped()
        first: list[Episode] = going_on(memory, EARLIER, lambda: memory.episodes.list(thread=self.thread, limit=1), [])
        said = first[0].messages[:1] if first else ()
        return any(one.role == message.role.value and one.text == text_of(message) for one in said)

    def _loaded(self) -> list[Turn]:
        memory = self._scoped()
        if self._goes_on:
            last = None if self._limited else GOES_ON
            turns: list[Turn] = going_on(memory, EARLIER, lambda: stored(memory, self.thread, last), [])
            self._turns, self._goes_on, self._untouched = turns, False, bool(turns)
        if not all(turn.messages for turn in self._turns):  # restored, and not yet read
            held = [turn for turn in self._turns if turn.messages]
            self._turns = going_on(memory, EARLIER, lambda: filled(memory, self.thread, self._turns), held)
        return self._turns

    def _place(self) -> Place:
        return Place(self._scoped(), self.thread)

    def _scoped(self) -> TidalMemory:
        if self._memory is None:
            self._memory = reopened(self.path)
        return self._memory.scoped(*self.scope)


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
            cache="turn",  # a block is shown in a message that the framework writes anew
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
