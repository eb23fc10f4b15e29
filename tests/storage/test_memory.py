"""The in-memory engine: the contract, the order of SQLite's results, and what is its own."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import Busy, Closed
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.memory import Contents, MemoryStorage
from tidal_plugins.storage.shorthands import passage_vectors, write_document
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import ALL, HERE, NOON, StoreContract, ids, record


class TestMemory(StoreContract):
    @pytest.fixture
    def open_store(self) -> Callable[[], Storage]:
        contents = Contents()
        return lambda: MemoryStorage(contents)


WORDS = (
    "jazz piano pianos playing played plays daily café deploy deploys deployment billing storage possibly terribly "
    "technology easily running runner ran 東京 京都 naïve 2024 v2 don't"
).split()


def filled(store: Storage, random: Random) -> Storage:
    """Write, replace and erase some entries, the same ones for equal ``random``."""
    for number in range(200):
        vector = [float(random.randrange(-2, 3)) or 0.5 for _ in range(3)]
        text = " ".join(random.choices(WORDS, k=random.randrange(1, 12)))
        fields = {"thread": random.choice("st"), "occurred_at": NOON + random.randrange(20) * timedelta(hours=1)}
        one = record(f"e{random.randrange(150)}", text, random.choice([vector, None]), **fields)
        store.put(HERE, [one], replace=bool(store.get(HERE, [one.entry.id])))
        store.put(("there",), [record(str(number), text, scope=("there",))])
        if number % 7 == 0:
            store.erase(HERE, [f"e{random.randrange(150)}"])
    return store


@pytest.mark.parametrize("seed", range(3))
def test_results_come_in_the_order_of_sqlite(tmp_path: Path, seed: int) -> None:
    engines = [SQLiteStorage(tmp_path / "memory.db"), MemoryStorage()]
    sqlite, memory = (filled(engine, Random(seed)) for engine in engines)
    everything = ids(sqlite.find(HERE, ALL))
    assert memory.find(HERE, ALL) == sqlite.find(HERE, ALL)
    assert memory.summaries(HERE, everything) == sqlite.summaries(HERE, everything)
    assert memory.statistics(HERE).corpus == sqlite.statistics(HERE).corpus
    assert sorted(memory.adjacent(HERE, everything, 2, ALL)) == sorted(sqlite.adjacent(HERE, everything, 2, ALL))
    for where in (ALL, Where(threads=["s"]), Where(since=NOON + timedelta(hours=9))):
        for word in WORDS:
            expected = sqlite.matching(HERE, [word, "played"], 20, where)
            found = memory.matching(HERE, [word, "played"], 20, where)
            assert ids(found) == ids(expected), word
            assert [match.score for match in found] == pytest.approx([match.score for match in expected])
        expected = sqlite.nearest(HERE, np.array([1.0, 0.2, -0.3], np.float32), 20, where)
        assert memory.nearest(HERE, np.array([1.0, 0.2, -0.3], np.float32), 20, where) == expected
    for engine in engines:
        engine.close()


def test_engines_are_stores_of_their_own_unless_they_share_contents() -> None:
    contents = Contents()
    one, other, apart = MemoryStorage(contents), MemoryStorage(contents), MemoryStorage()
    one.put(HERE, [record("a")])
    one.close()
    assert ids(other.find(HERE, ALL)) == ["a"]
    assert apart.find(HERE, ALL) == []
    assert other.path == one.path != apart.path


def test_what_is_read_may_be_changed_and_what_was_given_too() -> None:
    store, metadata = MemoryStorage(), {"a": [1]}
    store.put(HERE, [record("a", metadata=metadata)])
    write_document(store, HERE, "facts", "k", metadata)
    metadata["a"].append(2)
    store.get(HERE, ["a"])["a"].metadata["a"].append(3)
    assert store.get(HERE, ["a"])["a"].metadata == {"a": [1]}
    assert store.documents(HERE, "facts")[0].value == {"a": [1]}


def test_a_transaction_waits_for_another_and_then_gives_up() -> None:
    contents = Contents()
    one, other = MemoryStorage(contents), MemoryStorage(contents, busy_timeout=0.01)
    with one.transaction(), pytest.raises(Busy):
        other.put(HERE, [record("a")])
    assert other.put(HERE, [record("a")]) == ["a"]


def test_a_store_closed_by_another_thread_writes_nothing_more() -> None:
    contents = Contents()
    store = MemoryStorage(contents)
    with pytest.raises(Closed), store.transaction():
        store.put(HERE, [record("a")])
        thread = Thread(target=store.close)
        thread.start()
        thread.join()
    assert MemoryStorage(contents).find(HERE, ALL) == []


def test_vectors_may_have_another_size_once_the_last_was_erased() -> None:
    store = MemoryStorage()
    store.put(HERE, [record("a", vector=[1.0]), record("b")])
    store.erase(HERE, ["a"])
    store.put(("there",), [record("c", vector=[1.0, 2.0], scope=("there",))])
    assert store.nearest(HERE, np.ones(2, np.float32), 9, ALL) == []
    store.put(HERE, [record("d", vector=[1.0, 2.0])])
    assert ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["d"]


def test_another_thread_sees_no_vector_that_is_not_there_yet() -> None:
    store = MemoryStorage()
    store.put(HERE, [record("first", "piano", [1.0, 0.0])])
    seen = []

    def read() -> None:
        found = passage_vectors(store, HERE, ["first"])
        seen.append(found.units.tolist())

    def at_each_line(frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_code.co_name == "_append":
            thread = Thread(target=read)
            thread.start()
            thread.join()
        return at_each_line

    before = sys.gettrace()
    sys.settrace(at_each_line)
    try:
        for number in range(150):  # the arrays grow
            store.put(HERE, [record(f"e{number}", "piano", [0.0, 1.0])])
    finally:
        sys.settrace(before)
    assert len(seen) > 300
    assert all(units == [[1.0, 0.0]] for units in seen)
