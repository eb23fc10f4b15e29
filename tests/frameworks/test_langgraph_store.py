"""What a ``BaseStore`` does by its documentation, and what only ours does."""

import base64
import math
import threading
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import unquote

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from langgraph_tidal import TidalStore
from tests.frameworks.conftest import CountingEmbedder
from tidal_plugins import (
    Closed,
    EmbeddingError,
    HashingEmbedder,
    InvalidInput,
    Settings,
    TidalMemory,
)
from tidal_plugins.ingestion.writer import IngestionTuning
from tidal_plugins.storage.sqlite import SQLiteStorage

UNTHREADED = Settings(graph={"background": False})
DOCS = ("docs",)
SONGS = {
    "monk": "Thelonious Monk wrote the jazz standard Round Midnight",
    "bread": "Knead the dough and let it rest for an hour",
    "tides": "The tide gauge at the pier reads high water at noon",
    "boat": "The wooden boat needs new caulking before spring",
}


def embed(texts):
    return HashingEmbedder().embed(texts).tolist()


def keys(items):
    return [item.key for item in items]


def fill(store, values, namespace=DOCS, **options):
    for key, value in values.items():
        store.put(namespace, key, {"text": value} if isinstance(value, str) else value, **options)


class TestTidalStore:
    @pytest.fixture
    def open_store(self, memory):
        """Return a function that opens an empty store with search on."""
        return lambda fields=None, ttl=None: TidalStore(memory, index={"fields": fields}, ttl=ttl)

    @pytest.fixture
    def memory(self, tmp_path, clock):
        with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), clock=clock) as memory:
            yield memory

    @pytest.fixture
    def store(self, open_store):
        return open_store()

    # items

    @pytest.mark.parametrize(
        "value",
        [
            {},
            {"a": None, "b": True, "c": 1, "d": 1.5, "e": "x", "f": [1, [2, {"g": []}]], "h": {"i": {"j": "k"}}},
            {"ü": "東京 🙂 «é»", "": "empty", "quote\"'": "a' OR 1=1 --", "$eq": 1, "a.b": 2, "a[0]": 3},
            {"long": "word " * 20_000},
        ],
    )
    def test_any_json_object_is_a_value(self, store, value):
        store.put(DOCS, "a", value)
        assert store.get(DOCS, "a").value == value

    @pytest.mark.parametrize("key", ["a", "A.b/c", "%41", "' OR 1=1 --", "東京", "mara@harbour.example", " ", "*"])
    def test_any_text_is_a_key_and_a_put_replaces_the_whole_value(self, store, key):
        for value in ({"n": 1, "old": True}, {"n": 2}):
            store.put(DOCS, key, value)
        item = store.get(DOCS, key)
        assert (item.namespace, item.key, item.value) == (DOCS, key, {"n": 2})
        assert [(found.key, found.score) for found in store.search(DOCS)] == [(key, None)]

    def test_deleting_removes_and_deleting_again_is_fine(self, store):
        fill(store, SONGS)
        for _ in range(2):
            store.delete(DOCS, "monk")
        assert store.get(DOCS, "monk") is store.get(("other",), "bread") is None
        assert "monk" not in keys(store.search(DOCS, query="jazz standard Round Midnight"))
        assert len(store.search(DOCS)) == 3

    def test_times_are_aware_and_an_update_keeps_the_creation(self, store, clock):
        store.put(DOCS, "a", {"n": 1})
        first = store.get(DOCS, "a")
        clock.advance(minutes=1)
        store.put(DOCS, "a", {"n": 2})
        second = store.get(DOCS, "a")
        assert first.created_at.utcoffset() == timedelta(0)
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at

    def test_changing_what_was_returned_changes_nothing_stored(self, store):
        store.put(DOCS, "a", {"list": [1]})
        store.get(DOCS, "a").value["list"].append(2)
        assert store.get(DOCS, "a").value == {"list": [1]}

    # namespaces

    def test_namespaces_keep_their_items_apart(self, store):
        names = [("a",), ("a", "b"), ("A",), ("ab",), ("a", "b", "c"), ("b", "a"), ("a b",), ("%61",), ("a*",)]
        for number, namespace in enumerate(names):
            store.put(namespace, "key", {"n": number})
        for number, namespace in enumerate(names):
            assert store.get(namespace, "key").value == {"n": number}
        assert sorted(store.list_namespaces()) == sorted(names)

    @pytest.mark.parametrize(
        ("prefix", "found"),
        [
            ((), ["a", "ab", "ac", "acd", "other"]),
            (("a",), ["a", "ab", "ac", "acd"]),
            (("a", "c"), ["ac", "acd"]),
            (("a", "c", "d"), ["acd"]),
            (("c",), []),
            (("x*",), ["other"]),
        ],
    )
    @pytest.mark.parametrize("query", [None, "jazz"])
    def test_search_sees_a_namespace_and_what_is_below_it(self, store, prefix, found, query):
        for namespace in [("a",), ("a", "b"), ("a", "c"), ("a", "c", "d")]:
            store.put(namespace, "".join(namespace), {"text": "jazz"})
        store.put(("x*",), "other", {"text": "jazz"})
        assert sorted(keys(store.search(prefix, query=query))) == found

    @pytest.mark.parametrize("namespace", [(), ("a", ""), ("a.b",), ("a", 1), ("langgraph", "x"), ("a\0",)])
    def test_a_bad_namespace_is_refused(self, store, namespace):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "key", {"n": 1})
        assert store.search(()) == []

    @pytest.mark.parametrize(
        "op",
        [
            GetOp(("a.b",), "k"),
            PutOp(("a.b",), "k", {}),
            PutOp(("a", ""), "k", None),
            SearchOp(("a.b",)),
            ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
        ],
    )
    def test_operations_given_directly_are_checked_too(self, store, op):
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a", "b"), "k", {"n": 1}), op])
        assert store.get(("a", "b"), "k") is None

    @pytest.mark.parametrize(
        ("options", "found"),
        [
            ({}, ["a b c", "a b d e", "a b d i", "a b f", "a c f", "b a c"]),
            ({"prefix": ("a", "b"), "max_depth": 3}, ["a b c", "a b d", "a b f"]),
            ({"prefix": ("a",), "suffix": ("f",)}, ["a b f", "a c f"]),
            ({"prefix": ("*", "a")}, ["b a c"]),
            ({"prefix": ("a", "*", "f")}, ["a b f", "a c f"]),
            ({"suffix": ("b", "*")}, ["a b c", "a b f"]),
            ({"suffix": ("*", "*", "*", "i")}, ["a b d i"]),
            ({"prefix": ("a", "b", "c", "d")}, []),
            ({"max_depth": 1}, ["a", "b"]),
            ({"max_depth": 9, "limit": 2, "offset": 1}, ["a b d e", "a b d i"]),
            ({"limit": 1}, ["a b c"]),
            ({"offset": 5}, ["b a c"]),
            ({"offset": 6}, []),
            ({"limit": 0}, []),
        ],
    )
    def test_namespaces_are_listed_sorted_by_condition_and_depth(self, store, options, found):
        for name in ["b a c", "a b c", "a b d e", "a b d i", "a b f", "a c f"]:
            store.put(tuple(name.split()), "key", {"n": 1})
        assert store.list_namespaces(**options) == [tuple(name.split()) for name in found]

    def test_a_namespace_without_items_is_not_listed(self, store):
        store.put(("a",), "key", {"n": 1})
        store.put(("b",), "key", {"n": 1})
        store.delete(("a",), "key")
        store.get(("c",), "key")
        assert store.list_namespaces() == [("b",)]

    # batches

    def test_a_batch_answers_in_order_and_reads_see_the_state_before_it(self, store):
        store.put(DOCS, "a", {"n": 1})
        results = store.batch(
            [
                PutOp(DOCS, "a", {"n": 2}),
                GetOp(DOCS, "a"),
                PutOp(("new",), "b", {"n": 3}),
                SearchOp(()),
                ListNamespacesOp(),
                GetOp(("new",), "b"),
                PutOp(DOCS, "a", None),
            ]
        )
        assert results[0] is results[2] is results[5] is results[6] is None
        assert results[1].value == {"n": 1}
        assert [item.value for item in results[3]] == [{"n": 1}]
        assert results[4] == [DOCS]
        assert store.get(DOCS, "a") is None
        assert store.get(("new",), "b").value == {"n": 3}

    @pytest.mark.parametrize(("last", "found"), [({"n": 2}, {"n": 2}), (None, None)])
    def test_the_last_put_of_a_key_wins(self, store, last, found):
        store.batch([PutOp(DOCS, "a", {"n": 1}), PutOp(DOCS, "b", {"n": 9}), PutOp(DOCS, "a", last)])
        item = store.get(DOCS, "a")
        assert (item and item.value) == found
        assert store.get(DOCS, "b").value == {"n": 9}

    def test_a_batch_with_a_bad_value_writes_nothing(self, store):
        with pytest.raises((TypeError, ValueError)):
            store.batch([PutOp(DOCS, "a", {"n": 1}), PutOp(DOCS, "b", {"n": object()})])
        assert store.search(DOCS) == []

    def test_items_of_one_batch_may_say_the_same(self, store):
        store.batch([PutOp(DOCS, key, {"text": "jazz piano"}) for key in "abc"])
        assert sorted(keys(store.search(DOCS, query="jazz piano"))) == ["a", "b", "c"]

    # search

    def test_the_nearest_item_comes_first_with_falling_scores_across_namespaces(self, store):
        for key, text in SONGS.items():
            store.put(("docs", key), key, {"text": text})
        for key, text in SONGS.items():
            found = store.search(DOCS, query=text)
            scores = [item.score for item in found]
            assert found[0].key == key
            assert scores == sorted(scores, reverse=True)
            assert scores[0] > 0.5 > scores[1]

    @pytest.mark.parametrize("query", [None, "jazz standard"])
    def test_pages_follow_each_other_to_the_end(self, store, query):
        fill(store, {str(n): f"{'jazz ' * (n % 5)}standard number {n}" for n in range(25)})
        whole = keys(store.search(DOCS, query=query, limit=25))
        pages = [keys(store.search(DOCS, query=query, limit=4, offset=start)) for start in range(0, 32, 4)]
        assert sorted(whole) == sorted(map(str, range(25)))
        assert [key for page in pages for key in page] == whole
        assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 4, 1, 0]
        assert store.search(DOCS, query=query, limit=0) == []

    def test_only_the_fields_of_the_store_are_searched(self, open_store):
        store = open_store(fields=["title", "meta.summary"])
        store.put(DOCS, "a", {"title": "jazz piano", "body": "kneading dough", "meta": {"summary": "tide gauge"}})
        store.put(DOCS, "b", {"title": "wooden boat", "body": "jazz piano, tide gauge", "meta": {}})
        assert keys(store.search(DOCS, query="jazz piano"))[0] == "a"
        assert keys(store.search(DOCS, query="tide gauge"))[0] == "a"

    def test_elements_are_searched_each_on_its_own(self, store):
        texts = [{"content": text} for text in SONGS.values()]
        store.put(DOCS, "many", {"context": texts}, index=["context[*].content"])
        store.put(DOCS, "last", {"context": texts}, index=["context[-1].content"])
        store.put(DOCS, "none", {"context": []}, index=["context[0].content"])
        bread, boat = (store.search(DOCS, query=SONGS[key]) for key in ("bread", "boat"))
        assert bread[0].key == "many"
        assert sorted(keys(boat)) == ["last", "many", "none"], "each once"
        assert bread[0].score > 0.85  # not thinned by the three others
        assert {item.key for item in boat[:2]} == {"many", "last"}
        assert min(item.score for item in boat[:2]) > 0.85

    def test_a_store_that_names_no_field_indexes_what_a_put_names(self, open_store):
        store = open_store(fields=[])
        store.put(DOCS, "quiet", {"text": SONGS["monk"]})
        store.put(DOCS, "loud", {"text": SONGS["monk"]}, index=["text"])
        found = {item.key: item.score for item in store.search(DOCS, query=SONGS["monk"])}
        assert found.pop("loud") > 0.85
        assert list(found.values()) in ([], [None])

    def test_a_changed_item_is_searched_by_what_it_says_now(self, store):
        fill(store, SONGS)
        store.put(DOCS, "monk", {"text": "An apple pie with cinnamon"})
        assert keys(store.search(DOCS, query="apple pie cinnamon"))[0] == "monk"
        scores = {item.key: item.score for item in store.search(DOCS, query=SONGS["monk"])}
        assert scores["monk"] < 0.5

    @pytest.mark.parametrize("query", ["", "' OR 1=1 --", '"', "NEAR(a b)", "%", "?!", "a\0b", "jazz " * 5000, "東京"])
    def test_any_text_is_a_query(self, store, query):
        fill(store, SONGS)
        assert len(store.search(DOCS, query=query)) == 4

    # filters

    VALUES: ClassVar = {
        "a": {"n": 1, "kind": "x", "ok": True, "at": "2026-01-05", "deep": {"m": {"k": 1, "l": 2}}, "tags": ["p", "q"]},
        "b": {"n": 2.5, "kind": "y", "ok": False, "at": "2026-02-01", "deep": {"m": {"k": 2}}, "tags": ["p"]},
        "c": {"n": -3, "kind": "x", "ok": None, "at": "2026-03-01", "deep": {"m": None}, "tags": []},
    }

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({}, "abc"),
            ({"kind": "x"}, "ac"),
            ({"kind": "z"}, ""),
            ({"n": 1}, "a"),
            ({"n": 1.0}, "a"),
            ({"n": 2.5}, "b"),
            ({"ok": True}, "a"),
            ({"ok": False}, "b"),
            ({"kind": "x", "n": -3}, "c"),
            ({"kind": {"$eq": "y"}}, "b"),
            ({"kind": {"$ne": "y"}}, "ac"),
            ({"n": {"$gt": 1}}, "b"),
            ({"n": {"$gte": 1}}, "ab"),
            ({"n": {"$lt": 1}}, "c"),
            ({"n": {"$lte": 1}}, "ac"),
            ({"n": {"$gt": -4, "$lt": 2}}, "ac"),
            ({"n": {"$gt": 0}, "kind": "x"}, "a"),
            ({"kind": "' OR 1=1 --"}, ""),
            ({"n": {"$lt": math.inf}}, "abc"),
            ({"n": {"$gt": -math.inf, "$lt": 2}}, "ac"),
            ({"n": {"$gte": math.inf}}, ""),
            ({"n": {"$gte": 0, "$ne": 2.5}}, "a"),
            ({"tags": ["p", "q"]}, "a"),
            ({"tags": ["p"]}, "b"),
            ({"tags": []}, "c"),
            ({"kind": {"$ne": {"x": 1}}}, "abc"),
            ({"at": {"$gte": "2026-02-01", "$lt": "2026-03-01"}}, "b"),
            ({"deep": {"m": {"k": {"$gte": 1}}}}, "ab"),
            ({"deep": {"m": {"k": {"$gt": 1}}}}, "b"),
            ({"deep": {"m": {"k": 1, "l": {"$lt": 3}}}}, "a"),
            ({"deep": {"z": {"k": 1}}}, ""),
            ({"deep": {"$eq": {"m": {"k": 2}}}}, "b"),
            ({"tags": {"$eq": ["p"]}}, "b"),
        ],
    )
    @pytest.mark.parametrize("query", [None, "x"])
    def test_filters_compare_fields(self, store, wanted, found, query):
        fill(store, self.VALUES)
        assert sorted(keys(store.search(DOCS, filter=wanted, query=query))) == list(found)

    @pytest.mark.parametrize(
        ("wanted", "found"), [({"n": {"$gt": 0}}, "a"), ({"n": {"$lte": 0}}, ""), ({"n": {"$gt": 1}}, "")]
    )
    def test_what_lacks_the_field_or_has_another_type_is_in_no_order(self, store, wanted, found):
        fill(store, {"a": {"n": 1}, "b": {"m": 1}, "c": {"n": None}, "d": {"n": "many"}, "e": {"n": [5]}})
        assert sorted(keys(store.search(DOCS, filter=wanted))) == list(found)

    def test_true_is_not_one(self, store):
        fill(store, {"a": {"v": 1}, "b": {"v": True}, "c": {"v": "1"}})
        found = [keys(store.search(DOCS, filter={"v": wanted})) for wanted in (1, True, "1")]
        assert found == [["a"], ["b"], ["c"]]

    @pytest.mark.parametrize("name", ["a b", "a.b", 'a"b', "ü", "a') = 1 OR ('1"])
    def test_any_text_is_a_field(self, store, name):
        fill(store, {"a": {name: "x"}, "b": {name: "y"}, "c": {"a": {"b": "x"}}})
        assert keys(store.search(DOCS, filter={name: "x"})) == ["a"]

    def test_an_unknown_operator_is_refused(self, store):
        fill(store, self.VALUES)
        with pytest.raises(ValueError, match="regex"):
            store.search(DOCS, filter={"kind": {"$regex": "x"}})

    @pytest.mark.parametrize("wanted", [{"odd": True}, {"n": {"$gte": 0}, "odd": True}, {"n": {"$gt": -1, "$ne": 2}}])
    def test_filters_apply_before_the_limit(self, store, wanted):
        fill(store, {str(n): {"text": "jazz", "n": n, "odd": n % 2 == 1} for n in range(24)})
        for query in (None, "jazz"):
            assert len(store.search(DOCS, filter=wanted, query=query, limit=10)) == 10

    # time to live

    @pytest.fixture
    def ttl_store(self, open_store):
        return open_store(ttl={"default_ttl": 10, "refresh_on_read": True})

    def test_what_has_expired_is_gone(self, ttl_store, clock):
        ttl_store.put(DOCS, "short", {"text": "jazz"}, ttl=5)
        ttl_store.put(DOCS, "default", {"text": "jazz"})
        ttl_store.put(DOCS, "forever", {"text": "jazz"}, ttl=None)
        clock.advance(minutes=6)
        assert sorted(keys(ttl_store.search((), refresh_ttl=False))) == ["default", "forever"]
        clock.advance(minutes=6)
        assert keys(ttl_store.search((), query="jazz", refresh_ttl=False)) == ["forever"]
        assert ttl_store.get(DOCS, "short") is ttl_store.get(DOCS, "default") is None
        fill(ttl_store, SONGS)
        for n in range(2):
            clock.advance(minutes=6)
            ttl_store.put(DOCS, "bread", {"text": "bread", "n": n})  # writing begins the time anew, as does reading
            assert keys(ttl_store.search(DOCS, query=SONGS["monk"], limit=1)) == ["monk"]
        clock.advance(minutes=6)
        assert sorted(keys(ttl_store.search(DOCS))) == ["bread", "forever", "monk"]

    @pytest.mark.parametrize(("refresh", "alive"), [(None, True), (True, True), (False, False)])
    @pytest.mark.parametrize("how", ["get", "search", "query"])
    def test_reading_begins_the_time_anew_unless_told_not_to(self, ttl_store, clock, refresh, alive, how):
        ttl_store.put(DOCS, "a", {"text": "jazz"})
        for _ in range(2):
            clock.advance(minutes=6)
            if how == "get":
                ttl_store.get(DOCS, "a", refresh_ttl=refresh)
            else:
                ttl_store.search(DOCS, query="jazz" if how == "query" else None, refresh_ttl=refresh)
        clock.advance(minutes=6)
        assert (ttl_store.get(DOCS, "a") is not None) == alive

    # async

    async def test_async_does_all_of_it(self, store):
        await store.aput(DOCS, "a", {"text": "jazz piano"})
        await store.aput(("docs", "sub"), "b", {"text": "kneading dough", "n": 1}, index=["text"])
        assert (await store.aget(DOCS, "a")).value == {"text": "jazz piano"}
        assert keys(await store.asearch(DOCS, query="jazz piano", limit=1)) == ["a"]
        assert keys(await store.asearch((), filter={"n": 1})) == ["b"]
        assert await store.alist_namespaces(prefix=DOCS) == [DOCS, ("docs", "sub")]
        await store.adelete(DOCS, "a")
        assert await store.aget(DOCS, "a") is None
        results = await store.abatch([PutOp(DOCS, "c", {"n": 1}), GetOp(("docs", "sub"), "b"), SearchOp(DOCS)])
        assert results[1].key == "b"
        assert keys(results[2]) == ["b"]

    @pytest.mark.parametrize("text", ["mara@harbour.example", "a.b%2Ec", "50%", "東京.\0x", "...", "%"])
    def test_any_text_becomes_a_label_and_can_be_read_back(self, store, text):
        label = TidalStore.label(text)
        store.put(("users", label), "key", {"n": 1})
        ((_, listed),) = store.list_namespaces()
        assert listed == label
        assert unquote(listed) == text
        assert store.get(("users", label), "key").namespace == ("users", label)

    @pytest.mark.parametrize("label", ["a\nb", "\u202e", "\ud800", "%0A", "%store", "tab\t", "a\u200bb"])
    def test_labels_that_a_scope_cannot_have_are_escaped(self, store, label):
        store.put((label, "x"), "key", {"n": 1})
        assert store.list_namespaces() == [(label, "x")]
        assert store.search((label,))[0].namespace == (label, "x")

    def test_keywords_count_where_meaning_does_not_tell(self, store):
        fill(store, {"a": "The part number is ZX-4471 in the blue drawer", "b": "The part number is in the drawer"})
        found = store.search(DOCS, query="ZX-4471")
        assert found[0].key == "a"
        assert found[0].score > found[1].score + 0.2

    def test_what_has_no_score_follows_where_the_scored_are_too_few(self, store):
        fill(store, SONGS)
        store.put(DOCS, "quiet", {"text": "hush"}, index=False)
        assert keys(store.search(DOCS, query="jazz"))[-1] == "quiet"
        assert keys(store.search(DOCS, query="jazz", limit=2, offset=3))[1:] == ["quiet"]
        assert "quiet" not in keys(store.search(DOCS, query="jazz", limit=4))

    def test_an_expired_item_put_again_is_new(self, store, clock):
        store.put(DOCS, "a", {"n": 1}, ttl=1)
        clock.advance(minutes=2)
        assert store.list_namespaces() == []
        store.put(DOCS, "a", {"n": 2})
        item = store.get(DOCS, "a")
        assert item.created_at == item.updated_at == clock()

    def test_nobody_else_sees_what_is_in_a_store_and_it_nothing_of_theirs(self, memory, store, clock, tmp_path):
        memory.record(user="jazz piano", agent="Noted.")
        memory.remember("jazz piano", kind="kb")
        memory.scoped("default", "%store").remember("somebody else's note", source="s")
        assert store.search((), query="jazz piano") == store.search(()) == store.list_namespaces() == []
        for key in "abc":
            store.put((key,), key, {"text": "bass clarinet"})
            clock.advance(minutes=1)
        store.put(("a",), "a", {"text": "bass clarinet", "n": 2})
        assert keys(store.search(())) == ["a", "c", "b"], "the newest first"
        assert "clarinet" not in str(memory.recall("bass clarinet").hits)
        for other in (memory.scoped("default", "a"), memory.scoped("user", "42")):
            assert TidalStore(other).search(()) == TidalStore(other).list_namespaces() == []
        with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), clock=clock) as again:
            assert TidalStore(again).search((), query="bass clarinet")[0].score > 0.5, "another process"
        with pytest.raises(InvalidInput):
            memory.scoped("user", "\x1fstore")

    def test_sweeping_erases_what_has_expired(self, memory, clock):
        store = TidalStore(memory, ttl={"sweep_interval_minutes": 60})
        for number in range(70):  # more than are read at once
            store.put(DOCS, f"kept {number}", {"n": number}, ttl=100)
            store.put(DOCS, f"gone {number}", {"n": number}, ttl=1)
        clock.advance(minutes=2)
        assert [store.sweep_ttl(), store.sweep_ttl()] == [70, 0]
        assert len(store.search(DOCS, limit=200)) == 70
        clock.advance(minutes=100)
        store.put(DOCS, "c", {"n": 1})  # the interval is over: this write sweeps
        assert store.sweep_ttl() == 0

    def test_one_batch_is_one_transaction(self, tmp_path):
        class Filling(SQLiteStorage):
            puts = 0

            def put(self, scope, records, *, replace=False):
                self.puts += 1
                if self.puts == 3:
                    raise RuntimeError("the disk is full")
                return super().put(scope, records, replace=replace)

        with TidalMemory(storage=Filling(tmp_path / "full.db"), embedder=HashingEmbedder()) as memory:
            store = TidalStore(memory)
            store.put(DOCS, "old", {"n": 1})
            with pytest.raises(RuntimeError):
                store.batch([PutOp(DOCS, "old", None), PutOp(DOCS, "a", {"n": 1}), PutOp(DOCS, "b", {"n": 1})])
            assert keys(store.search(())) == ["old"]


