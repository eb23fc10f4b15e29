"""Contract tests of scopes."""

from __future__ import annotations

import numpy as np
import pytest

from tidal_plugins.errors import NotFound
from tidal_plugins.model.entry import Link, Scope, Tier
from tidal_plugins.storage.base import Line, Record, Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import passage_vectors, read_document, write_document
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract
from tidal_plugins.testing.samples import ALL, HERE, entry, ids, record


class ScopeContract(Contract):
    """No scope sees another."""

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
            write_document(store, scope, "facts", "key", name, expected=0)
        assert sorted(ids(store.find(mine, ALL))) == ["me", "same"]
        assert store.get(mine, ["same", "them"])["same"].scope == mine
        assert list(store.get(mine, ["them"])) == list(store.summaries(mine, ["them"])) == []
        assert [span.id for span in passage_vectors(store, mine, ["them", "me"]).spans] == ["me"]
        assert store.adjacent(mine, ["them"], 2, ALL) == []
        assert ids(store.nearest(mine, query, 9, ALL)) == ["same", "me"]
        assert sorted(ids(store.matching(mine, ["text"], 9, ALL))) == ["me", "same"]
        assert store.statistics(mine).speakers == ["me"]
        assert len(store.find(mine, ALL)) == 2
        document = read_document(store, mine, "facts", "key")
        assert document is not None
        assert document.value == store.documents(mine, "facts")[0].value == "me"
        with pytest.raises(NotFound):
            store.put(mine, [record("them", scope=mine)], replace=True)
        store.put(mine, [Record(entry("same", scope=mine, tier=tier), passages=None)], replace=True)
        store.put(mine, [record("me", "changed", scope=mine)], replace=True)
        write_document(store, mine, "facts", "key", "changed")
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
        assert store.scopes((), ALL) == sorted({*inside, *outside} - {("a", "b")})

    def test_a_scope_that_nothing_was_written_to_is_empty(self, store: Storage) -> None:
        for scope in (HERE, ("there",)):
            store.put(scope, [record("a", vector=[1.0], scope=scope)])
        nowhere = ("nowhere",)
        assert not store.find(nowhere, ALL)
        assert not store.matching(nowhere, ["text"], 9, ALL)
        assert not store.nearest(nowhere, np.ones(1, np.float32), 9, ALL)
        assert not store.statistics(nowhere).speakers
        assert not store.documents(nowhere, "facts")
        assert not store.get(nowhere, ["a"])
        assert not store.summaries(nowhere, ["a"])
        assert len(store.find(nowhere, ALL)) == 0
        assert read_document(store, nowhere, "facts", "key") is None

    def test_erasing_all_of_a_scope_leaves_nothing_in_it_and_all_in_others(self, store: Storage) -> None:
        other = ("other",)
        for scope in (HERE, other):
            store.put(scope, [record("a", "same text", [1.0, 0.0], scope=scope, speaker="Ada")])
            store.put_links(scope, [Link("l", "kind", "somewhere", "else", NOON)])
            store.append_log(scope, "log", [Line("key", NOON, 1)])
            for value in (1, 2):
                write_document(store, scope, "facts", "key", value, keep=9)
        erasures = store.statistics(HERE).erasures
        assert store.erase(HERE, None) == 1
        statistics = store.statistics(HERE)
        assert (statistics.speakers, dict(statistics.volumes)) == ([], {})
        assert statistics.erasures > erasures
        assert not [*store.find(HERE, ALL), *store.links(HERE, WhereLinks()), *store.read_log(HERE, "log")]
        assert store.documents(HERE, "facts", versions=True) == []
        assert store.matching(HERE, ["text"], 9, ALL) == []
        assert (len(store.links(other, WhereLinks())), len(store.read_log(other, "log"))) == (1, 1)
        assert [document.value for document in store.documents(other, "facts", versions=True)] == [2, 1]
        assert ids(store.matching(other, ["text"], 9, ALL)) == ["a"]
        assert store.erase(HERE, None) == 0
        store.put(HERE, [record("a", "same text", [1.0, 0.0])])
        assert ids(store.matching(HERE, ["text"], 9, ALL)) == ["a"]
