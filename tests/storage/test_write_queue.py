"""Many writers of one file: in this process each in its turn, and beside other processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import eventually, write_lock
from tidal_plugins import Busy, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.storage.base import Line, Where
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import HERE, NOON, record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStorage]:
    store = SQLiteStorage(tmp_path / "agent.db")
    yield store
    store.close()


def waiting(store: SQLiteStorage) -> int:
    return len(store._db._queue._turns)


def test_threads_write_in_the_order_in_which_they_came(store: SQLiteStorage) -> None:
    beside = SQLiteStorage(store.path)  # another memory over the same file stands in the same queue
    threads = []
    with store.transaction():
        store.append_log(HERE, "order", [Line("first", NOON, None)])
        for number in range(30):
            lines = [Line(str(number), NOON, None)]
            writer = (store, beside)[number % 2]
            threads.append(threading.Thread(target=writer.append_log, args=(HERE, "order", lines)))
            threads[-1].start()
            assert eventually(lambda: waiting(store) == 2 + number)  # noqa: B023
    for thread in threads:
        thread.join()
    assert [line.key for line in store.read_log(HERE, "order")] == ["first", *map(str, range(30))]
    beside.close()


def test_fifty_threads_record_at_once(tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder()) as memory:
        errors: list[Exception] = []

        def record(number: int) -> None:
            try:
                for turn in range(4):
                    memory.record(f"bell {number} rings {turn} times", "Noted.", thread=f"tower {number}")
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=record, args=[number]) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(memory.episodes.list()) == 200


def test_a_thread_gives_up_after_the_busy_timeout(store: SQLiteStorage) -> None:
    hurried, errors = SQLiteStorage(store.path, busy_timeout=0.2), []

    def write() -> None:
        try:
            hurried.put(HERE, [record("b")])
        except Busy as error:
            errors.append(str(error))

    with store.transaction():
        store.put(HERE, [record("a")])
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert waiting(store) == 1
    assert len(errors) == 1
    assert "other threads kept" in errors[0]
    hurried.put(HERE, [record("b")])
    assert {entry.id for entry in store.find(HERE, Where())} == {"a", "b"}
    hurried.close()


@pytest.mark.slow
def test_a_thread_that_waits_for_another_process_gives_up_after_the_busy_timeout(tmp_path: Path) -> None:
    settings = Settings(storage={"busy_timeout": 0.2})
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        memory.remember("the bell is cracked")
        with write_lock(memory.path):
            with pytest.raises(Busy, match="another process kept"):
                memory.remember("the bell is mended")
            assert memory.recall("bell").ids, "readers go on"
        memory.remember("the bell is mended")
