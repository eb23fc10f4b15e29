"""What the memory says first, in LlamaIndex's workflows and chat memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step

from llama_index_tidal import ProactiveEvent, TidalChatMemory, speak_first
from tidal_plugins import HashingEmbedder, InvalidInput, TidalMemory
from tidal_plugins.testing import FrozenClock

DEBT = "I have to pay Tom back by Thursday."
SAID = "You wanted to pay Tom back by Thursday; that is tomorrow."


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))


@pytest.fixture
def memory(path: Any, clock: FrozenClock) -> Any:
    """Return a memory that has something to say."""
    with TidalMemory(path, embedder=HashingEmbedder(), clock=clock) as memory:
        memory.presence.allow(zone="Europe/Berlin")
        memory.record(DEBT, "I will remember that.", thread="eva")
        clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
        yield memory


def said(memory: TidalMemory, thread: str) -> list[list[tuple[str, str]]]:
    return [[(m.role, m.text) for m in episode.messages] for episode in memory.episodes.list(thread=thread)]


async def test_a_step_writes_it_to_the_stream(memory):
    class Looking(Workflow):
        @step
        async def look(self, ctx: Context, ev: StartEvent) -> StopEvent:
            return StopEvent(result=await speak_first(memory, ctx.write_event_to_stream))

    handler = Looking().run()
    streamed = [event async for event in handler.stream_events() if isinstance(event, ProactiveEvent)]
    (event,) = streamed
    assert (event.text, event.kind) == (SAID, "task")
    assert event.citations == (memory.episodes.list()[0].citation,)
    assert "due" in event.why
    assert (await handler).id == event.id == memory.presence.messages()[0].id
    assert await Looking().run() is None
    assert ProactiveEvent.model_validate_json(event.model_dump_json()) == event


async def test_it_is_sent_to_a_workflow_that_runs(memory):
    class Waiting(Workflow):
        @step
        async def begin(self, ctx: Context, ev: StartEvent) -> None:
            ctx.write_event_to_stream(ev)

        @step
        async def say(self, ev: ProactiveEvent) -> StopEvent:
            return StopEvent(result=ev.text)

    handler = Waiting().run()
    async for _ in handler.stream_events():
        await speak_first(memory, handler.ctx.send_event)
        break
    assert await handler == SAID


async def test_what_cannot_be_emitted_waits_again(memory):
    def away(event):
        raise ConnectionError("nobody is there")

    with pytest.raises(ConnectionError):
        await speak_first(memory, away)
    heard: list[ProactiveEvent] = []
    await speak_first(memory, heard.append)
    assert [event.text for event in heard] == [SAID]
    with pytest.raises(InvalidInput, match="emit="):
        await speak_first(memory, "stream")  # type: ignore[arg-type]


async def test_each_scope_hears_its_own(memory):
    heard: list[ProactiveEvent] = []
    assert await speak_first(memory, heard.append, scope=("user", "max")) is None
    assert await speak_first(memory, heard.append, scope=("default",))
    assert len(heard) == 1


async def test_the_chat_memory_records_it_as_the_agents_own(memory, clock, says):
    chat, model = TidalChatMemory(memory, thread="chat"), says("Noted.", "Good to hear.")
    engine = SimpleChatEngine.from_defaults(llm=model, memory=chat)
    engine.chat("Good morning.")
    clock.advance(hours=1)
    await speak_first(memory, lambda event: chat.put(event.to_chat_message()))
    assert said(memory, "chat")[1] == [("assistant", SAID)]
    clock.advance(hours=3)
    engine.chat("He has it.")
    assert said(memory, "chat")[2] == [("user", "He has it."), ("assistant", "Good to hear.")]
    assert SAID in [shown.content for shown in model.shown[1]]
    memory.presence.step()
    assert [one.status for one in memory.presence.messages()] == ["answered"]
