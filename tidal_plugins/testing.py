"""Test doubles, and the suite that every storage engine must pass.

A new engine subclasses :class:`StoreContract` in its tests and says how to open a store::

    class TestMyEngine(StoreContract):
        @pytest.fixture
        def open_store(self, tmp_path):
            return lambda: MyStorage(tmp_path / "memory")  # every call: another handle on the same store
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import Closed, Conflict, InvalidInput, InvalidScope, InvalidVector, NotFound, StorageError
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Entry, Scope, Tier
from tidal_plugins.storage.base import Corpus, Passage, Record, Sketch, Storage, Where

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE: Scope = ("here",)
ALL = Where()
HOSTILE = [
    "' OR 1=1 --",
    '"',
    '""',
    "a' OR 'a'='a",
    "%",
    "_",
    "*",
    "NEAR(a b)",
    "scope:s1",
    "terms : x",
    "a\0b",
    "(",
    "-",
]

OpenStore = Callable[[], Storage]


class FrozenClock:
    """A clock that stands still until told otherwise."""

    def __init__(self, now: datetime = NOON) -> None:
        self.set(now)

    def __call__(self) -> datetime:
        return self._now

    def set(self, now: datetime) -> None:
        self._now = aware(now, "now")

    def advance(self, **duration: float) -> None:
        """Go on by ``timedelta(**duration)``: ``clock.advance(hours=3)``."""
        self._now += timedelta(**duration)


def entry(id: str, text: str = "text", *, scope: Scope = HERE, kind: str = "conversation", **fields: Any) -> Entry:
    """An entry of which only the interesting fields are given."""
    times = {"occurred_at": NOON, "recorded_at": NOON}
    return Entry(id=id, kind=kind, text=text, scope=scope, **{**times, **fields})


def record(id: str, text: str = "text", vector: Any = None, **fields: Any) -> Record:
    """An entry that its words and ``vector`` make findable."""
    return Record(entry(id, text, **fields), [Passage(0, len(text), text.lower(), vector)])


def ids(found: Sequence[Any]) -> list[str]:
    return [item.id for item in found]


FULL = Entry(
    id="full",
    kind="kb",
    text="Grüße, 東京! \u202e «é» 🙂\nzweite Zeile\0Ende",
    scope=HERE,
    occurred_at=datetime(1969, 7, 20, 20, 17, 40, 123457, tzinfo=UTC),
    recorded_at=datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
    tier=Tier(1.25, NOON, 72.0, NOON + timedelta(days=20), NOON + timedelta(days=219)),
    session="s/1",
    episode="e1",
    position=7,
    speaker="Zoë",
    role="user",
    source="notes.md",
    channel="import",
    trust=0.7,
    importance=9.5,
    affect=Affect(-0.1, 0.30000000000000004, {"joy": 0.25, "Ärger": 0.0}),
    tags=("jazz", "piano ' -- %", "東京"),
    valid_from=NOON - timedelta(days=1),
    valid_until=NOON + timedelta(microseconds=1),
    metadata={"a": [1, {"b": None}], "ü": True, "quote\"'": 1.5, "": "x", "big": 2**70},
)


class StoreContract:
    """What every storage engine does, as tests."""

    @pytest.fixture
    def open_store(self, tmp_path: Any) -> OpenStore:
        """How to open a handle on one store, the same at every call."""
        raise NotImplementedError("an engine's test class overrides the fixture open_store")

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Storage]:
        store = open_store()
        yield store
        store.close()

    @pytest.fixture
    def other(self, store: Storage, open_store: OpenStore) -> Iterator[Storage]:
        """A second handle on the store."""
        other = open_store()
        yield other
        other.close()

    # entries: put, get, replace, retier, sketch

    def test_every_field_comes_back_as_it_was(self, store: Storage, other: Storage) -> None:
        assert store.put(HERE, [Record(FULL)]) == ["full"]
        assert store.get(HERE, ["full"]) == other.get(HERE, ["full"]) == {"full": FULL}

    def test_an_entry_of_the_required_fields_only_comes_back_as_it_was(self, store: Storage) -> None:
        plain = entry("plain", "")
        store.put(HERE, [Record(plain)])
        assert store.get(HERE, ["plain"])["plain"] == plain

    @pytest.mark.parametrize(
        "fields",
        [
            {"affect": Affect(-0.0, 0.0)},
            {"affect": Affect(0.1 + 0.2, 1, {})},
            {"importance": 5, "trust": 1},
            {"tier": Tier(0.0, NOON, float(10**6))},
            {"position": 0, "session": "", "tags": ("", "a", "a")},
            {"metadata": {"deep": [[[[{"x": "\u2028"}]]]]}},
        ],
    )
    def test_values_at_the_edge_come_back_equal(self, store: Storage, fields: dict[str, Any]) -> None:
        edge = entry("edge", **fields)
        store.put(HERE, [Record(edge)])
        assert store.get(HERE, ["edge"])["edge"] == edge

    def test_get_leaves_out_what_is_not_there_and_counts_nothing_twice(self, store: Storage) -> None:
        store.put(HERE, [record("a")])
        assert list(store.get(HERE, ["nobody", "a", "a"])) == ["a"]
        assert store.get(HERE, []) == {}

    def test_a_known_id_is_left_as_it_is(self, store: Storage) -> None:
        store.put(HERE, [record("a", "first", [1.0, 0.0])])
        assert store.put(HERE, [record("a", "second", [0.0, 1.0]), record("b"), record("b", "again")]) == ["b"]
        assert store.get(HERE, ["a"])["a"].text == "first"
        assert store.get(HERE, ["b"])["b"].text == "text"
        assert store.matching(HERE, ["second"], 10, ALL) == []
        assert store.nearest(HERE, np.array([1.0, 0.0], np.float32), 10, ALL)[0].score == pytest.approx(1)

    def test_an_entry_is_only_put_into_its_own_scope(self, store: Storage) -> None:
        with pytest.raises(InvalidScope):
            store.put(HERE, [record("a"), record("b", scope=("there",))])
        store.put(HERE, [record("a")])
        with pytest.raises(InvalidScope):
            store.replace(HERE, record("a", scope=("there",)))
        assert store.count(HERE, ALL) == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"metadata": {"x": float("nan")}},
            {"metadata": {"x": b"bytes"}},
            {"metadata": {"x": object()}},
            {"trust": float("inf")},
            {"position": 2**70},
            {"text": "\ud800"},
            {"metadata": {"\udfff": 1}},
        ],
    )
    def test_what_cannot_be_stored_is_refused_and_leaves_nothing(self, store: Storage, fields: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("good", vector=[1.0]), record("bad", **{"text": "bad", **fields})])
        assert store.find(HERE, ALL) == []
        assert store.matching(HERE, ["text"], 10, ALL) == []

    def test_replace_changes_the_entry_and_every_index(self, store: Storage) -> None:
        store.put(HERE, [record("a", "old words", [1.0, 0.0]), record("b", "other", [1.0, 1.0])])
        up = np.array([0.0, 1.0], np.float32)
        assert ids(store.nearest(HERE, up, 2, ALL)) == ["b", "a"]
        store.replace(HERE, record("a", "new", [0.0, 1.0], kind="skill", tags=("t",)))
        assert store.get(HERE, ["a"])["a"] == entry("a", "new", kind="skill", tags=("t",))
        assert store.matching(HERE, ["words"], 10, ALL) == []
        assert ids(store.matching(HERE, ["new"], 10, ALL)) == ["a"]
        assert ids(store.nearest(HERE, up, 2, ALL)) == ["a", "b"]
        assert ids(store.nearest(HERE, up, 2, Where(kinds=["skill"]))) == ["a"]
        assert store.count(HERE, ALL) == 2

    def test_replace_needs_an_entry_of_that_id_in_that_scope(self, store: Storage) -> None:
        store.put(("there",), [record("a", scope=("there",))])
        with pytest.raises(NotFound):
            store.replace(HERE, record("a"))

    def test_retier_sets_tiers_and_nothing_else(self, store: Storage) -> None:
        tier = Tier(2.0, NOON, 100.0, archived_at=NOON + timedelta(days=1))
        store.put(HERE, [Record(FULL), record("b")])
        store.retier(HERE, {"full": tier, "b": tier})
        assert store.get(HERE, ["full", "b"]) == {"full": replace(FULL, tier=tier), "b": entry("b", tier=tier)}
        store.retier(HERE, {})

    def test_retier_is_all_or_nothing(self, store: Storage) -> None:
        store.put(HERE, [record("a")])
        tier = Tier(2.0, NOON, 100.0)
        with store.transaction(), pytest.raises(NotFound):
            store.retier(HERE, {"a": tier, "unknown": tier})
        assert store.get(HERE, ["a"])["a"].tier is None

    def test_sketch_holds_what_ranking_needs(self, store: Storage) -> None:
        store.put(HERE, [Record(FULL), record("plain")])
        sketches = store.sketch(HERE, ["plain", "full", "unknown"])
        assert set(sketches) == {"full", "plain"}
        for id_, full in store.get(HERE, ["full", "plain"]).items():
            for name in set(Sketch._fields) - {"passages"}:
                assert getattr(sketches[id_], name) == getattr(full, name), name
        assert (sketches["full"].passages, sketches["plain"].passages) == (0, 1)

    # entries: find, count, erase, speakers

    def test_find_lists_by_event_time_then_by_order_of_storing(self, store: Storage) -> None:
        times = {"late": 3, "tie1": 2, "tie2": 2, "early": 1}
        store.put(HERE, [record(id_, occurred_at=NOON + timedelta(hours=h)) for id_, h in times.items()])
        ordered = ["early", "tie1", "tie2", "late"]
        assert ids(store.find(HERE, ALL)) == ordered
        assert ids(store.find(HERE, ALL, newest_first=True)) == ordered[::-1]
        assert ids(store.find(HERE, ALL, limit=2)) == ordered[:2]
        assert ids(store.find(HERE, ALL, limit=2, after=1)) == ordered[1:3]
        assert ids(store.find(HERE, ALL, after=2, newest_first=True)) == ordered[::-1][2:]
        assert store.find(HERE, ALL, limit=0) == store.find(HERE, ALL, after=9) == []

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (Where(), "abcd"),
            (Where(kinds=["kb", "skill"]), "ac"),
            (Where(sessions=["s1"]), "ab"),
            (Where(episodes={"e1", "none"}), "a"),
            (Where(speakers=("Ann", "O'Neil")), "abc"),
            (Where(sources=["x%"]), "c"),
            (Where(tags=["jazz", "blues"]), "abc"),
            (Where(tags=["jaz"]), ""),
            (Where(since=NOON + timedelta(hours=1)), "bcd"),
            (Where(until=NOON + timedelta(hours=1)), "a"),
            (Where(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2)), "b"),
            (Where(active_at=NOON), "acd"),
            (Where(active_at=NOON + timedelta(hours=5)), "bd"),
            (Where(active_at=NOON + timedelta(hours=5), include_archived=True), "abd"),
            (Where(kinds=["conversation"], sessions=["s1"], tags=["blues"], metadata={"n": 1}), "b"),
            (Where(kinds=["conversation"], sessions=["s1"], tags=["blues"], metadata={"n": 2}), ""),
            (Where(kinds=[]), ""),
            (Where(sessions=()), ""),
            (Where(episodes=set()), ""),
            (Where(speakers=[]), ""),
            (Where(sources=frozenset()), ""),
            (Where(tags=[]), ""),
            *[(Where(speakers=[text], tags=[text], sources=[text]), "") for text in HOSTILE],
        ],
    )
    def test_every_channel_filters_alike(self, store: Storage, where: Where, expected: str) -> None:
        hour = timedelta(hours=1)
        common: dict[str, Any] = {"vector": [1.0, 2.0], "text": "same text"}
        tier = Tier(1.0, NOON, 72.0, NOON + hour, NOON + 4 * hour)
        store.put(
            HERE,
            [
                record("a", kind="kb", session="s1", episode="e1", speaker="Ann", tags=("jazz",), tier=tier, **common),
                record(
                    "b",
                    session="s1",
                    speaker="O'Neil",
                    tags=("blues", "x"),
                    occurred_at=NOON + hour,
                    valid_from=NOON + hour,
                    metadata={"n": 1},
                    **common,
                ),
                record(
                    "c",
                    kind="skill",
                    speaker="Ann",
                    source="x%",
                    tags=("jazz", "blues"),
                    occurred_at=NOON + 2 * hour,
                    valid_until=NOON + 2 * hour,
                    **common,
                ),
                record("d", occurred_at=NOON + 3 * hour, source="xy", **common),
            ],
        )
        found = [
            ids(store.find(HERE, where)),
            sorted(ids(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 10, where))),
            sorted(ids(store.matching(HERE, ["same"], 10, where))),
        ]
        assert found == [list(expected)] * 3
        assert store.count(HERE, where) == len(expected)

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ({"x": 1}, ["float", "int"]),
            ({"x": 1.0}, ["float", "int"]),
            ({"x": True}, ["true"]),
            ({"x": False}, ["false"]),
            ({"x": 0}, ["zero"]),
            ({"x": None}, ["null"]),
            ({"x": "1"}, ["text"]),
            ({"x": "[1]"}, ["text list"]),
            ({"x": 1, "y": 2}, ["int"]),
            ({"y": None}, []),
            ({"quote\"'\\": "é\0\n"}, ["odd"]),
            ({"a.b": 1}, ["dotted"]),
            ({"$.x": 1}, []),
            *[({text: 1}, []) for text in HOSTILE],
            *[({"x": text}, []) for text in HOSTILE],
        ],
    )
    def test_metadata_match_as_json_values(
        self, store: Storage, wanted: dict[str, str | int | float | bool | None], expected: list[str]
    ) -> None:
        values: dict[str, dict[str, Any]] = {
            "int": {"x": 1, "y": 2},
            "float": {"x": 1.0},
            "true": {"x": True},
            "false": {"x": False},
            "zero": {"x": 0},
            "null": {"x": None},
            "text": {"x": "1"},
            "text list": {"x": "[1]"},
            "list": {"x": [1]},
            "odd": {"quote\"'\\": "é\0\n"},
            "dotted": {"a.b": 1},
            "none": {},
        }
        store.put(HERE, [record(id_, metadata=metadata) for id_, metadata in values.items()])
        assert sorted(ids(store.find(HERE, Where(metadata=wanted)))) == expected

    def test_erase_removes_from_every_index(self, store: Storage, other: Storage) -> None:
        store.put(HERE, [record("a", "secret", [1.0, 0.0], speaker="Ann"), record("b", "plain", [0.0, 1.0])])
        query = np.array([1.0, 0.0], np.float32)
        assert ids(other.nearest(HERE, query, 9, ALL)) == ["a", "b"]
        assert store.erase(HERE, ["a", "unknown", "a"]) == 1
        assert store.erase(HERE, ["a"]) == store.erase(HERE, []) == store.erase(("nowhere",), ["b"]) == 0
        for handle in (store, other):
            assert not handle.get(HERE, ["a"])
            assert not handle.sketch(HERE, ["a"])
            assert not handle.cosines(HERE, ["a"], query)
            assert ids(handle.find(HERE, ALL)) == ids(handle.nearest(HERE, query, 9, ALL)) == ["b"]
            assert not handle.matching(HERE, ["secret"], 9, ALL)
            assert not handle.speakers(HERE)
            assert handle.count(HERE, ALL) == 1

    def test_an_erased_id_can_be_stored_again(self, store: Storage) -> None:
        store.put(HERE, [record("a", "one", [1.0, 0.0])])
        store.erase(HERE, ["a"])
        assert store.put(HERE, [record("a", "two", [0.0, 1.0])]) == ["a"]
        assert ids(store.matching(HERE, ["two"], 9, ALL)) == ["a"]
        assert store.nearest(HERE, np.array([0.0, 1.0], np.float32), 9, ALL)[0].score == pytest.approx(1)

    def test_scrub_keeps_what_was_not_erased(self, store: Storage) -> None:
        store.put(HERE, [record(str(i), f"word{i}", [1.0, float(i)]) for i in range(20)])
        store.erase(HERE, [str(i) for i in range(10)])
        assert store.scrub()
        assert store.count(HERE, ALL) == len(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 99, ALL)) == 10
        assert [ids(store.matching(HERE, [f"word{i}"], 9, ALL)) for i in (3, 13)] == [[], ["13"]]

    def test_speakers_lists_every_name_once(self, store: Storage) -> None:
        names = ["Zoë", "Ann", "Ann", None, "", "O'Neil", "東"]
        store.put(HERE, [record(str(i), speaker=name) for i, name in enumerate(names)])
        assert store.speakers(HERE) == ["", "Ann", "O'Neil", "Zoë", "東"]

    # scope

    @pytest.mark.parametrize(
        ("mine", "theirs"),
        [
            (("a", "b"), ("a/b",)),
            (("a", "b"), ("ab",)),
            (("a", "b"), ("a",)),
            (("a",), ("A",)),
            (("%",), ("a",)),
            (("_",), ("a",)),
            (('a","b',), ("a", "b")),
            (("a' OR 1=1 --",), ("a",)),
            (("é",), ("e\u0301",)),
        ],
    )
    def test_no_method_sees_another_scope(self, store: Storage, mine: Scope, theirs: Scope) -> None:
        tier = Tier(1.0, NOON, 72.0)
        query = np.array([1.0, 0.0], np.float32)
        for scope, name in ((theirs, "them"), (mine, "me")):
            assert store.put(scope, [record("same", "same text", [1.0, 0.0], scope=scope, speaker=name)]) == ["same"]
            store.put(scope, [record(name, "same text", [1.0, 0.1], scope=scope)])
            store.write_document(scope, "facts", "key", name, expected=0)
        assert sorted(ids(store.find(mine, ALL))) == ["me", "same"]
        assert store.get(mine, ["same", "them"])["same"].scope == mine
        assert list(store.get(mine, ["them"])) == list(store.sketch(mine, ["them"])) == []
        assert store.cosines(mine, ["them"], query) == {}
        assert ids(store.nearest(mine, query, 9, ALL)) == ["same", "me"]
        assert sorted(ids(store.matching(mine, ["text"], 9, ALL))) == ["me", "same"]
        assert store.speakers(mine) == ["me"]
        assert store.count(mine, ALL) == 2
        document = store.read_document(mine, "facts", "key")
        assert document is not None
        assert document.value == store.documents(mine, "facts")[0].value == "me"
        with pytest.raises(NotFound):
            store.retier(mine, {"them": tier})
        with pytest.raises(NotFound):
            store.replace(mine, record("them", scope=mine))
        store.retier(mine, {"same": tier})
        store.replace(mine, record("me", "changed", scope=mine))
        store.write_document(mine, "facts", "key", "changed")
        assert store.erase(mine, ["them", "same"]) == 1
        untouched = store.get(theirs, ["same", "them"])
        assert [untouched[id_].tier for id_ in ("same", "them")] == [None, None]
        assert ids(store.nearest(theirs, query, 9, ALL)) == ["same", "them"]
        assert len(store.matching(theirs, ["text"], 9, ALL)) == 2
        assert [document.value for document in store.documents(theirs, "facts")] == ["them"]

    def test_scopes_are_listed_by_their_first_segments_and_by_what_is_in_them(self, store: Storage) -> None:
        inside: list[Scope] = [("a",), ("a", "b"), ("a", "b", "c"), ("a", '"'), ("a", "b]"), ("a", "東京")]
        outside: list[Scope] = [("ab",), ("A",), ("a,b",), ("b", "a"), ('a","b',), ("%",), ("a]",)]
        for scope in inside + outside:
            store.put(scope, [record("x", scope=scope, kind="kb" if len(scope) > 1 else "skill")])
        assert store.scopes(("a",), ALL) == sorted(inside)
        assert store.scopes(("a", "b"), ALL) == [("a", "b"), ("a", "b", "c")]
        assert store.scopes(("a",), Where(kinds={"kb"})) == sorted(inside[1:])
        store.erase(("a", "b"), ["x"])
        assert store.scopes(("a", "b"), ALL) == [("a", "b", "c")]
        assert store.scopes(("b",), ALL) == [("b", "a")]
        assert store.scopes(("c",), ALL) == []

    def test_a_scope_that_nothing_was_written_to_is_empty(self, store: Storage) -> None:
        for scope in (HERE, ("there",)):
            store.put(scope, [record("a", vector=[1.0], scope=scope)])
        nowhere = ("nowhere",)
        assert not store.find(nowhere, ALL)
        assert not store.matching(nowhere, ["text"], 9, ALL)
        assert not store.nearest(nowhere, np.ones(1, np.float32), 9, ALL)
        assert not store.speakers(nowhere)
        assert not store.documents(nowhere, "facts")
        assert not store.get(nowhere, ["a"])
        assert not store.sketch(nowhere, ["a"])
        assert store.count(nowhere, ALL) == 0
        assert store.read_document(nowhere, "facts", "key") is None

    # vectors

    def test_nearest_is_exact(self, store: Storage) -> None:
        random = np.random.default_rng(0)
        vectors = random.standard_normal((500, 16)).astype(np.float32) * random.uniform(0.01, 100, (500, 1))
        store.put(HERE, [record(str(i), vector=vector) for i, vector in enumerate(vectors)])
        for query in random.standard_normal((20, 16)).astype(np.float32):
            expected = _cosines(vectors, query)
            best = np.argsort(-expected)[:25]
            found = store.nearest(HERE, query, 25, ALL)
            assert ids(found) == [str(i) for i in best]
            assert [match.score for match in found] == pytest.approx(expected[best].tolist(), abs=1e-5)

    def test_filters_apply_before_the_cut(self, store: Storage) -> None:
        random = np.random.default_rng(1)
        vectors = random.standard_normal((5000, 4)).astype(np.float32)
        query = np.ones(4, np.float32)
        worst = int(np.argmin(_cosines(vectors, query)))
        needle: dict[str, Any] = {"kind": "kb", "session": "needle", "tags": ("needle",), "metadata": {"needle": True}}
        store.put(HERE, [record(str(i), "hay", v, **(needle if i == worst else {})) for i, v in enumerate(vectors)])
        for where in (
            Where(kinds=["kb"]),
            Where(sessions=["needle"]),
            Where(tags=["needle"]),
            Where(metadata={"needle": True}),
        ):
            assert ids(store.nearest(HERE, query, 1, where)) == [str(worst)]
            assert ids(store.matching(HERE, ["hay"], 1, where)) == [str(worst)]
        assert len(store.nearest(HERE, query, 5000, ALL)) == len(store.matching(HERE, ["hay"], 9999, ALL)) == 5000

    def test_the_best_passage_speaks_for_its_entry(self, store: Storage) -> None:
        long = Record(
            entry("long", "alpha beta gamma"),
            [
                Passage(0, 5, "alpha", np.array([1, 0, 0], np.float32)),
                Passage(6, 10, "beta beta", np.array([0, 2, 0], np.float32)),
                Passage(11, 16, "gamma", None),
            ],
        )
        store.put(HERE, [long, record("short", "alpha beta x y z", [1.0, 1.0, 0.2])])
        up = np.array([0, 1, 0], np.float32)
        best, second = store.nearest(HERE, up, 5, ALL)
        assert (best.id, best.start, best.end, best.words, second.id) == ("long", 6, 10, 2, "short")
        assert best.score == pytest.approx(1)
        assert ids(store.nearest(HERE, up, 1, ALL)) == ["long"]
        assert store.cosines(HERE, ["long"], up)["long"] == best
        matches = {match.id: match for match in store.matching(HERE, ["beta"], 5, ALL)}
        assert (matches["long"].start, matches["long"].end, matches["long"].words) == (6, 10, 2)
        assert ids(store.matching(HERE, ["alpha", "beta", "gamma"], 5, ALL)).count("long") == 1
        assert ids(store.matching(HERE, ["gamma"], 5, ALL)) == ["long"]

    def test_many_passages_of_one_entry_crowd_nobody_out(self, store: Storage) -> None:
        crowd = [Passage(i, i + 1, "word word", np.array([1.0, i / 1000], np.float32)) for i in range(300)]
        few = [record(f"e{i}", "word and others", [1.0, 1.0 + i]) for i in range(3)]
        store.put(HERE, [Record(entry("crowd", "x" * 400), crowd), *few])
        assert ids(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 3, ALL)) == ["crowd", "e0", "e1"]
        found = ids(store.matching(HERE, ["word"], 3, ALL))
        assert (found[0], len(set(found))) == ("crowd", 3)

    def test_entries_without_vectors_are_found_otherwise(self, store: Storage) -> None:
        store.put(HERE, [Record(entry("bare")), record("words", "only words"), record("both", "x", [1.0, 0.0])])
        query = np.array([1.0, 0.0], np.float32)
        assert ids(store.nearest(HERE, query, 9, ALL)) == list(store.cosines(HERE, ["bare", "words", "both"], query))
        assert ids(store.nearest(HERE, query, 9, ALL)) == ["both"]
        assert ids(store.matching(HERE, ["words"], 9, ALL)) == ["words"]
        assert ids(store.find(HERE, ALL)) == ["bare", "words", "both"]

    def test_a_store_without_vectors_has_no_neighbours(self, store: Storage) -> None:
        query = np.ones(3, np.float32)
        assert store.nearest(HERE, query, 5, ALL) == []
        store.put(HERE, [record("a")])
        assert store.nearest(HERE, query, 5, ALL) == []
        assert store.cosines(HERE, ["a"], query) == {}

    def test_cosines_are_those_of_the_best_passages(self, store: Storage) -> None:
        vectors = np.random.default_rng(2).standard_normal((50, 8)).astype(np.float32)
        store.put(HERE, [record(str(i), vector=vector) for i, vector in enumerate(vectors)])
        found = store.cosines(HERE, ["3", "7", "unknown", "7"], vectors[9])
        expected = _cosines(vectors, vectors[9])
        assert {id_: match.score for id_, match in found.items()} == pytest.approx(
            {"3": expected[3], "7": expected[7]}, abs=1e-5
        )

    @pytest.mark.parametrize("k", [0, -1])
    def test_asking_for_none_gives_none(self, store: Storage, k: int) -> None:
        store.put(HERE, [record("a", vector=[1.0])])
        assert store.nearest(HERE, np.ones(1, np.float32), k, ALL) == store.matching(HERE, ["text"], k, ALL) == []

    @pytest.mark.parametrize(
        "vector",
        [
            [1.0, float("nan")],
            [float("inf"), 1.0],
            [1.0, float("-inf")],
            [0.0, 0.0],
            [],
            [1.0, 2.0, 3.0],
            [[1.0, 2.0]],
            1.0,
            "ab",
            ["1", "2"],
            [True, False],
            [1j, 2.0],
            [None, 1.0],
            [[1.0], [2.0, 3.0]],
            object(),
        ],
        ids=repr,
    )
    def test_a_bad_vector_is_refused_and_leaves_nothing(self, store: Storage, vector: Any) -> None:
        store.put(HERE, [record("first", "first", [3.0, 4.0])])
        with pytest.raises(InvalidVector):
            store.put(HERE, [record("good", "good", [1.0, 0.0]), record("bad", "bad", vector)])
        with pytest.raises(InvalidVector):
            store.replace(HERE, record("first", "changed", vector))
        with store.transaction(), pytest.raises(InvalidVector):
            store.replace(HERE, record("first", "changed", vector))
        with pytest.raises(InvalidVector):
            store.nearest(HERE, vector, 5, ALL)
        with pytest.raises(InvalidVector):
            store.cosines(HERE, ["first"], vector)
        assert ids(store.find(HERE, ALL)) == ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["first"]
        assert store.matching(HERE, ["good", "bad", "changed"], 9, ALL) == []

    def test_vectors_of_one_put_have_one_size(self, store: Storage) -> None:
        with pytest.raises(InvalidVector):
            store.put(HERE, [record("a", vector=[1.0, 0.0]), record("b", vector=[1.0])])
        assert store.count(HERE, ALL) == 0
        assert store.put(HERE, [record("b", vector=[1.0])]) == ["b"]

    @pytest.mark.parametrize("scale", [1e-30, 1e30, 1e-300, 1e300])
    def test_any_length_but_zero_is_a_vector(self, store: Storage, scale: float) -> None:
        store.put(HERE, [record("a", vector=np.array([3.0, 4.0]) * scale)])
        query: Any = np.array([3.0, 4.0]) / scale
        found = store.nearest(HERE, query, 1, ALL)
        assert found[0].score == pytest.approx(1)

    # keywords

    def test_what_another_scope_says_makes_no_word_rarer_or_commoner(self, store: Storage) -> None:
        store.put(HERE, [record("zebra", "zebra depot"), *(record(f"n{n}", "quiet note") for n in range(5))])
        other: Scope = ("there",)

        def scores(word: str) -> tuple[float, float]:
            found = store.matching(HERE, ["zebra"], 5, ALL)[0].score
            store.put(other, [record(f"{word}{n}", f"{word} words", scope=other) for n in range(200)])
            return found, store.matching(HERE, ["zebra"], 5, ALL)[0].score

        _, with_other_words = scores("giraffe")
        _, with_the_same_word = scores("zebra")
        assert with_the_same_word >= with_other_words

    def test_matching_ranks_as_bm25_does(self, store: Storage) -> None:
        store.put(
            HERE,
            [
                record("once", "jazz and other words of the day"),
                record("twice", "jazz jazz and words of the day"),
                record("both", "jazz piano and words of the day"),
                record("long", "jazz " + "filler " * 60),
                *[record(f"n{i}", "nothing of the kind") for i in range(20)],
            ],
        )
        found = store.matching(HERE, ["jazz", "piano"], 9, ALL)
        assert ids(found) == ["both", "twice", "once", "long"]
        assert all(match.score > 0 for match in found)
        assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
        assert ids(store.matching(HERE, ["jazz", "piano"], 2, ALL)) == ["both", "twice"]

    def test_words_match_by_their_stem_and_without_accents(self, store: Storage) -> None:
        store.put(HERE, [record("a", "she practises daily in the café")])
        for term in ("practising", "practise", "CAFE", "cafés"):
            assert ids(store.matching(HERE, [term], 9, ALL)) == ["a"], term

    def test_bigrams_of_unspaced_scripts_match(self, store: Storage) -> None:
        store.put(HERE, [record("a", "東京 京都 都に に住"), record("b", "大阪 阪に")])
        assert ids(store.matching(HERE, ["京都"], 9, ALL)) == ["a"]
        assert store.matching(HERE, ["東都"], 9, ALL) == []

    @pytest.mark.parametrize("term", [*HOSTILE, "", "AND", "OR", "NOT a", "{terms}", "a" * 100_000, "col:", "+", "!!!"])
    def test_hostile_words_are_only_words(self, store: Storage, term: str) -> None:
        store.put(HERE, [record("a", "plain text")])
        store.put(("there",), [record("a", "plain text", scope=("there",))])
        assert store.matching(HERE, [term], 9, ALL) == []
        assert ids(store.matching(HERE, [term, "plain"], 9, ALL)) == ["a"]

    def test_thousands_of_words_are_bounded(self, store: Storage) -> None:
        words = [f"w{i}" for i in range(5000)]
        store.put(HERE, [record(str(i), " ".join(words[i::50])) for i in range(50)])
        assert len(store.matching(HERE, words, 99, ALL)) > 0

    def test_no_words_match_nothing(self, store: Storage) -> None:
        store.put(HERE, [record("a")])
        assert store.matching(HERE, [], 9, ALL) == []

    def test_the_corpus_counts_passages_and_their_words(self, store: Storage, other: Storage) -> None:
        assert store.corpus() == Corpus(0, 0.0)
        store.put(HERE, [record("a", "one two three", [1.0]), Record(entry("bare"))])
        store.put(("there",), [record("a", "one", scope=("there",))])
        assert other.corpus() == Corpus(2, 2.0)
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.erase(HERE, ["a"])
            assert store.corpus() == Corpus(1, 1.0)
            raise ValueError("stop")
        assert store.put(HERE, [record("a", "known already")]) == []
        store.replace(HERE, record("a", "one two three four five"))
        assert other.corpus() == Corpus(2, 3.0)
        assert store.erase(HERE, ["a"]) == store.erase(("there",), ["a"]) == 1
        assert other.corpus() == Corpus(0, 0.0)

    # transactions and snapshots

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, StorageError, UnicodeDecodeError])
    def test_any_exception_rolls_everything_back(self, store: Storage, error: type[BaseException]) -> None:
        store.put(HERE, [record("old", "old", [1.0, 0.0])])
        with pytest.raises(error), store.transaction():
            store.put(HERE, [record("new", "new", [0.0, 1.0])])
            with store.transaction():
                store.erase(HERE, ["old"])
            store.write_document(HERE, "facts", "key", 1)
            store.write_meta("name", 1)
            raise error("utf-8", b"", 0, 1, "reason") if error is UnicodeDecodeError else error
        assert ids(store.find(HERE, ALL)) == ["old"]
        assert ids(store.matching(HERE, ["old", "new"], 9, ALL)) == ["old"]
        assert ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["old"]
        assert store.read_document(HERE, "facts", "key") is None
        assert store.read_meta("name") is None
        assert store.put(HERE, [record("next")]) == ["next"]

    def test_others_see_a_transaction_whole_or_not_at_all(self, store: Storage, other: Storage) -> None:
        with store.transaction():
            store.put(HERE, [record("a", vector=[1.0])])
            with store.transaction():
                store.put(HERE, [record("b", vector=[1.0])])
            assert other.count(HERE, ALL) == 0
            assert other.nearest(HERE, np.ones(1, np.float32), 9, ALL) == []
            assert store.count(HERE, ALL) == 2
        assert other.count(HERE, ALL) == len(other.nearest(HERE, np.ones(1, np.float32), 9, ALL)) == 2

    def test_a_search_inside_a_transaction_sees_its_own_writes_and_a_rollback_leaves_no_phantom(
        self, store: Storage
    ) -> None:
        up = np.array([0.0, 1.0], np.float32)
        store.put(HERE, [record("a", "words", [1.0, 0.5]), record("b", "words", [1.0, 0.1])])
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["a", "b"]
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.put(HERE, [record("phantom", "words", up)])
            store.erase(HERE, ["b"])
            store.replace(HERE, record("a", "words", [1.0, -1.0]))
            assert ids(store.nearest(HERE, up, 9, ALL)) == ["phantom", "a"]
            assert sorted(ids(store.matching(HERE, ["words"], 9, ALL))) == ["a", "phantom"]
            assert store.cosines(HERE, ["a"], up)["a"].score < 0
            raise ValueError("stop")
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["a", "b"]
        store.put(HERE, [record("c", "words", up)])
        assert ids(store.nearest(HERE, up, 9, ALL)) == ["c", "a", "b"]

    def test_a_snapshot_shows_one_state_while_others_write(self, store: Storage, other: Storage) -> None:
        query = np.array([1.0, 0.0], np.float32)
        store.put(HERE, [record("a", "words", [1.0, 0.0]), record("b", "words", [1.0, 1.0])])
        store.nearest(HERE, query, 9, ALL)
        with store.snapshot():
            assert store.count(HERE, ALL) == 2
            other.put(HERE, [record("c", "words", [1.0, 0.5])])
            other.erase(HERE, ["a"])
            other.replace(HERE, record("b", "changed", [0.0, 1.0]))
            _in_thread(lambda: store.nearest(HERE, query, 9, ALL))  # another thread of this handle sees the new state
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
            store.count(HERE, ALL)
            raise KeyboardInterrupt
        other.put(HERE, [record("a")])
        assert store.count(HERE, ALL) == 1

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
                other.replace(HERE, record(name, vector=vector))
                vectors[name] = vector
            else:
                other.erase(HERE, [name])
                del vectors[name]
            order = sorted(vectors, key=lambda name: -_cosines(vectors[name][None], query)[0])
            assert ids(store.nearest(HERE, query, 99, ALL)) == order

    def test_what_was_stored_is_there_after_closing(self, open_store: OpenStore) -> None:
        first = open_store()
        first.put(HERE, [record("a", "words", [1.0, 0.0])])
        first.write_meta("embedder", {"id": "x", "dimensions": 2})
        first.close()
        second = open_store()
        assert ids(second.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["a"]
        assert ids(second.matching(HERE, ["words"], 9, ALL)) == ["a"]
        assert second.read_meta("embedder") == {"id": "x", "dimensions": 2}
        second.close()

    def test_a_closed_store_says_so(self, store: Storage) -> None:
        query = np.ones(1, np.float32)
        store.close()
        store.close()
        uses: list[Callable[[], Any]] = [
            lambda: store.put(HERE, [record("a")]),
            lambda: store.replace(HERE, record("a")),
            lambda: store.retier(HERE, {}),
            lambda: store.get(HERE, ["a"]),
            lambda: store.sketch(HERE, ["a"]),
            lambda: store.find(HERE, ALL),
            lambda: store.erase(HERE, ["a"]),
            lambda: store.scrub(),
            lambda: store.speakers(HERE),
            lambda: store.count(HERE, ALL),
            lambda: store.nearest(HERE, query, 1, ALL),
            lambda: store.matching(HERE, ["a"], 1, ALL),
            lambda: store.cosines(HERE, ["a"], query),
            lambda: store.read_document(HERE, "facts", "key"),
            lambda: store.write_document(HERE, "facts", "key", 1),
            lambda: store.documents(HERE, "facts"),
            lambda: store.read_meta("name"),
            lambda: store.write_meta("name", 1),
        ]
        for use in uses:
            with pytest.raises(Closed):
                use()
            with pytest.raises(Closed):
                _in_thread(use)

    # documents and meta

    def test_documents_are_replaced_as_a_whole_and_counted(self, store: Storage) -> None:
        value = {"ü": [1, None, True, {"x": 1.5}], "text": "a\0b 🙂"}
        assert store.read_document(HERE, "facts", "k") is None
        assert store.write_document(HERE, "facts", "k", value) == 1
        assert store.write_document(HERE, "facts", "k", None) == 2
        document = store.read_document(HERE, "facts", "k")
        assert document is not None
        assert (document.key, document.value, document.version) == ("k", None, 2)
        store.write_document(HERE, "facts", "k", value, expected=2)
        assert store.documents(HERE, "facts")[0].value == value
        assert store.documents(HERE, "other") == []

    def test_a_document_that_changed_meanwhile_conflicts(self, store: Storage, other: Storage) -> None:
        assert store.write_document(HERE, "facts", "k", "mine", expected=0) == 1
        with pytest.raises(Conflict):
            other.write_document(HERE, "facts", "k", "theirs", expected=0)
        other.write_document(HERE, "facts", "k", "theirs", expected=1)
        with pytest.raises(Conflict):
            store.write_document(HERE, "facts", "k", "late", expected=1)
        with pytest.raises(Conflict):
            store.write_document(HERE, "facts", "unknown", "x", expected=1)
        assert [(d.key, d.value) for d in store.documents(HERE, "facts")] == [("k", "theirs")]

    def test_documents_are_listed_by_key(self, store: Storage) -> None:
        for key in ("b", "a", "' OR 1=1 --", "%", "é"):
            store.write_document(HERE, "facts", key, key)
        store.write_document(HERE, "facts2", "z", "z")
        assert [d.key for d in store.documents(HERE, "facts")] == ["%", "' OR 1=1 --", "a", "b", "é"]
        assert [d.key for d in store.documents(HERE, "facts", ["b", "a", "z", "' OR 1=1 --"])] == ["' OR 1=1 --", *"ab"]
        assert store.documents(HERE, "facts", []) == []

    def test_counting_up_from_many_threads_loses_nothing(self, store: Storage) -> None:
        def count_up(_: int) -> None:
            while True:
                current = store.read_document(HERE, "counts", "n")
                value, version = (current.value, current.version) if current else (0, 0)
                try:
                    store.write_document(HERE, "counts", "n", value + 1, expected=version)
                    return
                except Conflict:
                    continue

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count_up, range(40)))
        assert [d.value for d in store.documents(HERE, "counts")] == [40]

    @pytest.mark.parametrize("value", [float("nan"), b"x", object(), {1, 2}, "\ud800"], ids=repr)
    def test_only_json_is_a_document(self, store: Storage, value: Any) -> None:
        with pytest.raises(InvalidInput):
            store.write_document(HERE, "facts", "k", value)
        with pytest.raises(InvalidInput):
            store.write_meta("k", value)
        assert store.read_document(HERE, "facts", "k") is None

    def test_meta_is_of_the_whole_store(self, store: Storage, other: Storage) -> None:
        assert store.read_meta("name") is None
        store.write_meta("name", {"a": [1, "é"]})
        store.write_meta("name", {"a": [2, "é"]})
        assert other.read_meta("name") == {"a": [2, "é"]}


def _cosines(vectors: Any, query: Any) -> Any:
    vectors, query = np.asarray(vectors, np.float64), np.asarray(query, np.float64)
    return vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))


def _in_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
