"""A turn that says much is written in several short transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.graph.indexing import SAID, Watched, watched
from tests.reading import Reader
from tidal_plugins import Closed, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.errors import StorageError
from tidal_plugins.testing import FrozenClock

CHAIN = " and ".join(f"m{n} depends on m{n + 1}" for n in range(60))
SLICE = 10

Watch = Callable[..., tuple[TidalMemory, Watched]]


@pytest.fixture
def watch(tmp_path: Path, clock: FrozenClock) -> Iterator[Watch]:
    """Opens a memory that writes a few things at a time, and its storage."""
    opened: list[TidalMemory] = []

    def open_(name: str = "agent.db", slice: int = SLICE) -> tuple[TidalMemory, Watched]:
        storage = watched(tmp_path / name)
        settings = Settings(graph={"background": False}, tuning={"graph.slice": slice})
        options = {"embedder": HashingEmbedder(), "graph_extractor": Reader(), "clock": clock}
        opened.append(TidalMemory(storage=storage, settings=settings, **options))
        return opened[-1], storage

    yield open_
    for memory in opened:
        memory.close()


def whole(memory: TidalMemory) -> list[tuple[str, int]]:
    graph = memory.graph
    relations = graph.relations()
    said = graph.sentences(relations)
    mentions = [(entity.name, len(graph.mentions(entity.id))) for entity in graph.entities()]
    return sorted([*mentions, *((said[one.id], len(graph.evidence(one))) for one in relations)])


def test_a_turn_that_says_much_is_written_in_short_transactions(watch: Watch) -> None:
    (one, few), (other, many) = watch("one.db", 1_000), watch("other.db")
    for memory, storage in ((one, few), (other, many)):
        memory.record(CHAIN, "m7 depends on m8 and " + CHAIN)
        storage.watch()
        done = memory.graph.index_pending()
        assert (done.episodes, done.assertions) == (1, 121)
    assert many.count > few.count + 20
    assert whole(other) == whole(one)
    assert other.graph.pending() == []


def test_another_process_records_between_two_parts(watch: Watch) -> None:
    (memory, storage), (other, _) = watch(), watch()
    memory.record(CHAIN)
    recorded = []
    thread = threading.Thread(target=lambda: recorded.append(other.record("hello there").id))
    storage.watch(lambda number: number == 3 and (thread.start(), thread.join()))  # no lock is held meanwhile
    assert memory.graph.index_pending(1).episodes == 1
    assert len(recorded) == 1
    assert storage.count > 10


@pytest.mark.parametrize("last", [False, True])
def test_a_turn_whose_writing_ends_half_way_is_written_whole_the_next_time(watch: Watch, last: bool) -> None:
    (memory, storage), (reference, counted) = watch(), watch("reference.db")
    memory.record(CHAIN, SAID)
    reference.record(CHAIN, SAID)
    parts: list[int] = []
    counted.watch(lambda number: reference.graph.pending() and parts.append(number))
    reference.graph.index_pending()

    def stop(number: int) -> None:
        if number == parts[-1 if last else len(parts) // 2]:
            raise StorageError("the disk is full")

    storage.watch(stop)
    with pytest.raises(StorageError):
        memory.graph.index_pending()
    assert [pending.attempts for pending in memory.graph.pending()] == [0]
    assert memory.graph.entities()
    storage.watch()
    assert memory.graph.index_pending().episodes == 1
    assert memory.graph.pending() == []
    assert whole(memory) == whole(reference)


def test_a_turn_that_is_forgotten_while_it_is_written_leaves_nothing(watch: Watch) -> None:
    (memory, storage), (other, _) = watch(), watch()
    episode = memory.record(CHAIN)
    storage.watch(lambda number: number == 3 and other.forget(episode.id))
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.entities() == memory.graph.relations() == memory.graph.pending() == []


def test_closing_ends_the_writing_between_two_parts(watch: Watch) -> None:
    memory, storage = watch()
    memory.record(CHAIN)
    storage.watch(lambda number: number == 3 and memory.close())
    with pytest.raises(Closed):
        memory.graph.index_pending()
    again, _ = watch()
    assert len(again.graph.pending()) == 1
    assert again.graph.index_pending().episodes == 1
    assert len(again.graph.relations()) == 60
