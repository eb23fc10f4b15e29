"""A LlamaIndex ``LLM`` as summariser, extractor and reader of turns, and an embedding as the embedder of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel

from tidal_plugins.compaction.provider import cut_off
from tidal_plugins.embedding.wrapped import WrappedEmbedder
from tidal_plugins.errors import CompactionError, ComponentError, InvalidInput, TidalError
from tidal_plugins.graph.reading.prompt import MAX_CHARS, Found, extracted
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.model.graph import Extraction, ModelAnswer
from tidal_plugins.protocols import Purpose, Summariser
from tidal_plugins.summarising.prompt import Answer, parse, prompt, statements

MIN_CHARS, MAX_SOURCE_CHARS = 2_000, 60_000
"""Characters of episodes that a model is shown at once; between them its context window decides."""

CHARS_PER_TOKEN = 3
RULES = 600
"""Tokens of the rules around the episodes."""
READ = 4_000
"""Tokens of the rules around what an extractor reads, and of its answer."""

T = TypeVar("T", bound=BaseModel)


UNNAMED = "unknown"
"""LlamaIndex's name for a model that was given none."""


class LLMSummariser:
    """Any LlamaIndex ``LLM`` as a summariser: ``TidalChatMemory(memory, token_limit=8_000, summariser=llm)``.

    A model that calls functions answers by calling one; the text of other models is parsed. No prompt template is used,
    because it would take braces in messages for its variables. Raises ``CompactionError`` for an answer that was cut
    off, and every error of the model.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]:
        """Return the statements that the model makes of the sources."""
        room = self._llm.metadata.context_window - 2 * max_tokens - RULES  # what was stated before, and what will be
        chars = max(MIN_CHARS, min(MAX_SOURCE_CHARS, room * CHARS_PER_TOKEN))
        asked = prompt(sources, purpose=purpose, previous=previous, max_tokens=max_tokens, max_chars=chars)
        answer = _asked(self._llm, asked, Answer, CompactionError)
        if isinstance(answer, str):
            return parse(answer)
        return [statement for each in answer for statement in statements(each)]


class LLMExtractor:
    """Reads entities and relations with any LlamaIndex ``LLM``: ``TidalMemory(…, graph_extractor=LLMExtractor(llm))``.

    It is called in the background, after a turn was recorded, and answers as :class:`LLMSummariser` does. Raises
    ``ComponentError`` for an answer that was cut off or cannot be read, and every error of the model. The queue asks
    again later.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def extract_graph(self, texts: Sequence[str]) -> Sequence[Extraction]:
        """Return the model's reading of each text. Quotations that no text contains are marked, and left out later."""
        room = (self._llm.metadata.context_window - READ) * CHARS_PER_TOKEN
        return extracted(texts, self._ask, max_chars=max(MIN_CHARS, min(MAX_CHARS, room)))

    def _ask(self, asked: str) -> Found | str:
        answer = _asked(self._llm, asked, Found, ComponentError)
        return answer if isinstance(answer, str) else _merged(answer)


class LLMReader:
    """Reads episodes with any LlamaIndex ``LLM``; ``memory.graph.read_with(llm)`` makes one.

    A model that calls functions answers by calling one, others by lines of JSON. Raises ``InvalidInput`` for what is no
    ``LLM``.
    """

    def __init__(self, llm: LLM) -> None:
        if not isinstance(llm, LLM):
            raise InvalidInput(f"an LLM reads, got {type(llm).__name__}")
        self._llm = llm

    def answer(self, prompt: str, schema: type[BaseModel] | None) -> ModelAnswer:
        """Return the model's answer. A token is taken for four characters: integrations count in ways of their own."""
        if schema is None:
            return ModelAnswer(self._llm.complete(prompt).text)
        if not (isinstance(self._llm, FunctionCallingLLM) and self._llm.metadata.is_function_calling_model):
            raise NotImplementedError("the model calls no functions")
        found = _called(self._llm, prompt, schema, ComponentError)
        if isinstance(found, str):
            return ModelAnswer(found)
        merged: dict[str, list[Any]] = {}
        for name, items in (item for each in found for item in each.items()):
            merged.setdefault(name, []).extend(items if isinstance(items, list) else [items])
        return ModelAnswer(merged)


def summariser_of(given: LLM | Summariser | None) -> Summariser | None:
    """Return the given summariser; an ``LLM`` is wrapped."""
    if isinstance(given, LLM):
        return LLMSummariser(given)
    if given is not None and not isinstance(given, Summariser):
        raise InvalidInput(f"summariser must be an LLM, or have a method summarise, got {type(given).__name__}")
    return given


def _asked(llm: LLM, asked: str, schema: type[T], refusal: type[TidalError]) -> list[T] | str:
    """Return a model's answer: structures if it calls functions, else a text. Raises ``refusal`` if it was cut off."""
    if isinstance(llm, FunctionCallingLLM) and llm.metadata.is_function_calling_model:
        found = _called(llm, asked, schema, refusal)
        return found if isinstance(found, str) else [schema.model_validate(each) for each in found]
    response = llm.complete(asked)
    _whole(response.raw, refusal)
    return response.text


def _called(
    llm: FunctionCallingLLM, asked: str, schema: type[BaseModel], refusal: type[TidalError]
) -> list[dict[str, Any]] | str:
    """Call a model for a structure, and return the arguments of its calls as they are.

    ``structured_predict`` shows no raw response, and integrations complete arguments that were cut off.
    """
    answer = FunctionTool.from_defaults(schema, name="answer", description="Give the answer.", fn_schema=schema)
    question = ChatMessage(asked, role=MessageRole.USER)
    response = llm.chat_with_tools([answer], user_msg=question, tool_required=True)
    _whole(response.raw, refusal)
    calls = llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    if not calls:  # it did without, as some do that think first
        return response.message.content or ""
    return [dict(call.tool_kwargs) for call in calls]


def _merged(answers: Sequence[Found]) -> Found:
    """Return the findings of several calls as one."""
    return Found(
        entities=[entity for each in answers for entity in each.entities],
        relations=[relation for each in answers for relation in each.relations],
    )


def _whole(raw: Any, refusal: type[TidalError]) -> None:
    if cut_off(raw):
        raise refusal("the model's answer was cut off; let it write more tokens, or lower the token limit")


class LlamaIndexEmbedder(WrappedEmbedder):
    """Any LlamaIndex ``BaseEmbedding`` as the embedder of a memory.

    What is stored is embedded as a text, in batches of the embedding's ``embed_batch_size``, and what is asked as a
    query. ``dimensions`` are asked of the model once, when they are first needed.
    """

    def __init__(self, embedding: BaseEmbedding) -> None:
        if not isinstance(embedding, BaseEmbedding):
            raise InvalidInput(f"embedding is a BaseEmbedding, got {type(embedding).__name__}")
        super().__init__(f"{embedding.class_name()} {embedding.model_name}")
        self._embedding = embedding

    @property
    def id(self) -> str | None:
        """Return class and model, or ``None`` if the model has no name: a store then knows it by a probe's vector."""
        name = self._embedding.model_name
        return None if name in ("", UNNAMED) else f"llama-index/{self._embedding.class_name()}/{name}"

    def _texts(self, texts: list[str]) -> list[list[float]]:
        return self._embedding.get_text_embedding_batch(texts)

    def _query(self, text: str) -> list[float]:
        return self._embedding.get_query_embedding(text)

    def _probe(self, text: str) -> list[float]:
        return self._embedding.get_text_embedding(text)
