"""Contract tests of entries."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Tier
from tidal_plugins.secrets.screening import screening
from tidal_plugins.storage.base import Corpus, EntrySummary, Record, Storage, Where
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract
from tidal_plugins.testing.samples import ALL, FULL, HERE, HOSTILE, entry, ids, record

HOUR = timedelta(hours=1)


class EntryContract(Contract):
    """Entries are stored, found and removed as a whole."""

    # put, get, replace, summaries

    def test_every_field_comes_back_as_it_was(self, store: Storage, other: Storage) -> None:
        assert store.put(HERE, [Record(FULL)]) == ["full"]
        assert store.get(HERE, ["full"]) == other.get(HERE, ["full"]) == {"full": FULL}

    def test_an_entry_of_the_required_fields_only_comes_back_as_it_was(self, store: Storage) -> None:
        plain = entry("plain", "")
        store.put(HERE, [Record(plain)])
        assert store.get(HERE, ["plain"])["plain"] == plain

    def test_secrets_are_searched_for_when_an_entry_is_written_and_found_where_they_were(self, store: Storage) -> None:
        store.put(HERE, [record("a", "the pin is 1234")])
        read = store.get(HERE, ["a"])["a"]
        assert read.screened
        assert read.screened.found
        assert screening(read).secrets == ((11, 15, "code"),)
        by_others = read.screened._replace(found=read.screened.found.replace('11,15,"code"', '0,3,"word"'))
        store.put(HERE, [Record(replace(read, importance=2.0, screened=by_others))], replace=True)
        again = store.get(HERE, ["a"])["a"]
        assert screening(again).secrets == ((0, 3, "word"),), "what was found belongs to the words, which are the same"
        store.put(HERE, [Record(replace(again, text="the pin is 98765"))], replace=True)
        assert screening(store.get(HERE, ["a"])["a"]).secrets == ((11, 16, "code"),)

    @pytest.mark.parametrize(
        "fields",
        [
            {"affect": Affect(-0.0, 0.0)},
            {"affect": Affect(0.1 + 0.2, 1, {})},
            {"importance": 5, "trust": 1},
            {"tier": Tier(0.0, NOON, float(10**6))},
            {"position": 0, "thread": "", "tags": ("", "a", "a")},
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
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("a"), record("b", scope=("there",))])
        store.put(HERE, [record("a")])
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("a", scope=("there",))], replace=True)
        assert len(store.find(HERE, ALL)) == 1

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
        store.put(HERE, [record("a", "new", [0.0, 1.0], kind="skill", tags=("t",))], replace=True)
        assert store.get(HERE, ["a"])["a"] == entry("a", "new", kind="skill", tags=("t",))
        assert store.matching(HERE, ["words"], 10, ALL) == []
        assert ids(store.matching(HERE, ["new"], 10, ALL)) == ["a"]
        assert ids(store.nearest(HERE, up, 2, ALL)) == ["a", "b"]
        assert ids(store.nearest(HERE, up, 2, Where(kinds=["skill"]))) == ["a"]
        assert len(store.find(HERE, ALL)) == 2

    def test_replace_needs_an_entry_of_that_id_in_that_scope(self, store: Storage) -> None:
        store.put(("there",), [record("a", scope=("there",))])
        with pytest.raises(NotFound):
            store.put(HERE, [record("a")], replace=True)

    def test_a_record_without_passages_changes_the_entry_and_leaves_the_index(self, store: Storage) -> None:
        tier = Tier(2.0, NOON, 100.0, archived_at=NOON + timedelta(days=1))
        store.put(HERE, [Record(FULL), record("b", "words", [1.0, 0.0])])
        changed = [replace(FULL, tier=tier), entry("b", "other", tier=tier, kind="skill")]
        assert store.put(HERE, [Record(one, passages=None) for one in changed], replace=True) == ["full", "b"]
        assert store.get(HERE, ["full", "b"]) == {one.id: one for one in changed}
        assert ids(store.matching(HERE, ["words"], 9, ALL)) == ["b"]
        assert store.matching(HERE, ["other"], 9, ALL) == []
        assert ids(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 9, Where(kinds=["skill"]))) == ["b"]
        assert store.put(HERE, [], replace=True) == []

    def test_an_appraised_entry_stays_in_the_index_and_searches_weigh_it_anew(self, store: Storage) -> None:
        store.put(HERE, [record("a", "words", [1.0, 0.0]), record("b", "words", [1.0, 0.0])])
        with store.snapshot():
            before = store.statistics(HERE).erasures, store.columns(HERE).arrays.rows
        felt = entry("a", "words", importance=9.0, affect=Affect(-0.5, 0.5, {"anger": 0.5}), tier=Tier(2.0, NOON, 9.0))
        store.put(HERE, [Record(felt, passages=None, appraised=True)], replace=True)
        assert store.get(HERE, ["a"]) == {"a": felt}
        with store.snapshot():
            arrays = store.columns(HERE).arrays
            assert (store.statistics(HERE).erasures, arrays.rows) == before
            assert (9.0, -0.5, 2.0) in zip(arrays.importance, arrays.valence, arrays.weight, strict=True)
        assert sorted(ids(store.matching(HERE, ["words"], 9, ALL))) == ["a", "b"]

    def test_what_is_due_is_found_until_its_tier_says_so(self, store: Storage) -> None:
        cold_at = NOON + timedelta(hours=1)
        store.put(HERE, [record("warm", tier=Tier(1.0, NOON, 72.0, cold_at)), record("never", tier=Tier(1.0, NOON, 9))])
        [warm] = store.find(HERE, Where(due_by=cold_at))
        assert warm.id == "warm"
        cold = replace(warm, tier=Tier(1.0, cold_at, 720.0, cold_at))
        store.put(HERE, [Record(cold, passages=None)], replace=True)
        assert store.find(HERE, Where(due_by=cold_at)) == []

    def test_replacing_is_all_or_nothing(self, store: Storage) -> None:
        store.put(HERE, [record("a")])
        changed = [Record(entry(id_, tier=Tier(2.0, NOON, 100.0)), passages=None) for id_ in ("a", "unknown")]
        with store.transaction(), pytest.raises(NotFound):
            store.put(HERE, changed, replace=True)
        assert store.get(HERE, ["a"])["a"].tier is None

    def test_a_summary_has_the_tier_and_counts_the_passages(self, store: Storage) -> None:
        store.put(HERE, [Record(FULL), record("plain")])
        summaries = store.summaries(HERE, ["plain", "full", "unknown"])
        assert set(summaries) == {"full", "plain"}
        for id_, full in store.get(HERE, ["full", "plain"]).items():
            for name in set(EntrySummary._fields) - {"passages"}:
                assert getattr(summaries[id_], name) == getattr(full, name), name
        assert (summaries["full"].passages, summaries["plain"].passages) == (0, 1)
        assert set(store.summaries(HERE, ["plain", "full"], Where(ids=["full", "unknown"]))) == {"full"}
        assert store.summaries(HERE, ["plain", "full"], Where(exclude=["plain", "full"])) == {}

    @pytest.mark.parametrize("text", ["short", "long " * 200 + "until the end?", "東京 🙂"])
    def test_columns_give_the_beginning_and_the_end_of_a_text(self, store: Storage, text: str) -> None:
        store.put(HERE, [record("a", text)])
        with store.snapshot():
            columns = store.columns(HERE)
            [(head, tail)] = columns.heads(columns.rows(["a"]))
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) == min(400, len(text))
        assert len(tail) == min(8, len(text))

    # adjacent

    def test_what_stands_beside_an_entry_goes_by_time_within_its_thread(self, store: Storage) -> None:
        places = {"c": 3, "a": 1, "e": 5, "b": 2, "d": 4}
        store.put(HERE, [record(id_, thread="s", occurred_at=NOON + n * HOUR) for id_, n in places.items()])
        store.put(HERE, [record("other", thread="t", occurred_at=NOON + 3 * HOUR)])
        store.put(HERE, [record("note", thread="s", kind="kb", occurred_at=NOON + 3 * HOUR)])
        found = store.adjacent(HERE, ["c", "e", "other", "unknown"], 2, Where())
        assert {item for item in found if item.id == "c"} == {
            ("c", "a", -2), ("c", "b", -1), ("c", "d", 1), ("c", "e", 2)
        }  # fmt: skip
        assert {item for item in found if item.id == "e"} == {("e", "c", -2), ("e", "d", -1)}
        assert {item.id for item in found} == {"c", "e"}

    def test_at_one_time_the_order_of_storing_decides_what_stands_beside(self, store: Storage) -> None:
        store.put(HERE, [record(id_, thread="s") for id_ in "cab"])
        assert set(store.adjacent(HERE, ["a"], 1, Where())) == {("a", "c", -1), ("a", "b", 1)}

    def test_what_a_filter_leaves_out_stands_beside_nothing(self, store: Storage) -> None:
        store.put(HERE, [record(id_, thread="s", speaker=id_) for id_ in "abc"])
        assert store.adjacent(HERE, ["a"], 1, Where(speakers=["a", "c"])) == [("a", "c", 1)]
        assert store.adjacent(HERE, ["a"], 1, Where(exclude=["b", "c"])) == []

    def test_outside_threads_nothing_stands_beside_anything(self, store: Storage) -> None:
        store.put(HERE, [record("a"), record("b")])
        assert store.adjacent(HERE, ["a", "b"], 2, Where()) == []

    # find, erase, statistics

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
            (Where(threads=["s1"]), "ab"),
            (Where(episodes={"e1", "none"}), "a"),
            (Where(speakers=("Ann", "O'Neil")), "abc"),
            (Where(sources=["x%"]), "c"),
            (Where(tags=["jazz", "blues"]), "abc"),
            (Where(tags=["jaz"]), ""),
            (Where(since=NOON + timedelta(hours=1)), "bcd"),
            (Where(until=NOON + timedelta(hours=1)), "a"),
            (Where(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2)), "b"),
            (Where(known_at=NOON), "abd"),
            (Where(active_at=NOON), "acd"),
            (Where(active_at=NOON + timedelta(hours=5)), "bd"),
            (Where(active_at=NOON + timedelta(hours=5), include_archived=True), "abd"),
            (Where(ids=["a", "c", "unknown"]), "ac"),
            (Where(ids=["a", "c"], kinds=["kb"]), "a"),
            (Where(ids=[]), ""),
            (Where(due_by=NOON + timedelta(hours=1)), "a"),
            (Where(due_by=NOON), ""),
            (Where(least_importance=0.0), "abcd"),
            (Where(least_importance=11.0), ""),
            (Where(not_channels=["import", "none"]), "abc"),
            (Where(not_channels=["user", "import"]), ""),
            (Where(kinds=["conversation"], not_channels=["import"]), "b"),
            (Where(kinds=["conversation"], threads=["s1"], tags=["blues"], metadata={"n": 1}), "b"),
            (Where(kinds=["conversation"], threads=["s1"], tags=["blues"], metadata={"n": 2}), ""),
            (Where(kinds=[]), ""),
            (Where(threads=()), ""),
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
                record("a", kind="kb", thread="s1", episode="e1", speaker="Ann", tags=("jazz",), tier=tier, **common),
                record(
                    "b",
                    thread="s1",
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
                    recorded_at=NOON + 2 * hour,
                    valid_until=NOON + 2 * hour,
                    **common,
                ),
                record("d", occurred_at=NOON + 3 * hour, source="xy", channel="import", **common),
            ],
        )
        found = [
            ids(store.find(HERE, where)),
            sorted(ids(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 10, where))),
            sorted(ids(store.matching(HERE, ["same"], 10, where))),
        ]
        assert found == [list(expected)] * 3
        assert len(store.find(HERE, where)) == len(expected)

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
            ({"x": [1]}, ["list"]),
            ({"x": []}, []),
            ({"x": {"b": ["é"], "a": None}}, ["object"]),
            ({"x": {"b": ["é"]}}, []),
            ({"x": {"b": ["é"], "a": None}, "y": 2}, []),
            ({"x": 1, "y": 2}, ["int"]),
            ({"y": None}, []),
            ({"quote\"'\\": "é\0\n"}, ["odd"]),
            ({"a.b": 1}, ["dotted"]),
            ({"$.x": 1}, []),
            *[({text: 1}, []) for text in HOSTILE],
            *[({"x": text}, []) for text in HOSTILE],
        ],
    )
    def test_metadata_match_as_json_values(self, store: Storage, wanted: dict[str, Any], expected: list[str]) -> None:
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
            "object": {"x": {"a": None, "b": ["é"]}},
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
            assert not handle.summaries(HERE, ["a"])
            assert not passage_vectors(handle, HERE, ["a"]).spans
            assert ids(handle.find(HERE, ALL)) == ids(handle.nearest(HERE, query, 9, ALL)) == ["b"]
            assert not handle.matching(HERE, ["secret"], 9, ALL)
            assert not handle.statistics(HERE).speakers
            assert len(handle.find(HERE, ALL)) == 1

    def test_erasures_rise_when_something_is_erased_or_replaced(self, store: Storage, other: Storage) -> None:
        assert store.statistics(HERE).erasures == 0
        store.put(HERE, [record("a"), record("b")])
        counts = [store.statistics(HERE).erasures]
        store.put(HERE, [record("a", "another text")], replace=True)
        counts.append(other.statistics(HERE).erasures)
        store.put(HERE, [Record(entry("a", "a third text"), passages=None)], replace=True)
        counts.append(other.statistics(HERE).erasures)
        store.erase(HERE, ["b"])
        counts.append(other.statistics(HERE).erasures)
        store.erase(HERE, ["b", "unknown"])
        assert counts == sorted(set(counts)), "rises each time"
        assert store.statistics(HERE).erasures == counts[-1], "nothing was there to erase"
        tiered = entry("a", "a third text", tier=Tier(2.0, NOON, 100.0))
        store.put(HERE, [Record(tiered, passages=None)], replace=True)
        assert store.statistics(HERE).erasures == counts[-1], "a tier is no content"

    def test_volumes_count_entries_and_characters_by_kind_and_channel(self, store: Storage, other: Storage) -> None:
        assert store.statistics(HERE).volumes == {}
        store.put(HERE, [record("a", "día"), record("b", "🦑 ok", kind="skill"), record("c", "x", channel="import")])
        store.put(("there",), [record("c", "elsewhere", scope=("there",))])
        assert other.statistics(HERE).volumes == {
            ("conversation", "user"): (1, 3), ("skill", "user"): (1, 4), ("conversation", "import"): (1, 1),
        }  # fmt: skip
        store.put(HERE, [record("b", "longer text", kind="kb")], replace=True)
        store.put(HERE, [Record(entry("a", "no"), passages=None)], replace=True)
        store.put(HERE, [record("a", "known already")])
        store.erase(HERE, ["c"])
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.erase(HERE, ["a", "b"])
            assert store.statistics(HERE).volumes == {}
            raise ValueError("stop")
        assert other.statistics(HERE).volumes == {("conversation", "user"): (1, 2), ("kb", "user"): (1, 11)}

    def test_the_corpus_counts_passages_and_their_words(self, store: Storage, other: Storage) -> None:
        def corpus(handle: Storage) -> Corpus:
            return handle.statistics(("nowhere",)).corpus

        assert corpus(store) == Corpus(0, 0.0)
        store.put(HERE, [record("a", "one two three", [1.0]), Record(entry("bare"))])
        store.put(("there",), [record("a", "one", scope=("there",))])
        assert corpus(other) == Corpus(2, 2.0)
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.erase(HERE, ["a"])
            assert corpus(store) == Corpus(1, 1.0)
            raise ValueError("stop")
        assert store.put(HERE, [record("a", "known already")]) == []
        store.put(HERE, [record("a", "one two three four five")], replace=True)
        assert corpus(other) == Corpus(2, 3.0)
        assert store.erase(HERE, ["a"]) == store.erase(("there",), ["a"]) == 1
        assert corpus(other) == Corpus(0, 0.0)

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
        assert len(store.find(HERE, ALL)) == len(store.nearest(HERE, np.array([1.0, 0.0], np.float32), 99, ALL)) == 10
        assert [ids(store.matching(HERE, [f"word{i}"], 9, ALL)) for i in (3, 13)] == [[], ["13"]]

    def test_speakers_are_listed_once_each(self, store: Storage) -> None:
        names = ["Zoë", "Ann", "Ann", None, "", "O'Neil", "東"]
        store.put(HERE, [record(str(i), speaker=name) for i, name in enumerate(names)])
        assert store.statistics(HERE).speakers == ["", "Ann", "O'Neil", "Zoë", "東"]
