"""Contract tests of the renewal of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Outdated, Passage, Record, Storage
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.testing.contract import Contract, OpenStore
from tidal_plugins.testing.samples import ALL, HERE, entry, ids, record

THERE: Scope = ("there",)
OLD, NEW = np.array([1.0, 0.1], np.float32), np.array([0.1, 0.2, 1.0], np.float32)


def renewed(missing: Sequence[Outdated], size: int = 3) -> dict[int, Any]:
    """Return for each passage a vector that its entry's id gives."""
    return {item.key: np.random.default_rng(list(item.id.encode())).standard_normal(size) for item in missing}


def complete(store: Storage, most: int = 100) -> None:
    """Renew every vector."""
    renewal = store.renew_vectors({}, most)
    while renewal.done < renewal.total:
        renewal = store.renew_vectors(renewed(renewal.missing), most)


def order(names: Sequence[str], query: Any) -> list[str]:
    """Return names in the order in which a search finds them when their vectors are renewed."""
    vectors = {name: np.random.default_rng(list(name.encode())).standard_normal(3) for name in names}
    return sorted(names, key=lambda name: -vectors[name] @ query / np.linalg.norm(vectors[name]))


class RenewalContract(Contract):
    """New vectors, of another size too, gather beside the old ones and take their place at once."""

    def test_searches_find_the_old_vectors_until_every_passage_has_a_new_one(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=[1.0, 0.0]), record("b", vector=[0.0, 1.0])])
        store.put(THERE, [record("c", vector=[1.0, 1.0], scope=THERE)])
        store.put(HERE, [record("words", "only words"), Record(entry("bare"))])
        renewal = store.renew_vectors({}, 2)
        assert [(item.scope, item.id, item.start, item.end) for item in renewal.missing] == [
            (HERE, "a", 0, 4),
            (HERE, "b", 0, 4),
        ]
        assert (renewal.done, renewal.total) == (0, 3)
        renewal = store.renew_vectors(renewed(renewal.missing), 2)
        assert ([item.id for item in renewal.missing], renewal.done, renewal.total) == (["c"], 2, 3)
        assert ids(store.nearest(HERE, OLD, 9, ALL)) == ["a", "b"]
        with pytest.raises(InvalidInput):
            store.nearest(HERE, NEW, 9, ALL)
        renewal = store.renew_vectors(renewed(renewal.missing), 2)
        assert (renewal.missing, renewal.done, renewal.total) == ((), 3, 3)
        assert ids(store.nearest(HERE, NEW, 9, ALL)) == order(["a", "b"], NEW)
        assert ids(store.nearest(THERE, NEW, 9, ALL)) == ["c"]
        with pytest.raises(InvalidInput):
            store.nearest(HERE, OLD, 9, ALL)
        assert ids(store.matching(HERE, ["words"], 9, ALL)) == ["words"]
        assert len(passage_vectors(store, HERE, ["a", "b", "words"]).spans) == 2
        assert store.put(HERE, [record("later", vector=NEW)]) == ["later"]
        assert ids(store.nearest(HERE, NEW, 1, ALL)) == ["later"]

    def test_every_passage_of_an_entry_has_its_own(self, store: Storage) -> None:
        passages = [Passage(0, 4, "long", OLD), Passage(4, 8, "text", None), Passage(8, 9, "end", OLD)]
        store.put(HERE, [Record(entry("long", "longtext."), passages)])
        first, last = store.renew_vectors({}, 9).missing
        assert [(first.start, first.end), (last.start, last.end)] == [(0, 4), (8, 9)]
        store.renew_vectors({last.key: np.array([0.0, 2.0, 0.0], np.float32), first.key: NEW}, 9)
        found = passage_vectors(store, HERE, ["long"])
        assert {span.start: unit for span, unit in zip(found.spans, found.units.tolist(), strict=True)} == {
            0: pytest.approx((NEW / np.linalg.norm(NEW)).tolist(), abs=5e-4),
            8: [0, 1, 0],
        }

    def test_a_store_without_vectors_has_none_to_renew(self, store: Storage) -> None:
        assert store.renew_vectors({}, 9).total == 0
        store.put(HERE, [record("words")])
        renewal = store.renew_vectors({7: NEW}, 9)
        assert (renewal.missing, renewal.done, renewal.total) == ((), 0, 0)
        assert store.put(HERE, [record("a", vector=OLD)]) == ["a"]

    def test_it_lasts_and_goes_on_from_another_handle(self, open_store: OpenStore) -> None:
        first = open_store()
        first.put(HERE, [record(str(n), vector=[n + 1.0, 1.0]) for n in range(10)])
        first.renew_vectors(renewed(first.renew_vectors({}, 4).missing), 4)
        other = open_store()
        assert ids(other.nearest(HERE, OLD, 10, ALL)) == ids(first.nearest(HERE, OLD, 10, ALL))
        assert (other.renew_vectors({}, 4).done, other.renew_vectors({}, 4).missing[0].id) == (4, "4")
        complete(other, 4)
        names = [str(n) for n in range(10)]
        for handle in (first, other):
            assert ids(handle.nearest(HERE, NEW, 10, ALL)) == order(names, NEW), "what was held in memory is read anew"
            handle.close()

    def test_new_vectors_may_come_in_any_order_twice_and_for_nothing(self, store: Storage) -> None:
        store.put(HERE, [record(str(n), vector=OLD) for n in range(5)])
        missing = store.renew_vectors({}, 9).missing
        store.renew_vectors({**renewed(missing[4:]), 10_000: NEW}, 9)
        store.renew_vectors({missing[2].key: np.ones(3, np.float32)}, 9)
        renewal = store.renew_vectors(renewed(missing[2:3]), 9)
        assert ([item.id for item in renewal.missing], renewal.done) == (["0", "1", "3"], 2)
        complete(store)
        assert ids(store.nearest(HERE, NEW, 9, ALL)) == order(["0", "1", "2", "3", "4"], NEW)

    def test_what_comes_changes_or_goes_meanwhile_is_right(self, store: Storage) -> None:
        store.put(HERE, [record(name, vector=OLD) for name in ("stays", "changes", "goes")])
        before = store.renew_vectors({}, 9).missing
        store.put(HERE, [record("waits", vector=OLD)])
        assert store.renew_vectors(renewed(before), 9).done == 3
        store.put(HERE, [record("changes", "anew", OLD)], replace=True)
        store.erase(HERE, ["goes"])
        store.put(HERE, [record("comes", vector=OLD)])
        renewal = store.renew_vectors({}, 9)
        assert (renewal.done, renewal.total) == (1, 4)
        assert [item.id for item in renewal.missing] == ["waits", "changes", "comes"]
        renewal = store.renew_vectors(renewed(before), 9)
        assert renewal.done == 1, "the passages of what changed and went are gone"
        store.renew_vectors(renewed(renewal.missing), 9)
        assert ids(store.nearest(HERE, NEW, 9, ALL)) == order(["stays", "waits", "changes", "comes"], NEW)
        assert store.scrub()

    def test_the_erasure_of_what_is_missing_leaves_nothing_to_wait_for(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=OLD), record("b", vector=OLD)])
        store.renew_vectors(renewed(store.renew_vectors({}, 1).missing), 1)
        store.erase(HERE, ["b"])
        assert store.renew_vectors({}, 1).done == 1
        assert ids(store.nearest(HERE, NEW, 9, ALL)) == ["a"]

    def test_anew_drops_what_has_gathered(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=OLD), record("b", vector=OLD)])
        store.renew_vectors(renewed(store.renew_vectors({}, 1).missing), 1)
        assert store.renew_vectors({}, 9, anew=True).done == 0
        renewal = store.renew_vectors({}, 9)
        store.renew_vectors(renewed(renewal.missing, size=5), 9)
        assert ids(store.nearest(HERE, np.ones(5, np.float32), 9, ALL)) != []

    def test_what_was_replaced_is_removed_by_and_by(self, store: Storage) -> None:
        store.put(HERE, [record(str(n), vector=OLD) for n in range(10)])
        complete(store)
        store.erase(HERE, ["3"])
        while store.renew_vectors({}, 4).replaced:
            pass
        complete(store)
        complete(store)
        assert store.scrub()
        assert ids(store.nearest(HERE, NEW, 99, ALL)) == order([str(n) for n in range(10) if n != 3], NEW)

    def test_a_rollback_takes_it_back(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=OLD)])
        missing = store.renew_vectors({}, 9).missing
        with pytest.raises(RuntimeError), store.transaction():
            store.renew_vectors(renewed(missing), 9)
            assert len(passage_vectors(store, HERE, ["a"]).units[0]) == 3
            raise RuntimeError
        assert ids(store.nearest(HERE, OLD, 9, ALL)) == ["a"]
        assert store.renew_vectors({}, 9).done == 0

    def test_a_snapshot_keeps_the_old_vectors(self, store: Storage, other: Storage) -> None:
        store.put(HERE, [record("a", vector=[1.0, 0.0]), record("b", vector=[0.0, 1.0])])
        with store.snapshot():
            assert ids(store.nearest(HERE, OLD, 9, ALL)) == ["a", "b"]
            complete(other)
            assert ids(other.nearest(HERE, NEW, 9, ALL)) == order(["a", "b"], NEW)
            assert ids(store.nearest(HERE, OLD, 9, ALL)) == ["a", "b"]
        assert ids(store.nearest(HERE, NEW, 9, ALL)) == order(["a", "b"], NEW)

    @pytest.mark.parametrize("vector", [[1.0, float("nan")], [0.0, 0.0], [], "ab"], ids=repr)
    def test_a_bad_vector_is_refused_and_leaves_nothing(self, store: Storage, vector: Any) -> None:
        store.put(HERE, [record("a", vector=OLD), record("b", vector=OLD)])
        first, second = store.renew_vectors({}, 9).missing
        with pytest.raises(InvalidInput):
            store.renew_vectors({first.key: NEW, second.key: vector}, 9)
        assert store.renew_vectors({}, 9).done == 0

    def test_new_vectors_have_one_size(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=OLD), record("b", vector=OLD)])
        first, second = store.renew_vectors({}, 9).missing
        with pytest.raises(InvalidInput):
            store.renew_vectors({first.key: NEW, second.key: OLD}, 9)
        store.renew_vectors({first.key: NEW}, 9)
        with pytest.raises(InvalidInput):
            store.renew_vectors({second.key: OLD}, 9)
        assert store.renew_vectors({}, 9).done == 1
