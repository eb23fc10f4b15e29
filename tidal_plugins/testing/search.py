"""Contract tests of search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Passage, Record, Storage, Where
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.testing.contract import Contract
from tidal_plugins.testing.samples import ALL, HERE, HOSTILE, best_cosines, cosines, entry, ids, record


class SearchContract(Contract):
    """Search is exact by vectors, and ranks by BM25 with keywords."""

    # vectors

    def test_nearest_is_exact_in_a_small_scope(self, store: Storage) -> None:
        random = np.random.default_rng(0)
        vectors = random.standard_normal((200, 16)).astype(np.float32) * random.uniform(0.01, 100, (200, 1))
        store.put(HERE, [record(str(i), vector=vector) for i, vector in enumerate(vectors)])
        for query in random.standard_normal((20, 16)).astype(np.float32):
            expected = cosines(vectors, query)
            best = np.argsort(-expected)[:25]
            found = store.nearest(HERE, query, 25, ALL)
            assert ids(found) == [str(i) for i in best]
            assert [match.score for match in found] == pytest.approx(expected[best].tolist(), abs=5e-4)

    def test_filters_apply_before_the_cut(self, store: Storage) -> None:
        random = np.random.default_rng(1)
        vectors = random.standard_normal((5000, 4)).astype(np.float32)
        query = np.ones(4, np.float32)
        worst = int(np.argmin(cosines(vectors, query)))
        needle: dict[str, Any] = {"kind": "kb", "thread": "needle", "tags": ("needle",), "metadata": {"needle": True}}
        store.put(HERE, [record(str(i), "hay", v, **(needle if i == worst else {})) for i, v in enumerate(vectors)])
        for where in (
            Where(kinds=["kb"]),
            Where(threads=["needle"]),
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
        assert best_cosines(store, HERE, ["long"], up) == {"long": pytest.approx(best.score)}
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
        assert ids(store.nearest(HERE, query, 9, ALL)) == [
            span.id for span in passage_vectors(store, HERE, ["bare", "words", "both"]).spans
        ]
        assert ids(store.nearest(HERE, query, 9, ALL)) == ["both"]
        assert ids(store.matching(HERE, ["words"], 9, ALL)) == ["words"]
        assert ids(store.find(HERE, ALL)) == ["bare", "words", "both"]

    def test_a_store_without_vectors_has_no_neighbours(self, store: Storage) -> None:
        query = np.ones(3, np.float32)
        assert store.nearest(HERE, query, 5, ALL) == []
        store.put(HERE, [record("a")])
        assert store.nearest(HERE, query, 5, ALL) == []
        assert passage_vectors(store, HERE, ["a"]).spans == []

    def test_vectors_are_those_of_the_passages_and_have_length_1(self, store: Storage) -> None:
        vectors = np.random.default_rng(2).standard_normal((50, 8)).astype(np.float32)
        store.put(HERE, [record(str(i), vector=vector) for i, vector in enumerate(vectors)])
        passages = passage_vectors(store, HERE, ["3", "7", "unknown", "7"])
        assert sorted(span.id for span in passages.spans) == ["3", "7"]
        assert np.linalg.norm(passages.units, axis=1) == pytest.approx(1)
        expected = cosines(vectors, vectors[9])
        found = best_cosines(store, HERE, ["3", "7"], vectors[9])
        assert found == pytest.approx({"3": expected[3], "7": expected[7]}, abs=5e-4)

    def test_every_passage_with_a_vector_has_a_row(self, store: Storage) -> None:
        passages = [
            Passage(0, 4, "long", np.array([3.0, 4.0])),
            Passage(4, 8, "text here", np.array([0.0, 2.0])),
            Passage(8, 9, "bare", None),
        ]
        store.put(HERE, [Record(entry("long", "longtext."), passages), record('odd "id"', vector=[1.0, 0.0])])
        store.put(HERE, [record("words")])
        found = passage_vectors(store, HERE, ["long", 'odd "id"', "words", "unknown"])
        rows = dict(zip(found.spans, found.units.tolist(), strict=True))
        assert rows == {
            ("long", 0, 4, 1): pytest.approx([0.6, 0.8], abs=5e-4),
            ("long", 4, 8, 2): [0, 1],
            ('odd "id"', 0, 4, 1): [1, 0],
        }
        assert passage_vectors(store, HERE, []).spans == passage_vectors(store, ("nowhere",), ["long"]).spans == []

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
            object,
        ],
        ids=repr,
    )
    def test_a_bad_vector_is_refused_and_leaves_nothing(self, store: Storage, vector: Any) -> None:
        store.put(HERE, [record("first", "first", [3.0, 4.0])])
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("good", "good", [1.0, 0.0]), record("bad", "bad", vector)])
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("first", "changed", vector)], replace=True)
        with store.transaction(), pytest.raises(InvalidInput):
            store.put(HERE, [record("first", "changed", vector)], replace=True)
        with pytest.raises(InvalidInput):
            store.nearest(HERE, vector, 5, ALL)
        assert ids(store.find(HERE, ALL)) == ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["first"]
        assert store.matching(HERE, ["good", "bad", "changed"], 9, ALL) == []

    def test_vectors_of_one_put_have_one_size(self, store: Storage) -> None:
        with pytest.raises(InvalidInput):
            store.put(HERE, [record("a", vector=[1.0, 0.0]), record("b", vector=[1.0])])
        assert len(store.find(HERE, ALL)) == 0
        assert store.put(HERE, [record("b", vector=[1.0])]) == ["b"]

    def test_vectors_may_have_another_size_once_the_last_was_erased(self, store: Storage) -> None:
        store.put(HERE, [record("a", vector=[1.0]), record("b")])
        store.erase(HERE, ["a"])
        store.put(("there",), [record("c", vector=[1.0, 2.0], scope=("there",))])
        assert store.nearest(HERE, np.ones(2, np.float32), 9, ALL) == []
        store.put(HERE, [record("d", vector=[1.0, 2.0])])
        assert ids(store.nearest(HERE, np.ones(2, np.float32), 9, ALL)) == ["d"]

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
