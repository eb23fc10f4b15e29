"""One way to hear a runner: a callback, or a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, Presence, ProactiveMessage, TidalMemory
from tidal_plugins.testing import FrozenClock

OFTEN = timedelta(milliseconds=20)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TidalMemory]:
    """Return a memory that has something to say."""
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder(), clock=clock) as memory:
        memory.presence.allow(zone="Europe/Berlin")
        memory.record("I have to water the ferns by Thursday.", "I will remember that.")
        clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
        yield memory


async def test_what_a_callback_was_told_does_not_wait_again(memory: TidalMemory) -> None:
    said: list[ProactiveMessage] = []
    async with Presence(memory, said.append, interval=OFTEN) as presence:
        while not said:
            await asyncio.sleep(0.01)
        with pytest.raises(InvalidInput, match="without on_message="):
            await anext(aiter(presence))
    assert [one.status for one in memory.presence.messages()] == ["taken"]


async def test_a_memory_that_is_closed_first_ends_the_loop(memory: TidalMemory) -> None:
    async with Presence(memory, interval=OFTEN) as presence:
        async for _message in presence:
            break
        memory.close()
    assert not presence.running


def test_a_coroutine_is_no_callback(memory: TidalMemory) -> None:
    async def send(message: ProactiveMessage) -> None: ...

    with pytest.raises(InvalidInput, match="async for"):
        Presence(memory, send)