@pytest.fixture
def quiet(tmp_path):
    """Return a function that opens a memory without a thread, whose embedder counts."""
    opened = []

    def open_(name="agent.db", **options):
        embedder = CountingEmbedder()
        memory = TidalMemory(tmp_path / name, embedder=embedder, settings=UNTHREADED, **options)
        opened.append(memory)
        return memory, embedder

    yield open_
    for memory in opened:
        memory.close()


def embedded(embedder):
    return [text for call in embedder.calls for text in call]


def test_a_put_embeds_nothing_and_the_next_search_all_of_it(quiet):
    memory, embedder = quiet()
    store = TidalStore(memory, index={"fields": ["text"]})
    fill(store, SONGS)
    fill(store, SONGS, namespace=("elsewhere",))
    store.search(DOCS)
    assert embedded(embedder) == []
    assert store.search(DOCS, query=SONGS["bread"])[0].key == "bread"
    assert sorted(embedded(embedder)[1:]) == sorted(SONGS.values())  # after the query, and of this namespace alone
    embedder.calls.clear()
    assert store.search(DOCS, query="jazz")[0].score > 0
    assert embedded(embedder) == ["jazz"]


def test_what_was_replaced_or_deleted_before_it_was_embedded_never_is(quiet):
    memory, embedder = quiet()
    store = TidalStore(memory, index={"fields": ["text"]})
    fill(store, SONGS)
    store.delete(DOCS, "monk")
    store.put(DOCS, "bread", {"text": SONGS["bread"]}, index=False)
    store.put(DOCS, "boat", {"text": "An apple pie with cinnamon"})
    store.delete(DOCS, "tides")
    store.put(DOCS, "tides", {"text": SONGS["tides"]}, index=False)
    store.search(DOCS, query="pie")
    assert embedded(embedder) == ["pie", "An apple pie with cinnamon"]


