"""A scripted model, and memories to run it with. Worker processes import it too."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection
from pydantic import Field, PrivateAttr

from tests.forking import forker
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

PREPARE = "import llama_index.core.agent.workflow, llama_index_tidal, tests.frameworks.llama_index.conftest"

SETTINGS = Settings(whisper={"threshold": 0.2})  # spelling passes it where meaning passes MiniLM's

FACT = "I practise jazz piano every evening."
ASK = "When do I practise jazz piano?"


class ScriptedLLM(FunctionCallingLLM):
    """Plays its replies in order, repeating the last one, and keeps what it was shown.

    A reply is a text, a message, an exception to raise, or a function of the messages shown.
    """

    replies: list[Any]
    shown: list[list[ChatMessage]] = Field(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, context_window=32_000)

    def chat(self, messages, **kwargs):
        with self._lock:
            reply = self.replies[min(len(self.shown), len(self.replies) - 1)]
            self.shown.append([message.model_copy(deep=True) for message in messages])
        if isinstance(reply, Exception):
            raise reply
        reply = reply(messages) if callable(reply) else reply
        message = ChatMessage(reply, role="assistant") if isinstance(reply, str) else reply.model_copy(deep=True)
        return ChatResponse(message=message)

    def stream_chat(self, messages, **kwargs):
        message = self.chat(messages).message
        text = message.content or ""
        for end in range(0, len(text) + 1, 8):
            part = ChatMessage(text[: end + 8], role="assistant")
            yield ChatResponse(message=part if end + 8 < len(text) else message, delta=text[end : end + 8])

    async def achat(self, messages, **kwargs):
        return self.chat(messages)

    async def astream_chat(self, messages, **kwargs):
        parts = list(self.stream_chat(messages))

        async def stream():
            for part in parts:
                yield part

        return stream()

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=self.chat([ChatMessage(prompt)]).message.content or "")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)

    async def acomplete(self, prompt, formatted=False, **kwargs):
        return self.complete(prompt)

    async def astream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **kwargs):
        messages = list(chat_history or [])
        return {"messages": messages if user_msg is None else [*messages, user_msg]}

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **kwargs):
        return [
            ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


class CountingEmbedder(HashingEmbedder):
    """Keeps the texts that it embedded, call by call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed(self, texts):
        self.calls.append(list(texts))
        return super().embed(texts)

    @property
    def recalls(self) -> list[str]:
        """Return the questions that recall embedded. Texts that record embeds come with a summary of their episode."""
        return [texts[0] for texts in self.calls if len(texts) == 1]


def open_memory(path: Any, embedder: Any = None, **options: Any) -> TidalMemory:
    return TidalMemory(path, embedder=embedder or HashingEmbedder(), settings=SETTINGS, **options)


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> ChatMessage:
    """Return an assistant's message that calls tools, with the ids ``call-1``, ``call-2``, …"""
    blocks: list[Any] = [ChatMessage(text).blocks[0]] if text else []
    for number, (name, arguments) in enumerate(calls, 1):
        blocks.append(ToolCallBlock(tool_call_id=f"call-{number}", tool_name=name, tool_kwargs=arguments))
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


def metronome(tempo: int) -> str:
    """Set the metronome."""
    if tempo < 0:
        raise ValueError(f"no tempo {tempo}")
    return f"The metronome ticks at {tempo}."


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def embedder():
    return CountingEmbedder()


@pytest.fixture
def memory(path, embedder):
    with open_memory(path, embedder) as memory:
        yield memory


@pytest.fixture
def reminded(memory, embedder):
    """Return a memory in which an earlier thread said ``FACT``."""
    memory.record(user=FACT, agent="Noted.", thread="monday")
    embedder.calls.clear()
    return memory


@pytest.fixture
def open_():
    return open_memory


@pytest.fixture
def says():
    """Return a function that makes a model with these replies."""
    return lambda *replies: ScriptedLLM(replies=list(replies))


@pytest.fixture
def calls():
    return calling


@pytest.fixture
def tool():
    return metronome


@pytest.fixture
def fact():
    return FACT


@pytest.fixture
def ask():
    return ASK


@pytest.fixture
def in_process(path):
    """Return a function that runs one step of an agent in a process of its own, on the same file."""

    def run(**command: Any) -> Any:
        worker = str(Path(__file__).with_name("context_process.py"))
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        given = json.dumps(command).encode()
        done = forker(PREPARE).run(worker, str(path), env=environment, cwd=path.parent, given=given)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return run
