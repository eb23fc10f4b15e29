"""Contexts that grow too large, rebuilt: LangChain's messages in, those that the model should see out; their sizes."""

from __future__ import annotations

import base64
import itertools
import json
import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_tidal.messages import (
    COMPACTION,
    by_compaction,
    by_human,
    is_notice,
    kept_by,
    spans,
    text_of,
    to_exchange,
    to_message,
    turns,
    written_id,
)
from langchain_tidal.models import summariser_of
from langchain_tidal.run import Scope, place_of
from tidal_plugins import Exchange, InvalidInput, Message, StorageError, TidalMemory
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Compaction, Size
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.summarising.sizes import MESSAGE_TOKENS, ApproximateCounter
from tidal_plugins.turns import (
    Place,
    Recent,
    RestoreAs,
    Style,
    SummaryAs,
    WrittenMessage,
    checked_memory,
    drop_kept,
    going_on,
    read_kept,
)
from tidal_plugins.validation import check_int

OVERFLOWN = 0.7
"""Share of what a provider refused that is sent instead."""


IMAGE_TOKENS = 1_600
"""Tokens that providers charge for a large image, at most; they shrink larger ones."""

PAGE_BYTES = 100_000
"""Bytes of base64 in a file that is no image that count as much as one image: about a page of a PDF."""

ENOUGH = 1_000
"""Tokens from which on what a provider reports says something about the estimate."""

_MEDIA = {
    "audio",
    "document",
    "file",
    "image",
    "image_url",
    "input_audio",
    "input_file",
    "input_image",
    "media",
    "video",
}

_CALLS = {"function_call", "tool_call", "tool_call_chunk", "tool_use", "toolUse"}


@dataclass(frozen=True, slots=True)
class View:
    """The messages that a model should see. ``ratio`` is the number of the model's tokens in an estimated one.

    ``new`` means that no earlier call had the same context, ``changed`` that it differs from the given messages.
    """

    messages: list[BaseMessage]
    compaction: Compaction
    ratio: float
    new: bool
    changed: bool

    def event(self) -> dict[str, Any]:
        """Return the event of a rebuilt context for the run's custom stream."""
        made = self.compaction
        told = {
            "id": made.id,
            "stage": made.stage,
            "tokens_before": round(made.before.tokens * self.ratio),
            "tokens_after": round(made.after.tokens * self.ratio),
            "bytes_before": made.before.bytes,
            "bytes_after": made.after.bytes,
            "dropped": len(made.ledger),
            "citations": list(made.citations),
            "files": [file.path for file in made.files],
            "summariser": made.summariser,
            "fallback": made.fallback,
        }
        return {"tidal_compaction": told}


class ContextOptions(TypedDict, total=False):
    """The options of a rebuilt context.

    ``max_tokens`` and ``max_bytes`` limit everything that is sent (default: ``Settings.compaction``). ``summariser`` is
    a chat model or any ``Summariser`` (default: extracts, without a model). ``token_counter`` counts the tokens of a
    list of messages. By default sizes are estimated, and corrected by the usage that the model reports.
    ``summary_as="human"`` and ``restore_as="human"`` are for providers that refuse assistant messages or tool calls
    that they did not write. ``files=DiskFiles(folder)`` tells what the agent's files are now (default: what the
    conversation says of them).
    """

    max_tokens: int | None
    max_bytes: int | None
    files: CurrentFiles | None
    summariser: Summariser | BaseChatModel | None
    token_counter: MessagesCounter | None
    summary_as: SummaryAs
    restore_as: RestoreAs


