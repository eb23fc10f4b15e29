"""Contract tests of columns: they say of every entry what its row says, in any state, to every reader."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pytest

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Tier
from tidal_plugins.storage.base import Record, Storage, Where
from tidal_plugins.storage.columns.view import Columns
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract, in_thread
from tidal_plugins.testing.samples import ALL, HERE, ids, record

KINDS, SPEAKERS, THREADS = ("conversation", "kb", "skill"), ("Ann", "Bo", None), ("s1", "s2", "s3", None)
HOUR = timedelta(hours=1)


class ColumnsContract(Contract):
    """Columns agree with the entries that they are of."""

    @pytest.mark.parametrize("seed", range(4))
    def test_columns_follow_whatever_is_written(self, store: Storage, other: Storage, seed: int) -> None:
        random = Random(seed)
        for step in range(40):
            _write(random, random.choice((store, other)), step)
            for handle in (store, other) if step % 4 == 0 else ():
                _agrees(handle, _where(random, handle))

    def test_columns_of_a_snapshot_show_its_state(self, store: Storage, other: Storage) -> None:
        store.put(HERE, [record(name, vector=[1.0, place], thread="t") for place, name in enumerate("ab")])
        with store.snapshot():
            _agrees(store, ALL)
            in_thread(lambda: other.put(HERE, [record("c", vector=[1.0, 2.0], thread="t")]))
            in_thread(lambda: _agrees(store, ALL))  # another thread of this handle sees the new state
            _agrees(store, ALL)
            assert sorted(ids(store.find(HERE, ALL))) == ["a", "b"]
            in_thread(lambda: other.erase(HERE, ["a"]))
            in_thread(lambda: _agrees(store, ALL))
            _agrees(store, ALL)
        _agrees(store, ALL)

    def test_columns_of_a_transaction_show_what_it_wrote(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=[1.0, 0.0])])
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.put(HERE, [record("b", vector=[1.0, 1.0])])
            store.erase(HERE, ["a"])
            _agrees(store, ALL)
            raise ValueError("stop")
        _agrees(store, ALL)

    def test_keywords_in_a_transaction_find_what_columns_find(self, store: Storage) -> None:
        store.put(HERE, [record(f"e{n}", "pear tart" if n % 3 else "plain bread", vector=[1.0, n]) for n in range(30)])
        with store.transaction():
            store.put(HERE, [record("new", "pear", vector=[1.0, 1.0])])
            store.erase(HERE, ["e1"])
            for terms, where in (["pear"], ALL), (["bread", "tart"], Where(exclude=["e2"])), (["none"], ALL):
                columns = store.columns(HERE)
                found = columns.matches(columns.matching(terms, 8, where))
                assert store.matching(HERE, terms, 8, where) == found
            assert "new" in ids(store.matching(HERE, ["pear"], 40, ALL))

    def test_a_scope_without_entries_has_empty_columns(self, store: Storage) -> None:
        with store.snapshot():
            columns = store.columns(("nowhere",))
            assert not len(columns.nearest(np.ones(2, np.float32), 5, ALL).entries)
            assert not len(columns.matching(["text"], 5, ALL).entries)
            assert columns.rows(["a", "b"]).tolist() == [-1, -1]


def _write(random: Random, store: Storage, step: int) -> None:
    known = ids(store.find(HERE, ALL))
    change = random.random()
    if change < 0.5 or len(known) < 4:
        store.put(HERE, [_random_record(random, f"e{step}-{number}") for number in range(random.randint(1, 6))])
    elif change < 0.7:
        tier = Tier(random.random(), NOON, 72.0, NOON + random.randint(1, 9) * HOUR, NOON + 9 * HOUR)
        set_tiers(store, HERE, dict.fromkeys(random.sample(known, 2), tier))
    elif change < 0.8:
        store.put(HERE, [_random_record(random, random.choice(known))], replace=True)
    elif change < 0.9:
        [entry] = store.get(HERE, [random.choice(known)]).values()
        store.put(HERE, [Record(replace(entry, importance=float(random.randint(1, 10))), None)], replace=True)
    else:
        store.erase(HERE, random.sample(known, 2))


def _random_record(random: Random, id: str) -> Record:
    fields: dict[str, Any] = {
        "kind": random.choice(KINDS),
        "speaker": random.choice(SPEAKERS),
        "thread": random.choice(THREADS),
        "episode": random.choice(("ep1", "ep2", None)),
        "source": random.choice(("a.md", None)),
        "tags": tuple(random.sample(("x", "y"), random.randint(0, 2))),
        "metadata": {"n": random.randint(0, 2)},
        "importance": float(random.randint(1, 10)),
        "occurred_at": NOON + random.randint(0, 30) * HOUR,
        "recorded_at": NOON + random.randint(0, 30) * HOUR,
        "valid_until": random.choice((None, NOON + 5 * HOUR)),
        "tier": random.choice((None, Tier(1.0, NOON, 72.0, NOON + HOUR, NOON + 4 * HOUR))),
    }
    vector = random.choice((None, [random.random(), random.random(), 1.0]))
    return record(id, f"text {id}", vector, **fields)


def _where(random: Random, store: Storage) -> Where:
    known = ids(store.find(HERE, ALL))
    parts: dict[str, Any] = {
        "ids": random.sample(known, len(known) // 2),
        "kinds": random.sample(KINDS, 2),
        "threads": ["s1", "s2"],
        "episodes": ["ep1"],
        "speakers": ["Ann"],
        "sources": ["a.md"],
        "tags": ["x"],
        "metadata": {"n": 1},
        "since": NOON + 9 * HOUR,
        "until": NOON + 20 * HOUR,
        "known_at": NOON + 15 * HOUR,
        "active_at": NOON + random.randint(0, 9) * HOUR,
        "exclude": [*known[:2], "ep2"],
        "not_channels": ["import"],
        "due_by": NOON + 6 * HOUR,
        "least_importance": 5.0,
    }
    return Where(**{name: parts[name] for name in random.sample(sorted(parts), random.randint(0, 2))})


def _agrees(store: Storage, where: Where) -> None:
    """Check that columns, of all entries or of what is found, say what other calls say in the same state."""
    with store.snapshot():
        for whole in (True, False):
            _columns_agree(store, store.columns(HERE, whole=whole), where)


def _columns_agree(store: Storage, columns: Columns, where: Where) -> None:
    entries = {entry.id: entry for entry in store.find(HERE, ALL)}
    rows = columns.rows(list(entries))
    assert (rows >= 0).all()
    assert columns.ids(rows) == list(entries)
    passed = [id_ for id_, passes in zip(entries, columns.passes(rows, where).tolist(), strict=True) if passes]
    assert passed == ids(store.find(HERE, where))
    arrays = columns.arrays
    for row, entry in zip(rows.tolist(), entries.values(), strict=True):
        assert arrays.names[arrays.thread[row]] == entry.thread
        assert (arrays.importance[row], arrays.occurred_at[row]) == (entry.importance, to_micros(entry.occurred_at))
        assert arrays.weight[row] == (entry.tier.weight if entry.tier else -1)
    near = columns.near(rows, 2, where)
    beside = zip(columns.ids(near.row), columns.ids(near.other), near.places.tolist(), strict=True)
    assert sorted(beside) == sorted(store.adjacent(HERE, list(entries), 2, where))
    unit = np.array([1.0, 0.0, 0.0], np.float32)
    if arrays.dimensions == len(unit):
        found = columns.nearest(unit, 5, where)
        assert columns.ids(found.entries) == ids(store.nearest(HERE, unit, 5, where))
        assert set(columns.ids(found.entries)) <= set(passed)
        cosines, passages = columns.cosines(unit, found.entries)
        assert cosines == pytest.approx(found.scores, abs=1e-6)
        assert passages.tolist() == found.passages.tolist()
