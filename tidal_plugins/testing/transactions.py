"""Contract tests of transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import Closed, StorageError
from tidal_plugins.storage.base import ALL_LINKS, STORE, Document, Line, Storage
from tidal_plugins.storage.shorthands import passage_vectors, read_document, write_document
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract, OpenStore, in_thread
from tidal_plugins.testing.samples import ALL, HERE, best_cosines, cosines, ids, link, record


class TransactionContract(Contract):
    """Writes are all or nothing, and every handle sees the same."""

    # transactions and snapshots

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, StorageError, UnicodeDecodeError])
    def test_any_exception_rolls_everything_back(self, store: Storage, error: type[BaseException]) -> None:
        store.put(HERE, [record("old", "old", [1.0, 0.0])])
        with pytest.raises(error), store.transaction():
            store.put(HERE, [record("new", "new", [0.0, 1.0])])
            with store.transaction():
                store.erase(HERE, ["old"])
            write_document(store, HERE, "facts", "key", 1)
            store.append_log(HERE, "log", [Line("a", NOON, 1)])
            store.put_links(HERE, [link("1", "a", "b")])
            raise error("utf-8", b"", 0, 1, "reason") if error is UnicodeDecodeError else error
        assert ids(store.find(HERE, ALL)) == ["old"]
        assert ids(store.matching(HERE, ["old", "new"], 9, ALL)) == ["old"]
        assert ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["old"]
        assert read_document(store, HERE, "facts", "key") is None
        assert store.read_log(HERE, "log") == []
        assert store.links(HERE, ALL_LINKS) == []
        assert store.put(HERE, [record("next")]) == ["next"]

    def test_others_see_a_transaction_whole_or_not_at_all(self, store: Storage, other: Storage) -> None:
        with store.transaction():
            store.put(HERE, [record("a", vector=[1.0])])
            with store.transaction():
                store.put(HERE, [record("b", vector=[1.0])])
            assert len(other.find(HERE, ALL)) == 0
            assert other.nearest(HERE, np.ones(1, np.float32), 9, ALL) == []
            assert len(store.find(HERE, ALL)) == 2
        assert len(other.find(HERE, ALL)) == len(other.nearest(HERE, np.ones(1, np.float32), 9, ALL)) == 2

    def test_a_search_inside_a_transaction_sees_its_own_writes_and_a_rollback_leaves_no_phantom(
        self, store: Storage
    ) -> None:
        up = np.array([0.0, 1.0], np.float32)
        store.put(HERE, [record("a", "words", [1.0, 0.5]), record("b", "words", [1.0, 0.1])])
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["a", "b"]
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.put(HERE, [record("phantom", "words", up)])
            store.erase(HERE, ["b"])
            store.put(HERE, [record("a", "words", [1.0, -1.0])], replace=True)
            assert ids(store.nearest(HERE, up, 9, ALL)) == ["phantom", "a"]
            assert sorted(ids(store.matching(HERE, ["words"], 9, ALL))) == ["a", "phantom"]
            assert best_cosines(store, HERE, ["a"], up)["a"] < 0
            raise ValueError("stop")
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["a", "b"]
        store.put(HERE, [record("c", "words", up)])
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["c", "a", "b"]

    def test_a_snapshot_shows_one_state_while_others_write(self, store: Storage, other: Storage) -> None:
        query = np.array([1.0, 0.0], np.float32)
        store.put(HERE, [record("a", "words", [1.0, 0.0]), record("b", "words", [1.0, 1.0])])
        store.nearest(HERE, query, 9, ALL)
        with store.snapshot():
            assert len(store.find(HERE, ALL)) == 2
            other.put(HERE, [record("c", "words", [1.0, 0.5])])
            other.erase(HERE, ["a"])
            other.put(HERE, [record("b", "changed", [0.0, 1.0])], replace=True)
            in_thread(lambda: store.nearest(HERE, query, 9, ALL))  # another thread of this handle sees the new state
            with store.snapshot():
                assert ids(store.find(HERE, ALL)) == ids(store.nearest(HERE, query, 9, ALL)) == ["a", "b"]
            assert sorted(ids(store.matching(HERE, ["words"], 9, ALL))) == ["a", "b"]
            assert store.get(HERE, ["b"])["b"].text == "words"
        assert ids(store.nearest(HERE, query, 9, ALL)) == ["c", "b"]

    def test_a_write_cannot_begin_inside_a_snapshot(self, store: Storage) -> None:
        with store.snapshot(), pytest.raises(StorageError):
            store.put(HERE, [record("a")])
        assert store.put(HERE, [record("a")]) == ["a"]

    def test_an_exception_inside_a_snapshot_ends_it(self, store: Storage, other: Storage) -> None:
        with pytest.raises(KeyboardInterrupt), store.snapshot():
            len(store.find(HERE, ALL))
            raise KeyboardInterrupt
        other.put(HERE, [record("a")])
        assert len(store.find(HERE, ALL)) == 1

    def test_threads_write_and_search_at_once(self, store: Storage) -> None:
        query = np.ones(4, np.float32)
        start = threading.Barrier(4)

        def write(thread: int) -> None:
            random = np.random.default_rng(thread)
            start.wait()
            for i in range(20):
                store.put(HERE, [record(f"{thread}-{i}", "words", random.standard_normal(4))])
                assert f"{thread}-{i}" in ids(store.nearest(HERE, query, 999, ALL))
            store.erase(HERE, [f"{thread}-0"])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        expected = {f"{thread}-{i}" for thread in range(4) for i in range(1, 20)}
        assert set(ids(store.find(HERE, ALL))) == set(ids(store.nearest(HERE, query, 999, ALL))) == expected
        assert set(ids(store.matching(HERE, ["words"], 999, ALL))) == expected

    # handles

    def test_another_handle_sees_vectors_come_change_and_go(self, store: Storage, other: Storage) -> None:
        random = np.random.default_rng(3)
        query = random.standard_normal(6).astype(np.float32)
        vectors: dict[str, Any] = {}
        for step in range(60):
            name, vector = f"e{random.integers(25)}", random.standard_normal(6).astype(np.float32)
            if name not in vectors:
                other.put(HERE, [record(name, vector=vector)])
                vectors[name] = vector
            elif step % 2:
                other.put(HERE, [record(name, vector=vector)], replace=True)
                vectors[name] = vector
            else:
                other.erase(HERE, [name])
                del vectors[name]
            order = sorted(vectors, key=lambda name: -cosines(vectors[name][None], query)[0])
            assert ids(store.nearest(HERE, query, 99, ALL)) == order

    def test_what_was_stored_is_there_after_closing(self, open_store: OpenStore) -> None:
        first = open_store()
        first.put(HERE, [record("a", "words", [1.0, 0.0])])
        write_document(first, STORE, "collection", "key", {"id": "x", "dimensions": 2})
        first.close()
        second = open_store()
        assert ids(second.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["a"]
        assert ids(second.matching(HERE, ["words"], 9, ALL)) == ["a"]
        assert second.documents(STORE, "collection") == [Document("key", {"id": "x", "dimensions": 2}, 1)]
        second.close()

    def test_a_closed_store_says_so(self, store: Storage) -> None:
        query = np.ones(1, np.float32)
        store.close()
        store.close()
        uses: list[Callable[[], Any]] = [
            lambda: store.put(HERE, [record("a")]),
            lambda: store.put(HERE, [record("a")], replace=True),
            lambda: store.get(HERE, ["a"]),
            lambda: store.summaries(HERE, ["a"]),
            lambda: store.adjacent(HERE, ["a"], 1, ALL),
            lambda: store.find(HERE, ALL),
            lambda: store.erase(HERE, ["a"]),
            lambda: store.scrub(),
            lambda: store.statistics(HERE),
            lambda: store.scopes(HERE, ALL),
            lambda: store.nearest(HERE, query, 1, ALL),
            lambda: store.matching(HERE, ["a"], 1, ALL),
            lambda: passage_vectors(store, HERE, ["a"]),
            lambda: store.renew_vectors({}, 1),
            lambda: read_document(store, HERE, "facts", "key"),
            lambda: write_document(store, HERE, "facts", "key", 1),
            lambda: store.documents(HERE, "facts"),
            lambda: store.documents(HERE, "facts", versions=True),
            lambda: store.erase_documents(HERE, "facts", ["key"]),
            lambda: store.put_links(HERE, [link("1", "a", "b")]),
            lambda: store.links(HERE, ALL_LINKS),
            lambda: store.frontier(HERE, ["a"], ["kind"], each=1),
            lambda: store.erase_links(HERE, ALL_LINKS),
            lambda: store.append_log(HERE, "log", [Line("a", NOON, 1)]),
            lambda: store.read_log(HERE, "log"),
            lambda: store.trim_log(HERE, "log", keep=1),
            lambda: store.trim_log(HERE, "log", keys=["a"]),
        ]
        for use in uses:
            with pytest.raises(Closed):
                use()
            with pytest.raises(Closed):
                in_thread(use)