class ContextMemory:
    """Decides before each model call how much of a history the model should see.

    ``scope`` defaults to the memory's own, the thread is that of the run. Raises ``InvalidInput`` for options that
    nobody knows.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        scope: Scope | None = None,
        **options: Unpack[ContextOptions],
    ) -> None:
        if unknown := options.keys() - ContextOptions.__optional_keys__:
            raise InvalidInput(f"{', '.join(sorted(unknown))}: no such option of a context")
        self._memory = checked_memory(memory)
        self._scope = scope
        self._max_tokens, self._max_bytes = options.get("max_tokens"), options.get("max_bytes")
        for name, limit in (("max_tokens", self._max_tokens), ("max_bytes", self._max_bytes)):
            if limit is not None:
                check_int(limit, name, 1)
        self._summariser = summariser_of(options.get("summariser"))
        self._files = options.get("files")
        self._style = Style(options.get("summary_as", "assistant"), options.get("restore_as", "tool"))
        self._gauge = Gauge(options.get("token_counter"))
        self._seen = Recent[str | None]()
        self._refused = Recent[Size]()

    def place(self, config: RunnableConfig | None = None) -> Place:
        """Return the place of the run with this config; without one, of the run that this is called in."""
        return place_of(self._memory, self._scope, ensure_config() if config is None else config, "apart")

    def view(
        self,
        place: Place,
        messages: Sequence[BaseMessage],
        reserved: Size,
        *,
        max_tokens: int | None = None,
        said: Sequence[BaseMessage] = (),
    ) -> View:
        """Return the view of ``messages`` for the model. ``reserved`` is the size of everything that is sent with them.

        ``max_tokens`` is the model's own limit, which is used if no limit was given. ``said`` are the original
        messages, if others have edited ``messages`` for this one request: the view has the edited ones, the recording
        the original ones. If the store fails, the view has them all. Raises the errors of ``Compactor.compact``.
        """
        whole = sum(map(size_of, messages), reserved)
        unchanged = View(list(messages), Compaction("none", (), (), whole, whole, whole), 1.0, new=False, changed=False)
        made = partial(self._view, place, messages, reserved, max_tokens, said)
        return going_on(place.memory, "compaction", made, unchanged)

    def _view(
        self,
        place: Place,
        messages: Sequence[BaseMessage],
        reserved: Size,
        max_tokens: int | None,
        said: Sequence[BaseMessage],
    ) -> View:
        talk, history = place.key, _History.of(messages, place.thread, said)
        limit = self._limit(place, max_tokens).at_most(self._refused.get(talk) or Size(sys.maxsize, sys.maxsize))
        view = self._made(place, history, reserved, limit, self._gauge.ratio(talk, messages))
        exact = self._gauge.counted(talk, view.messages)
        if exact is not None and exact > view.ratio:
            view = self._made(place, history, reserved, limit, exact)
        return view

    def shortened(
        self,
        place: Place,
        messages: Sequence[BaseMessage],
        reserved: Size,
        refused: Size,
        *,
        said: Sequence[BaseMessage] = (),
    ) -> View | None:
        """Return a smaller view to send instead of ``refused``; ``None`` if no more may be left out."""
        limit = refused * OVERFLOWN
        self._refused.put(place.key, limit)  # it would refuse as much again
        try:
            return self._made(place, _History.of(messages, place.thread, said), reserved, limit, 1.0, force="hard")
        except (ContextOverflow, StorageError):
            return None

    def _limit(self, place: Place, max_tokens: int | None) -> Size:
        settings = place.memory.settings.compaction
        tokens = (max_tokens or settings.max_tokens) if self._max_tokens is None else self._max_tokens
        return Size(tokens, settings.max_bytes if self._max_bytes is None else self._max_bytes)

    def _made(
        self,
        place: Place,
        history: _History,
        reserved: Size,
        limit: Size,
        ratio: float,
        force: Literal["hard"] | None = None,
    ) -> View:
        """Return the view of a history. ``ratio`` shrinks the limit, so that all sizes are in estimated tokens."""
        compactor = place.memory.compactor(
            max_tokens=math.ceil(limit.tokens / ratio),
            max_bytes=limit.bytes,
            summariser=self._summariser,
            files=self._files,
            nested=place.nested,
        )
        whispers = self._kept(place, history.given)
        sizes = [size_of(message) + whispers.get(id(message), Size()) for message in history.messages]
        compaction = compactor.compact(
            history.exchanges,
            thread=place.thread,
            sizes=sizes,
            reserved=reserved,
            force=force,
            carried=history.carried,
        )
        if compaction.stage in ("compact", "hard"):
            drop_kept(place, _as_history(history.given, place.thread))
        shown = _shown(compaction, history.messages, self._style) if compaction.rebuilt else list(history.given)
        talk, changed = place.key, compaction.rebuilt and compaction.id != history.carried
        new = changed and compaction.id != self._seen.get(talk)
        self._seen.put(talk, compaction.id)
        known = dict(zip(map(id, history.messages), sizes, strict=True))
        self._gauge.sent(talk, shown, sum((known.get(id(m)) or size_of(m) for m in shown), reserved).tokens)
        return View(shown, compaction, ratio, new, changed)

    def _kept(self, place: Place, messages: Sequence[BaseMessage]) -> dict[int, Size]:
        """Return the sizes of the whispers that completed turns keep, by the messages that show them."""
        history = turns(messages)
        kept = read_kept(place, _as_history(messages, place.thread))
        kept.pop(len(history) - 1, None)  # there is always room for the one of the open turn
        shown = kept_by(history, kept)
        texts = {id(message): shown.get(message.id or id(message)) for message in messages if by_human(message)}
        return {at: size_of(HumanMessage(text)) for at, text in texts.items() if text}


def _as_history(messages: Sequence[BaseMessage], thread: str | None) -> list[Exchange | None]:
    return [to_exchange(turn, thread) for turn in turns(messages)]


@dataclass(frozen=True, slots=True)
class _History:
    """Messages as the core takes them: each of ``messages`` is one message of the exchanges, in order.

    What an earlier compaction wrote is left out: ``carried`` is its id.
    """

    given: Sequence[BaseMessage]
    messages: list[BaseMessage]
    exchanges: list[Exchange]
    carried: str | None

    @classmethod
    def of(cls, given: Sequence[BaseMessage], thread: str | None, said: Sequence[BaseMessage] = ()) -> _History:
        exchanges = [_exchange(span, thread) for span in _parts(_as_said(given, said))]
        carried = [message.additional_kwargs.get(COMPACTION) for message in given if by_compaction(message)]
        return cls(given, [m for m in given if not by_compaction(m)], exchanges, carried[-1] if carried else None)


def _shown(compaction: Compaction, history: Sequence[BaseMessage], style: Style) -> list[BaseMessage]:
    """Return a rebuilt context as messages: originals as they are, those that compaction wrote marked."""
    pieces = style.messages(compaction)
    messages = [history[p] if isinstance(p, int) else _written(p, str(compaction.id)) for p in pieces]
    head = list(itertools.takewhile(_stands_apart, messages))
    return [*sorted(head, key=lambda message: message.type != "system"), *messages[len(head) :]]


def _written(piece: WrittenMessage, id_: str) -> BaseMessage:
    said = piece.message
    mark: dict[str, Any] = {"id": written_id(id_, piece.name), "additional_kwargs": _mark(id_)}
    if said.role == "user":
        return HumanMessage(said.text, **mark)
    if said.role == "tool":
        return ToolMessage(said.text, tool_call_id=said.tool_call_id, name=piece.tool, **mark)
    calls = [{"name": call.name, "args": dict(call.arguments), "id": call.id} for call in said.tool_calls]
    return AIMessage(said.text, tool_calls=calls, **mark)


def _as_said(messages: Sequence[BaseMessage], said: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages as they were said, one for one, known by their ids.

    An edited message would be another one.
    """
    known = {message.id: message for message in said if message.id and not by_compaction(message)}
    found = []
    for message in messages:
        original = None if by_compaction(message) else known.pop(message.id or "", None)
        found.append(original if original is not None and original.type == message.type else message)
    return found