def test_an_item_that_cannot_be_embedded_keeps_no_other_from_being_found(tmp_path):
    class Zero(HashingEmbedder):
        def embed(self, texts):
            rows = super().embed(texts)
            rows[["cursed" in text for text in texts]] = 0
            return rows

    with TidalMemory(tmp_path / "agent.db", embedder=Zero(), settings=UNTHREADED) as memory:
        store = TidalStore(memory)
        fill(store, {**SONGS, "bad": "cursed"})
        for _ in range(2):
            found = {item.key: item.score for item in store.search(DOCS, query=SONGS["monk"])}
            assert found["monk"] > 0.5
            assert found["bad"] is None
        store.put(DOCS, "bad", {"text": SONGS["bread"]})
        assert {item.key: item.score for item in store.search(DOCS, query=SONGS["bread"])}["bad"] > 0.5


def test_an_embedder_that_is_away_fails_the_search_and_loses_nothing(quiet):
    memory, embedder = quiet()
    store = TidalStore(memory)
    fill(store, SONGS)
    for failures in (1, 2):
        embedder.failures = failures
        with pytest.raises(EmbeddingError):
            store.search(DOCS, query=SONGS["monk"])
        embedder.failures = 0
    assert store.search(DOCS, query=SONGS["monk"])[0].score > 0.5


