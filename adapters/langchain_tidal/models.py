"""Chat models as summarisers and extractors, what they say when they are given too much, and embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from langchain_core.embeddings import Embeddings
from langchain_core.exceptions import ContextOverflowError, OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel

from langchain_tidal.messages import COMPACTION
from tidal_plugins import TidalError
from tidal_plugins.compaction import provider
from tidal_plugins.embedding.wrapped import WrappedEmbedder
from tidal_plugins.graph.reading.prompt import Found, extracted
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.model.graph import Extraction
from tidal_plugins.protocols import Purpose, Summariser
from tidal_plugins.summarising.prompt import Answer, parse, prompt, statements

QUIET: RunnableConfig = {"tags": ["nostream"], "metadata": {"lc_source": COMPACTION}}
"""Keeps the tokens of a summary out of the stream of the run that it is made in."""

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
R = TypeVar("R")


BATCH = 256
"""Texts that one call embeds. Integrations split what their provider takes less of."""

NAMES = ("model", "model_name", "model_id")
"""Attributes under which integrations keep the name of their model."""


class ChatModelSummariser:
    """Summarises with a chat model, by structured output if the model has it, else by plain text.

    Raises for an answer that was cut off, is empty or cannot be read; compaction then uses extracts.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self._ask = _Structured(model, Answer)

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]:
        """Return statements about the sources, as the model answers."""
        asked = prompt(sources, purpose=purpose, previous=previous, max_tokens=max_tokens)
        answer = self._ask(asked)
        return statements(answer) if isinstance(answer, Answer) else parse(answer)


class ChatModelExtractor:
    """Reads entities and relations with a chat model: ``TidalMemory(path, graph_extractor=ChatModelExtractor(model))``.

    It uses structured output if the model has it, else JSON in plain text. It is called in the background, after a turn
    was recorded. Raises for an answer that was cut off or cannot be read; the queue asks again later.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self._ask = _Structured(model, Found)

    def extract_graph(self, texts: Sequence[str]) -> Sequence[Extraction]:
        """Return the model's reading of each text. Quotations that no text contains are marked, and left out later."""
        return extracted(texts, self._ask)


def summariser_of(given: Summariser | BaseChatModel | None) -> Summariser | None:
    """Return a summariser: a chat model is wrapped, a summariser taken as it is."""
    return ChatModelSummariser(given) if isinstance(given, BaseChatModel) else given


def overflowed(error: BaseException) -> bool:
    """Return whether a provider refused a request because it takes more context than the model has."""
    if isinstance(error, TidalError):
        return False
    return isinstance(error, ContextOverflowError) or provider.overflowed(error)


def sent(send: Callable[[V], R], given: V, smaller: Callable[[V], V | None]) -> R:
    """Return what ``send`` gives; if a provider refused that as too large, what it gives for something smaller."""
    try:
        return send(given)
    except Exception as error:
        less = smaller(given) if overflowed(error) else None
        if less is None:
            raise
    return send(less)


async def asent(send: Callable[[V], Awaitable[R]], given: V, smaller: Callable[[V], V | None]) -> R:
    """Do what :func:`sent` does. What is smaller is made on a worker thread."""
    try:
        return await send(given)
    except Exception as error:
        less = await asyncio.to_thread(smaller, given) if overflowed(error) else None
        if less is None:
            raise
    return await send(less)


class _Structured(Generic[T]):
    """A model that answers with a structure if it can, else in plain text."""

    def __init__(self, model: BaseChatModel, schema: type[T]) -> None:
        self._model = model
        self._schema = schema
        self._structured = structured(model, schema)

    def __call__(self, asked: str) -> T | str:
        if self._structured:
            try:
                return self._structure(self._structured.invoke(asked, QUIET))
            except Exception as error:
                if not knows_no_tools(error):
                    raise
                self._structured = None
        return _text(self._model.invoke(asked, QUIET))

    def _structure(self, output: dict[str, Any]) -> T | str:
        """Return a structured output, or the text that a model wrote instead."""
        parsed, raw = output["parsed"], output["raw"]
        if not isinstance(parsed, self._schema):
            return _text(raw)
        _finished(raw)
        return parsed


def structured(model: BaseChatModel, schema: type[BaseModel]) -> Runnable[Any, Any] | None:
    """Return the model with structured output, or ``None`` if its class or its profile says that it has none."""
    profile = model.profile or {}
    if profile.get("tool_calling") is False and not profile.get("structured_output"):
        return None
    try:
        return cast("Runnable[Any, Any]", model.with_structured_output(schema, include_raw=True))
    except NotImplementedError:
        return None


def _text(message: BaseMessage) -> str:
    _finished(message)
    return message.text


def is_cut_off(message: BaseMessage) -> bool:
    """Return whether an answer ends where the model was not allowed any more tokens."""
    return provider.cut_off(message.response_metadata)


def _finished(message: BaseMessage) -> None:
    """Raise if the answer was cut off, since it may then end with half a sentence or half an id."""
    if is_cut_off(message):
        raise OutputParserException("the model's answer was cut off; give it room for more tokens")


def knows_no_tools(error: Exception) -> bool:
    """Return whether a server refused because this model cannot call tools; its class may not know (Ollama, vLLM)."""
    said = str(error).lower()
    return "tool" in said and ("does not support" in said or "not supported" in said or "requires --enable" in said)


class LangChainEmbedder(WrappedEmbedder):
    """Any LangChain ``Embeddings`` as the embedder of a memory.

    What is stored goes through ``embed_documents`` and what is asked through ``embed_query``: models such as E5, BGE
    or Cohere's tell the two apart. ``dimensions`` are asked of the model once, when they are first needed.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        super().__init__(type(embeddings).__name__)
        self._embeddings = embeddings

    @property
    def id(self) -> str | None:
        """Return class and model, or ``None`` if the model has no name: a store then knows it by a probe's vector."""
        names = (getattr(self._embeddings, key, None) for key in NAMES)
        name = next((name for name in names if isinstance(name, str) and name), None)
        return name and f"langchain/{type(self._embeddings).__name__}/{name}"

    def _texts(self, texts: list[str]) -> list[list[float]]:
        batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
        return [row for batch in batches for row in self._embeddings.embed_documents(batch)]

    def _query(self, text: str) -> list[float]:
        return self._embeddings.embed_query(text)
