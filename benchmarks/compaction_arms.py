"""The arms of the compaction benchmark, and the memories that they start from."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout

from langchain.agents.middleware import ModelRequest, ModelResponse, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from benchmarks.compaction_cases import Case
from langchain_tidal.messages import to_message
from tidal_plugins import (
    Exchange,
    Message,
    Settings,
    TidalMemory,
)
from tidal_plugins.compaction.state import history as split
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.sizes import ApproximateCounter, measure

FILLED = Settings(compaction={"compact": 0.85}, tuning={"compaction.target": 0.8})
"""Settings of «ours»: only the limit bounds the size of a summary, as for the others."""
SESSION = "benchmark"
OURS, DEFAULTS = "ours", "ours, as it comes"


class Opener(NamedTuple):
    """A function that opens an arm from the arm's own limit and the size at which it compacts.

    ``fixed`` says that the arm's own limit is not to be moved.
    """

    open: Callable[[int, int], Arm]
    fixed: bool = False


class Compacted(NamedTuple):
    """The last context that an arm made, ``None`` after an error, and the seconds of its slowest step.

    ``share`` is the arm's own limit as a multiple of the common limit.
    """

    context: Sequence[Message] | None
    seconds: float
    share: float = 1.0

    @property
    def tokens(self) -> int:
        return size(self.context or ()).tokens


class Memories:
    """A memory in which a case is recorded. Each arm gets its own copy, so that none sees the work of another."""

    def __init__(self, folder: Path, case: Case, embedder: Any, stack: ExitStack, *, quiet: bool = False) -> None:
        self._folder, self._case, self._embedder, self._stack = folder, case, embedder, stack
        self._quiet = quiet
        self._copies = 0
        with self._open(folder / "0.db", Settings()) as memory:
            memory.record_many(exchanges(case.messages))

    def copy(self, settings: Settings | None = None) -> TidalMemory:
        self._copies += 1
        path = self._folder / f"{self._copies}.db"
        shutil.copy(self._folder / "0.db", path)
        return self._stack.enter_context(self._open(path, settings or Settings()))

    def _open(self, path: Path, settings: Settings) -> TidalMemory:
        end = self._case.end
        clock = {"clock": lambda: end} if end else {}
        if self._quiet:  # the thread that reads what was recorded would be timed too
            settings = settings.model_copy(update={"graph": settings.graph.model_copy(update={"background": False})})
        return TidalMemory(path, embedder=self._embedder, settings=settings, **clock)  # type: ignore[arg-type]


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    return [Exchange(turn.messages, SESSION, turn.key, turn.messages[0].at) for turn in split(messages).turns]


def ours(memory: TidalMemory, limit: int, trigger: int) -> Arm:
    """Open this library's compactor as an arm.

    The compactor reserves room for a whisper, which is not shown here; that room is added to the limit.
    """
    reserve = COUNTER.count(" " * memory.settings.whisper.max_chars)
    compactor = memory.compactor(max_tokens=limit + reserve, counter=COUNTER)
    held: list[Message] = []

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(new)
        force = "compact" if size(held).tokens > trigger else None
        return compactor.compact(held, thread=SESSION, force=force).messages  # type: ignore[arg-type]

    return arm


def openers(memories: Memories) -> dict[str, Opener]:
    arms = {
        OURS: Opener(lambda own, trigger: ours(memories.copy(FILLED), own, trigger)),
        DEFAULTS: Opener(lambda own, trigger: ours(memories.copy(), own, trigger), fixed=True),
        "SummarizationMiddleware, ½ summary": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=True)),
        "the same, reads everything": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=False)),
        "the same, reads everything, ⅞ summary": Opener(
            lambda own, trigger: summarised(own, 0.875, trigger, trims=False)
        ),
    }
    if LANGMEM:
        arms["langmem SummarizationNode, ½ summary"] = Opener(lambda own, trigger: noded(own, 0.5, trigger))
        arms["langmem SummarizationNode, ⅞ summary"] = Opener(lambda own, trigger: noded(own, 0.875, trigger))
    if DEEPAGENTS:
        arms["deepagents' compaction, ½ summary"] = Opener(lambda own, trigger: offloaded(own, 0.5, trigger))
        arms["deepagents' compaction, ⅞ summary"] = Opener(lambda own, trigger: offloaded(own, 0.875, trigger))
    return arms | {
        "trim_messages": Opener(lambda own, _: trimmed(own), fixed=True),
        "the last messages": Opener(lambda own, _: last_messages(own), fixed=True),
    }


# what other libraries make of a history that has grown past a limit
#
# An ``Arm`` is given the new messages of a history and returns the context for the model. It is called once with the
# whole history, or before every model call with the messages since the last one. Arms that want a model to write a
# summary get this library's extractive summariser: turns are its sources, and an earlier summary is passed to it as
# such. All arms count with one counter.


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