def test_of_a_long_item_the_first_passages_and_elements_are_indexed(quiet):
    memory, embedder = quiet()
    store = TidalStore(memory)
    text = SONGS["tides"] + ". " + "The ferry leaves at nine. " * 20_000 + SONGS["monk"]
    store.put(DOCS, "long", {"text": text})
    assert store.search(DOCS, query=SONGS["tides"])[0].score > 0.3
    assert sum(map(len, embedded(embedder))) < 2 * memory.settings[IngestionTuning].indexed_chars
    assert all("Thelonious" not in text for text in embedded(embedder))
    assert store.get(DOCS, "long").value == {"text": text}
    embedder.calls.clear()
    store.put(DOCS, "many", {"tags": [f"tag {n}" for n in range(20_000)]}, index=["tags[*]"])
    store.search(DOCS, query="tag 3")
    assert len(embedded(embedder)) < 200


@pytest.mark.parametrize(
    "data",
    [
        base64.b64encode(bytes(range(256)) * 2_000).decode(),
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode(),
        base64.encodebytes(bytes(range(256)) * 200).decode(),
        (bytes(range(256)) * 40).hex(),
    ],
)
def test_binary_data_is_not_embedded_and_the_text_beside_it_is(quiet, data):
    memory, embedder = quiet()
    store = TidalStore(memory)
    store.put(DOCS, "image", {"content": data, "title": SONGS["boat"]})
    store.put(DOCS, "only", {"content": data}, index=["content"])
    assert store.search(DOCS, query=SONGS["boat"])[0].key == "image"
    assert store.get(DOCS, "only").value == {"content": data}
    assert max(map(len, embedded(embedder))) < 150