def _parts(messages: Sequence[BaseMessage]) -> Iterator[list[BaseMessage]]:
    """Yield the spans of a history without the messages that compaction wrote.

    An assistant's message before the first question is apart from the system messages there.
    """
    head, *rest = ([message for message in span if not by_compaction(message)] for span in spans(messages))
    opening = next((index for index, message in enumerate(head) if _core_message(message).role != "system"), len(head))
    yield from (part for part in (head[:opening], head[opening:], *rest) if part)


def _exchange(span: Sequence[BaseMessage], thread: str | None) -> Exchange:
    messages = tuple(map(_core_message, span))
    key = next((message.id for message in messages if message.id and message.role != "system"), None)
    return Exchange(messages, thread, key)


def _core_message(message: BaseMessage) -> Message:
    """Return a message as the core knows it.

    A message outside of the conversation stays where a system prompt stays.
    """
    said = None if is_notice(message) else to_message(message)
    return said or Message("system", text_of(message), message.id)


def _stands_apart(message: BaseMessage) -> bool:
    """Return whether a message is no part of the conversation: a system message or a notice.

    Providers take none of these in the middle.
    """
    return not by_compaction(message) and _core_message(message).role == "system"


def _mark(id_: str) -> dict[str, Any]:
    return {"lc_source": COMPACTION, COMPACTION: id_}


MessagesCounter = Callable[[Sequence[BaseMessage]], int]
"""Counts the tokens of a list of messages, like ``count_tokens_approximately`` or a model's own
``get_num_tokens_from_messages``."""


