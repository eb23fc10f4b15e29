"""Contract tests of documents."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tidal_plugins.errors import Conflict, InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import META, STORE, Document, Storage, Where
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.testing.contract import Contract, OpenStore
from tidal_plugins.testing.samples import HERE


class DocumentContract(Contract):
    """Documents are replaced as a whole, counted, and kept as long as asked."""

    def test_documents_are_replaced_as_a_whole_and_counted(self, store: Storage) -> None:
        value = {"ü": [1, None, True, {"x": 1.5}], "text": "a\0b 🙂"}
        assert read_document(store, HERE, "facts", "k") is None
        assert write_document(store, HERE, "facts", "k", value) == 1
        assert write_document(store, HERE, "facts", "k", None) == 2
        document = read_document(store, HERE, "facts", "k")
        assert document is not None
        assert (document.key, document.value, document.version) == ("k", None, 2)
        write_document(store, HERE, "facts", "k", value, expected=2)
        assert store.documents(HERE, "facts")[0].value == value
        assert store.documents(HERE, "other") == []

    def test_several_documents_are_written_together_or_not_at_all(self, store: Storage) -> None:
        assert store.write_documents(HERE, "facts", {"b": 1, "a": 2}, keep=1) == {"b": 1, "a": 1}
        assert store.write_documents(HERE, "facts", {"c": 3, "a": 4}, keep=1) == {"c": 1, "a": 2}
        assert [(d.key, d.value) for d in store.documents(HERE, "facts")] == [("a", 4), ("b", 1), ("c", 3)]
        assert [d.value for d in store.documents(HERE, "facts", ["a", "c"], versions=True)] == [4, 2, 3]
        with pytest.raises(Conflict):
            store.write_documents(HERE, "facts", {"c": 5, "a": 6}, expected=1)
        with pytest.raises(InvalidInput):
            store.write_documents(HERE, "facts", {"c": 5, "d": object()})
        assert [d.value for d in store.documents(HERE, "facts")] == [4, 1, 3]
        assert store.write_documents(HERE, "facts", {}) == {}

    def test_a_document_that_changed_meanwhile_conflicts(self, store: Storage, other: Storage) -> None:
        assert write_document(store, HERE, "facts", "k", "mine", expected=0) == 1
        with pytest.raises(Conflict):
            write_document(other, HERE, "facts", "k", "theirs", expected=0)
        write_document(other, HERE, "facts", "k", "theirs", expected=1)
        with pytest.raises(Conflict):
            write_document(store, HERE, "facts", "k", "late", expected=1)
        with pytest.raises(Conflict):
            write_document(store, HERE, "facts", "unknown", "x", expected=1)
        assert [(d.key, d.value) for d in store.documents(HERE, "facts")] == [("k", "theirs")]

    def test_documents_are_listed_by_key(self, store: Storage) -> None:
        for key in ("b", "a", "' OR 1=1 --", "%", "é"):
            write_document(store, HERE, "facts", key, key)
        write_document(store, HERE, "facts2", "z", "z")
        assert [d.key for d in store.documents(HERE, "facts")] == ["%", "' OR 1=1 --", "a", "b", "é"]
        assert [d.key for d in store.documents(HERE, "facts", ["b", "a", "z", "' OR 1=1 --"])] == ["' OR 1=1 --", *"ab"]
        assert store.documents(HERE, "facts", []) == []

    def test_counting_up_from_many_threads_loses_nothing(self, store: Storage) -> None:
        def count_up(_: int) -> None:
            while True:
                current = read_document(store, HERE, "counts", "n")
                value, version = (current.value, current.version) if current else (0, 0)
                try:
                    write_document(store, HERE, "counts", "n", value + 1, expected=version)
                    return
                except Conflict:
                    continue

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count_up, range(40)))
        assert [d.value for d in store.documents(HERE, "counts")] == [40]

    @pytest.mark.parametrize("value", [float("nan"), b"x", object, {1, 2}, "\ud800"], ids=repr)
    def test_only_json_is_a_document(self, store: Storage, value: Any) -> None:
        with pytest.raises(InvalidInput):
            write_document(store, HERE, "facts", "k", value)
        assert read_document(store, HERE, "facts", "k") is None

    def test_as_many_earlier_versions_are_kept_as_asked(self, store: Storage, other: Storage) -> None:
        assert store.documents(HERE, "facts", ["k"], versions=True) == []
        for value in range(1, 6):
            write_document(store, HERE, "facts", "k", value, keep=2)
        assert other.documents(HERE, "facts", ["k"], versions=True) == [
            Document("k", value, value) for value in (5, 4, 3)
        ]
        assert store.documents(HERE, "facts") == [Document("k", 5, 5)]
        write_document(store, HERE, "facts", "k", None, keep=5)
        assert [d.value for d in store.documents(HERE, "facts", ["k"], versions=True)] == [None, 5, 4, 3]
        write_document(store, HERE, "facts", "k", "only")
        assert [d.value for d in store.documents(HERE, "facts", ["k"], versions=True)] == ["only"]

    def test_a_write_that_conflicts_keeps_the_versions_as_they_were(self, store: Storage) -> None:
        for value in "abc":
            write_document(store, HERE, "facts", "k", value, keep=1)
        with pytest.raises(Conflict):
            write_document(store, HERE, "facts", "k", "late", expected=2, keep=1)
        with pytest.raises(InvalidInput):
            write_document(store, HERE, "facts", "k", object(), keep=1)
        with pytest.raises(ValueError, match="stop"), store.transaction():
            write_document(store, HERE, "facts", "k", "d", keep=1)
            store.erase_documents(HERE, "facts", ["k"])
            raise ValueError("stop")
        assert [d.value for d in store.documents(HERE, "facts", ["k"], versions=True)] == ["c", "b"]

    def test_erased_documents_go_with_all_their_versions(self, store: Storage, open_store: OpenStore) -> None:
        there: Scope = ("there",)
        for scope, collection in ((HERE, "facts"), (HERE, "others"), (there, "facts")):
            for key, value in (("k", 1), ("k", 2), ("j", 3), ("' OR 1=1 --", 4)):
                write_document(store, scope, collection, key, value, keep=9)
        assert store.erase_documents(HERE, "facts", ["k", "' OR 1=1 --", "none"]) == 2
        assert store.erase_documents(HERE, "facts", ["k"]) == store.erase_documents(("nowhere",), "facts", ["j"]) == 0
        store.close()
        again = open_store()
        assert again.documents(HERE, "facts", ["k"], versions=True) == []
        assert [d.key for d in again.documents(HERE, "facts")] == ["j"]
        for scope, collection in ((HERE, "others"), (there, "facts")):
            assert [d.value for d in again.documents(scope, collection, ["k"], versions=True)] == [2, 1]
        assert write_document(again, HERE, "facts", "k", "new", expected=0, keep=9) == 1
        assert [d.value for d in again.documents(HERE, "facts", ["k"], versions=True)] == ["new"]
        again.close()

    def test_versions_are_listed_by_key_and_the_newest_first(self, store: Storage) -> None:
        for key, value in (("b", 1), ("a", 2), ("b", 3), ("b", 4), ("a", 5), ("c", 6)):
            write_document(store, HERE, "facts", key, value, keep=9)
        found = store.documents(HERE, "facts", versions=True)
        assert [(d.key, d.value, d.version) for d in found] == [
            ("a", 5, 2), ("a", 2, 1), ("b", 4, 3), ("b", 3, 2), ("b", 1, 1), ("c", 6, 1),
        ]  # fmt: skip
        assert store.documents(HERE, "facts", ["a", "none"], versions=True) == found[:2]
        assert store.documents(HERE, "facts", [], versions=True) == []

    def test_documents_are_listed_a_page_at_a_time(self, store: Storage) -> None:
        for key in "cabed":
            write_document(store, HERE, "facts", key, 1, keep=9)
            write_document(store, HERE, "facts", key, 2, keep=9)
        assert [d.key for d in store.documents(HERE, "facts", limit=2)] == ["a", "b"]
        assert [d.key for d in store.documents(HERE, "facts", limit=2, after=2)] == ["c", "d"]
        assert [d.key for d in store.documents(HERE, "facts", after=4)] == ["e"]
        assert [d.key for d in store.documents(HERE, "facts", ["e", "a", "c", "z"], limit=2, after=1)] == ["c", "e"]
        found = store.documents(HERE, "facts", versions=True, limit=1, after=1)
        assert [(d.key, d.value) for d in found] == [("b", 2), ("b", 1)]
        assert store.documents(HERE, "facts", limit=0) == store.documents(HERE, "facts", after=9) == []
        store.write_documents(STORE, META, {"x": 1, "y": 2, "z": 3})
        about = [document.key for document in store.documents(STORE, META)]
        assert [document.key for document in store.documents(STORE, META, limit=2, after=1)] == about[1:3]

    def test_a_page_that_a_transaction_reads_says_nothing_of_other_documents(self, store: Storage) -> None:
        for scope in (HERE, STORE):
            store.write_documents(scope, "facts", {"a": 1, "b": 1, "c": 1})
            with store.transaction():
                store.documents(scope, "facts", ["a", "b", "c"], limit=1, after=1)
                assert store.write_documents(scope, "facts", {"a": 2, "b": 2}, expected=1, keep=9) == {"a": 2, "b": 2}
                assert write_document(store, scope, "facts", "c", 2) == 2
            assert [d.version for d in store.documents(scope, "facts", ["a"], versions=True)] == [2, 1]

    def test_the_store_itself_has_documents(self, store: Storage, other: Storage) -> None:
        write_document(store, STORE, "facts", "k", {"a": [1, "é"]})
        write_document(store, HERE, "facts", "k", "of a scope")
        document = read_document(other, STORE, "facts", "k")
        assert document is not None
        assert document.value == {"a": [1, "é"]}
        assert store.scopes((), Where()) == []