def test_a_store_without_an_index_embeds_nothing_unless_a_put_names_fields(quiet):
    memory, embedder = quiet()
    store = TidalStore(memory, index=False)
    fill(store, SONGS)
    assert {item.score for item in store.search(DOCS, query="jazz")} == {None}
    store.put(DOCS, "loud", {"text": SONGS["monk"]}, index=["text"])
    assert store.search(DOCS, query=SONGS["monk"])[0].key == "loud"
    assert embedded(embedder) == ["jazz", SONGS["monk"], SONGS["monk"]]


WRONG = [
    *(({"ttl": ttl}, "ttl") for ttl in (0, -1, math.nan, math.inf, 1e300, "soon")),
    *(({"value": value}, "") for value in ({"x": math.nan}, {"x": object()}, {1: "x"}, {"x": b"x"}, [1], "text")),
    ({"value": {"x": datetime.now(UTC)}}, ""),
    ({"value": {"text": "x" * 1_100}}, "1,000 bytes"),
    ({"index": "text"}, "index must be a collection, such as a list, got 'text'"),
    ({"key": "a\ud800"}, "valid Unicode"),
    ({"key": "k" * 2_000}, "a key is a text"),
    ({"namespace": ("n" * 20_000,)}, "a namespace is a tuple"),
    ({"namespace": "docs"}, "a namespace is a tuple"),
]


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_what_cannot_be_put_is_refused(tmp_path, given, reason):
    settings = Settings(tuning={"ingestion.max_value_bytes": 1_000})
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        store = TidalStore(memory)
        store.put(DOCS, "a", {"text": "x" * 900})
        with pytest.raises(InvalidInput, match=reason or None):
            store.put(**{"namespace": DOCS, "key": "b", "value": {"n": 1}, **given})
        assert keys(store.search(())) == ["a"]


