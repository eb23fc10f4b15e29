"""Imports: streamed, in batches that stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from tidal_plugins import Exchange, HashingEmbedder, Imported, InvalidText, Message, TidalMemory
from tidal_plugins.tuning import Tuning

BATCH = 50


def exchanges(count: int) -> Iterator[Exchange]:
    for number in range(count):
        said = (Message("user", f"Is buoy {number} lit?"), Message("assistant", f"Buoy {number} is lit."))
        yield Exchange(said, f"watch {number // 100}", str(number))


class Counting(HashingEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        return super().embed(texts)


@pytest.fixture
def embedder() -> Counting:
    return Counting(32)


@pytest.fixture
def memory(open_memory: Any, embedder: Counting) -> TidalMemory:
    opened: TidalMemory = open_memory(
        settings=Tuning(ingestion={"batch": BATCH}, graph={"background": False}), embedder=embedder
    )
    return opened


def test_a_generator_is_read_one_batch_ahead_of_what_is_stored(memory: TidalMemory) -> None:
    read, stored = 0, 0
    ahead: list[int] = []

    def given() -> Iterator[Exchange]:
        nonlocal read
        for exchange in exchanges(1_000):
            read += 1
            ahead.append(read - stored)
            yield exchange

    def note(done: int, of: int | None) -> None:
        nonlocal stored
        assert of is None
        stored = done

    assert memory.record_many(given(), progress=note) == Imported(exchanges=1_000, new=1_000)
    assert max(ahead) == BATCH + 1
    assert len(memory.episodes.list()) == 1_000


def test_what_was_stored_before_a_generator_failed_stays_and_is_only_read_again(
    memory: TidalMemory, embedder: Counting
) -> None:
    def failing() -> Iterator[Exchange]:
        yield from exchanges(120)
        raise OSError("the export is cut off")

    with pytest.raises(OSError, match="cut off"):
        memory.record_many(failing())
    assert len(memory.episodes.list()) == 2 * BATCH
    before = embedder.texts
    assert memory.record_many(exchanges(100)) == Imported(exchanges=100)
    assert embedder.texts == before
    assert memory.record_many(exchanges(120)) == Imported(exchanges=120, new=20)


def test_batches_before_an_exchange_that_is_refused_stay(memory: TidalMemory) -> None:
    refused = Exchange((Message("user", ["no text"]),), "s", "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidText):
        memory.record_many([*exchanges(BATCH + 5), refused])
    assert len(memory.episodes.list()) == BATCH


def test_a_turn_that_goes_on_later_in_an_import_is_counted_as_grown(memory: TidalMemory) -> None:
    parts: Iterable[Exchange] = [
        Exchange((Message("user", "Light the lamp.", "a"),), "s", "t"),
        *exchanges(BATCH),
        Exchange((Message("assistant", "The lamp is lit.", "b"),), "s", "t"),
    ]
    assert memory.record_many(parts) == Imported(exchanges=BATCH + 2, new=BATCH + 1, grown=1)
    [episode] = memory.episodes.list(thread="s")
    assert [message.text for message in episode.messages] == ["Light the lamp.", "The lamp is lit."]
