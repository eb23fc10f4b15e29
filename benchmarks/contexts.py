"""Build the contexts that other libraries make of a history that has grown past a limit, behind one interface.

An ``Arm`` is given the new messages of a history and returns the context for the model. It is called once with the
whole history, or before every model call with the messages since the last one. Arms that want a model to write a
summary get this library's extractive summariser: turns are its sources, and an earlier summary is passed to it as such.
All arms count with one counter.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout

from langchain.agents.middleware import ModelRequest, ModelResponse, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_tidal.messages import to_message
from tidal_plugins import Message
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.sizes import ApproximateCounter, measure

Arm = Callable[[Sequence[Message]], Sequence[Message]]
"""A function that takes the new messages and returns the context for the model."""

COUNTER = ApproximateCounter()
WRAPPER = 24
"""Number of tokens reserved for a peer's own words around a summary."""
LANGMEM = importlib.util.find_spec("langmem") is not None
DEEPAGENTS = importlib.util.find_spec("deepagents") is not None
_CITED = re.compile(r" ?\[ep:[^\]]*\]")
_SUMMARIES = ("Here is a summary of the conversation to date:", "This is summary of the conversation so far:")
_OFFLOADED = re.compile(r"You are in the middle of a conversation .*<summary>\n(.*)\n</summary>", re.DOTALL)
_ORDERS = ("Create a summary of the conversation above:", "Extend this summary by taking into account")


def size(messages: Sequence[Message]) -> Size:
    return sum((measure(message, COUNTER) for message in messages), Size())


def last_messages(limit: int) -> Arm:
    """Keep as many of the last messages as fit."""
    held: list[Message] = []

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(new)
        left, start = limit, len(held)
        while start and (left := left - measure(held[start - 1], COUNTER).tokens) >= 0:
            start -= 1
        return held[start:]

    return arm


def trimmed(limit: int) -> Arm:
    """Trim with ``trim_messages`` as LangChain's guide sets it up: the last messages, starting with a human one."""
    held: list[BaseMessage] = []
    tokens = Tokens()

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(map(shown_to, new))
        return plain(trim_messages(held, max_tokens=limit, token_counter=tokens, strategy="last", start_on="human"))

    return arm


def summarised(limit: int, share: float, trigger: int, *, trims: bool) -> Arm:
    """Summarise with ``SummarizationMiddleware`` above ``trigger`` tokens; the summary gets ``share`` of the limit.

    With ``trims``, the middleware's default, the summary is made of the last 4,000 tokens only, otherwise of
    everything.
    """
    tokens = Tokens()
    budget = int(share * limit) - WRAPPER
    more: dict[str, Any] = {} if trims else {"trim_tokens_to_summarize": None}
    middleware = SummarizationMiddleware(
        model=Extractive(max_tokens=budget),
        trigger=("tokens", trigger + 1),
        keep=("tokens", limit - int(share * limit)),
        token_counter=tokens,
        summarizer=lambda messages: extracted(messages, budget),
        **more,
    )
    held: list[BaseMessage] = []

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(map(shown_to, new))
        update = middleware.before_model(cast("Any", {"messages": held}), cast("Any", None))
        if update:
            held[:] = update["messages"][1:]  # the first removes all there were
        return plain(held)

    return arm