@pytest.mark.parametrize(
    "op",
    [SearchOp(DOCS, limit=-1), SearchOp(DOCS, offset=-1), SearchOp(DOCS, query=5), GetOp(DOCS, 7), 5,
     ListNamespacesOp(limit=-1), ListNamespacesOp(offset=-1)],
)  # fmt: skip
def test_bad_operations_and_indexes_are_refused(memory, op):
    with pytest.raises(InvalidInput):
        TidalStore(memory).batch([op])
    for index, reason in (
        ({"dims": 3, "embed": embed}, "dims, embed"),
        ({1: 2}, "fields only, not 1"),
        (7, "a mapping"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            TidalStore(memory, index=index)


def test_reading_by_key_needs_no_embedder(quiet):
    memory, embedder = quiet()
    embedder.failures = 1_000
    store = TidalStore(memory)
    store.put(("notes",), "a", {"text": "b"})
    assert store.get(("notes",), "a").value == {"text": "b"}
    assert keys(store.search(("notes",))) == ["a"]
    assert store.list_namespaces() == [("notes",)]
    store.delete(("notes",), "a")


def test_the_background_indexes_what_no_search_has(tmp_path):
    embedder = CountingEmbedder()
    memory = TidalMemory(tmp_path / "agent.db", embedder=embedder)
    TidalStore(memory, index={"fields": ["text"]}).put(DOCS, "a", {"text": SONGS["monk"]})
    memory.close(timeout=60)
    assert embedded(embedder) == [SONGS["monk"]]


def test_scores_are_between_nought_and_one_and_a_key_says_nothing(quiet):
    memory, _ = quiet()
    store = TidalStore(memory, index={"fields": ["text"]})
    fill(store, SONGS)
    store.put(DOCS, "9f4c2e1e-63d2-4f0e-8f0e-2a9d8f4f7b11", {"text": SONGS["bread"]})
    for query in (*SONGS.values(), "?!", "quantum chromodynamics"):
        assert all(0 <= item.score <= 1 for item in store.search(DOCS, query=query))
    one, other = store.search(DOCS, query=SONGS["bread"], limit=2)
    assert one.score == other.score > 0.85
    store.put(DOCS, "bread", {"text": SONGS["bread"]}, index=False)
    scores = {item.key: item.score for item in store.search(DOCS, query=SONGS["bread"])}
    assert scores["bread"] is None, "put again without an index it is not searched by what it said"


@pytest.mark.parametrize("style", ["sync", "async"])
async def test_a_connection_string_opens_a_store_and_closes_it(tmp_path, style):
    path = str(tmp_path / "agent.db")
    opened = TidalStore.from_conn_string(path, index={"fields": ["text"]}, embedder=HashingEmbedder())
    if style == "sync":
        with opened as store:
            assert store.setup() is None
            fill(store, SONGS)
    else:
        async with opened as store:
            for key, text in SONGS.items():
                await store.aput(DOCS, key, {"text": text})
    with pytest.raises(Closed):
        store.get(DOCS, "monk")
    with TidalMemory(path, embedder=HashingEmbedder()) as memory:
        assert TidalStore(memory).search(DOCS, query=SONGS["monk"])[0].key == "monk"


# the thread that erases what has expired


class Watched(TidalStore):
    """A store that says when a sweep has erased something."""

    def sweep_ttl(self):
        if count := super().sweep_ttl():
            self.swept.set()
        return count


def test_a_sweeper_erases_what_has_expired_until_it_is_stopped(quiet):
    memory, _ = quiet()
    store = Watched(memory, ttl={"sweep_interval_minutes": 60})
    store.swept = threading.Event()
    store.put(DOCS, "a", {"n": 1}, ttl=0.001 / 60)
    future = store.start_ttl_sweeper(0.02 / 60)
    assert store.swept.wait(60)
    assert store.stop_ttl_sweeper(60)
    assert future.result(60) is None
    first, second = store.start_ttl_sweeper(1000), store.start_ttl_sweeper()
    assert first.cancel()
    assert second.result(60) is None, "a cancelled future ends the thread of all"
    assert store.stop_ttl_sweeper(60)
    without = TidalStore(memory)
    assert without.start_ttl_sweeper().result(0) is None, "without a time to live there is none"
    assert without.stop_ttl_sweeper()
    for minutes in (0, -1, "soon"):
        with pytest.raises(InvalidInput, match="sweep_interval_minutes"):
            store.start_ttl_sweeper(minutes)
    future = TidalStore(memory, ttl={"default_ttl": 1}).start_ttl_sweeper(0.02 / 60)
    memory.close()
    assert future.result(60) is None, "a sweeper ends with its memory"