def size_of(message: BaseMessage, counter: TokenCounter | None = None) -> Size:
    """Estimate the size of a message: its content of any kind, and its tool calls.

    All bytes of an image or a file count, but its tokens only up to the number that providers charge. Content blocks
    that repeat the message's tool calls count once.
    """
    counter = counter or ApproximateCounter()
    calls = _calls(message)
    content = [block for block in _blocks(message) if not (calls and _kind(block) in _CALLS)]
    called = _json(calls) if calls else ""
    sent: dict[str, Any] = {"role": message.type, "content": content}
    if message.name:
        sent["name"] = message.name
    if isinstance(message, ToolMessage):
        sent["tool_call_id"] = message.tool_call_id
    tokens = sum(_tokens(block, counter) for block in content) + (counter.count(called) if called else 0)
    return Size(MESSAGE_TOKENS + tokens, _bytes(_json(sent)) + _bytes(called))


def reserved(
    system_message: SystemMessage | str | None = None,
    tools: Sequence[Any] = (),
    counter: TokenCounter | None = None,
) -> Size:
    """Estimate the size of a system prompt and of tools' schemas (or dicts), which are sent with the messages."""
    counter = counter or ApproximateCounter()
    prompt = SystemMessage(system_message) if isinstance(system_message, str) else system_message
    schemas = [_json(tool if isinstance(tool, dict) else _schema(tool)) for tool in tools]
    sizes = [Size(counter.count(schema), _bytes(schema)) for schema in schemas]
    return sum(sizes, size_of(prompt, counter) if prompt else Size())


class Gauge:
    """Measures for each thread how far estimates are off: the number of the model's tokens per estimated token.

    ``token_counter`` measures it on any messages. Without one, the usage that the provider reports with an answer
    measures it on the messages before that answer.
    """

    def __init__(self, token_counter: MessagesCounter | None = None) -> None:
        self._counter = token_counter
        self._sent = Recent[tuple[str, int]]()
        self._ratios = Recent[float]()

    def ratio(self, talk: Hashable, messages: Sequence[BaseMessage]) -> float:
        """Return the ratio for these messages: the one known last, else one that is counted."""
        self._learn(talk, messages)
        known = self._ratios.get(talk)
        return known or self.counted(talk, messages) or 1.0

    def counted(self, talk: Hashable, messages: Sequence[BaseMessage]) -> float | None:
        """Return the ratio that the counter gives for these messages; ``None`` without a counter."""
        if self._counter is None or not messages:
            return None
        ratio = max(0.001, self._counter(messages) / sum(size_of(message).tokens for message in messages))
        self._ratios.put(talk, ratio)
        return ratio

    def sent(self, talk: Hashable, messages: Sequence[BaseMessage], estimate: int) -> None:
        """Store the estimate of a model call, to compare it with the usage that its answer reports."""
        if messages and messages[-1].id and estimate >= ENOUGH and self._counter is None:
            self._sent.put(talk, (messages[-1].id, estimate))

    def _learn(self, talk: Hashable, messages: Sequence[BaseMessage]) -> None:
        last, estimate = self._sent.get(talk) or (None, 0)
        if last and (used := _reported(messages, last)):
            self._ratios.put(talk, min(3.0, max(0.5, used / estimate)))


def _reported(messages: Sequence[BaseMessage], last: str) -> int | None:
    """Return the input tokens that the answer to messages ending with ``last`` reports."""
    for index in range(len(messages) - 2, -1, -1):
        if messages[index].id == last:
            answer = messages[index + 1]
            usage = answer.usage_metadata if isinstance(answer, AIMessage) else None
            return usage["input_tokens"] if usage else None
    return None


def _blocks(message: BaseMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _calls(message: BaseMessage) -> list[Any]:
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _tokens(block: Any, counter: TokenCounter) -> int:
    if isinstance(block, str):
        return counter.count(block)
    kind = _kind(block)
    if kind == "text":
        return counter.count(str(block.get("text", "")))
    written = _json(block)
    if kind not in _MEDIA:
        return counter.count(written)
    if len(written) < 1_000:  # a link or an id: what it leads to is sent all the same
        return IMAGE_TOKENS
    pages = 1 if "image" in kind else math.ceil(len(written) / PAGE_BYTES)
    return min(counter.count(written), pages * IMAGE_TOKENS)


def _kind(block: Any) -> str:
    """Return the kind of a content block: its type, or its only key, as Bedrock writes it."""
    return str(block.get("type") or next(iter(block), "")) if isinstance(block, dict) else "text"


def _schema(tool: BaseTool | Any) -> dict[str, Any]:
    return convert_to_openai_tool(tool)


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