def noded(limit: int, share: float, trigger: int) -> Arm:
    """Summarise with langmem's ``SummarizationNode``, which reads at most ``limit`` tokens at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        short_term = importlib.import_module("langmem.short_term")

    budget = int(share * limit)
    node = short_term.SummarizationNode(
        model=Extractive(max_tokens=budget - WRAPPER),
        max_tokens=limit,
        max_tokens_before_summary=min(limit, trigger),
        max_summary_tokens=budget,
        token_counter=Tokens(),
    )
    held: list[BaseMessage] = []
    context: dict[str, Any] = {}

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(map(shown_to, new))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of messages that are longer than what it reads
            update = node.invoke({"messages": held, "context": context})
        context.update(update.get("context", {}))
        return plain(update["summarized_messages"])

    return arm


def offloaded(limit: int, share: float, trigger: int) -> Arm:
    """Compact with deepagents' ``SummarizationMiddleware``, which writes what it leaves out into a file.

    As its factory sets it up, it reads everything.
    """
    module = importlib.import_module("deepagents.middleware.summarization")
    backends = importlib.import_module("deepagents.backends")
    folder = mkdtemp(prefix="tidal-benchmark-")
    budget = int(share * limit) - 2 * WRAPPER
    model = Extractive(max_tokens=budget)
    middleware = module.SummarizationMiddleware(
        model=model,
        backend=backends.FilesystemBackend(root_dir=folder, virtual_mode=True),
        trigger=("tokens", trigger + 1),
        keep=("tokens", limit - int(share * limit)),
        token_counter=Tokens(),
        trim_tokens_to_summarize=None,
        summarizer=lambda messages: extracted(messages, budget),
    )
    held: list[BaseMessage] = []
    state: dict[str, Any] = {}

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(map(shown_to, new))
        seen: list[BaseMessage] = []

        def handler(request: ModelRequest) -> ModelResponse:
            seen[:] = request.messages
            return ModelResponse(result=[AIMessage("")])

        told = cast("Any", {**state, "messages": held})
        request = ModelRequest(model=model, messages=cast("Any", held), state=told, runtime=cast("Any", None))
        answer = middleware.wrap_model_call(request, handler)
        if command := getattr(answer, "command", None):
            state.update({key: value for key, value in command.update.items() if key != "messages"})
        return plain(seen)

    weakref.finalize(arm, shutil.rmtree, folder, ignore_errors=True)
    return arm


# the model


class Extractive(BaseChatModel):
    """A chat model whose answer is the extractive summary of what it is given."""

    max_tokens: int

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        answer = AIMessage(extracted(messages, self.max_tokens))
        return ChatResult(generations=[ChatGeneration(message=answer)])


def extracted(messages: Sequence[BaseMessage], max_tokens: int) -> str:
    """Return the extractive summary of messages, one statement a line; an earlier summary is passed on as such."""
    texts = [str(message.content) for message in messages if isinstance(message, HumanMessage)]
    previous = [Statement(line, ("0",)) for text in texts for line in _earlier(text)]
    spoken = [message for message in messages if not _is_about_a_summary(message)]
    sources = [Source(str(n), turn) for n, turn in enumerate(_turns(plain(spoken)), 1)]
    found = ExtractiveSummariser(Uncited()).summarise(
        sources, purpose="summary", previous=previous, max_tokens=max_tokens
    )
    return "\n".join(statement.text for statement in found)


class Uncited:
    """Counts the tokens of a statement without its citations, as a peer's summary shows it."""

    def count(self, text: str) -> int:
        return COUNTER.count(_CITED.sub("", text))


def _turns(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    held: list[Message] = []
    for message in messages:
        if message.role == "user" and held:
            yield tuple(held)
            held = []
        held.append(message)
    if held:
        yield tuple(held)


def _is_about_a_summary(message: BaseMessage) -> bool:
    text = str(message.content)
    return isinstance(message, HumanMessage) and (
        text.startswith((*_SUMMARIES, *_ORDERS)) or _OFFLOADED.match(text) is not None
    )


def _earlier(text: str) -> list[str]:
    if found := _OFFLOADED.match(text):
        return [line.strip() for line in found[1].splitlines() if line.strip()]
    for mark in _SUMMARIES:
        if text.startswith(mark):
            lines = text.removeprefix(mark).split(f"\n\n{_ORDERS[1]}")[0].splitlines()
            return [line.strip() for line in lines if line.strip()]
    return []


# messages


class Tokens:
    """Counts the tokens of LangChain's messages, and remembers the count of each."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str], int] = {}

    def __call__(self, messages: Any) -> int:
        return sum(map(self._count, messages))

    def _count(self, message: BaseMessage) -> int:
        key = (message.id, str(message.content))
        if key not in self._known:
            self._known[key] = size(plain([message])).tokens
        return self._known[key]


def shown_to(message: Message) -> BaseMessage:
    """Convert one of our messages to LangChain's."""
    if message.role == "user":
        return HumanMessage(message.text, id=message.id)
    if message.role == "tool":
        return ToolMessage(message.text, id=message.id, tool_call_id=str(message.tool_call_id))
    calls = [{"name": call.name, "args": dict(call.arguments), "id": call.id} for call in message.tool_calls]
    return AIMessage(message.text, id=message.id, tool_calls=calls)


def plain(messages: Sequence[BaseMessage]) -> list[Message]:
    """Convert LangChain's messages to ours."""
    found = [
        Message("system", str(message.content)) if isinstance(message, SystemMessage) else to_message(message)
        for message in messages
    ]
    return [message for message in found if message]
