"""Contract tests of links."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from random import Random
from typing import Any

import pytest

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.storage.base import ALL_LINKS, Step, Storage, WhereLinks
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract, OpenStore
from tidal_plugins.testing.samples import HERE, HOSTILE, ids, link, record

THERE: Scope = ("there",)
HOUR = timedelta(hours=1)
KINDS = ["kind"]


class LinkContract(Contract):
    """Links are found from either end, the strongest first."""

    def test_every_field_of_a_link_comes_back_as_it_was(self, store: Storage, other: Storage) -> None:
        full = Link(
            id="é' --\0",
            kind="",
            source="東京",
            target="a\0b",
            recorded_at=NOON,
            weight=0.1 + 0.2,
            anchored_at=NOON - HOUR,
            expires_at=NOON + timedelta(microseconds=1),
            valid_from=NOON - 3 * HOUR,
            valid_until=NOON + 3 * HOUR,
            superseded_at=NOON + 2 * HOUR,
            metadata={"ü": [1, None, {"x": True}]},
        )
        plain = Link("plain", "kind", "a", "b", NOON)
        store.put_links(HERE, [full, plain])
        assert store.links(HERE, ALL_LINKS) == other.links(HERE, ALL_LINKS) == [full, plain]

    def test_a_link_takes_the_place_of_the_one_of_its_id(self, store: Storage) -> None:
        store.put_links(HERE, [link("1", "a", "b"), link("2", "a", "b")])
        changed = link("1", "c", "d", weight=5.0, expires_at=NOON, metadata={"x": 1})
        store.put_links(HERE, [changed])
        store.put_links(HERE, [])
        assert store.links(HERE, ALL_LINKS) == [changed, link("2", "a", "b")]
        assert store.frontier(HERE, ["b"], KINDS, each=9) == [Step("b", "a", False, "2", "kind", 1.0, None)]
        assert len(store.frontier(HERE, ["d"], KINDS, each=9)) == 1

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (WhereLinks(), "12345"),
            (WhereLinks(ids=["2", "5", "none"]), "25"),
            (WhereLinks(kinds=["kind"]), "1245"),
            (WhereLinks(kinds=["kind", "other"]), "12345"),
            (WhereLinks(ends=["a"]), "123"),
            (WhereLinks(ends=["a", "c"]), "1235"),
            (WhereLinks(sources=["a"]), "13"),
            (WhereLinks(targets=["a"]), "2"),
            (WhereLinks(sources=["a", "b"], targets=["b", "c"]), "1345"),
            (WhereLinks(ids=["1", "2", "3"], kinds=["kind"], ends=["b"]), "12"),
            (WhereLinks(metadata={"n": 1}), "1"),
            (WhereLinks(metadata={"n": True}), ""),
            (WhereLinks(valid_at=NOON), "1235"),
            (WhereLinks(valid_at=NOON - HOUR), "12345"),
            (WhereLinks(known_at=NOON), "12345"),
            (WhereLinks(known_at=NOON + HOUR), "1234"),
            (WhereLinks(known_at=NOON - HOUR), ""),
            (WhereLinks(lasting_at=NOON), "1345"),
            (WhereLinks(lasting_at=NOON + HOUR), "145"),
            (WhereLinks(expired_at=NOON), "2"),
            (WhereLinks(expired_at=NOON + HOUR, kinds=["other"]), "3"),
            (WhereLinks(ids=[]), ""),
            (WhereLinks(kinds=[]), ""),
            (WhereLinks(ends=[]), ""),
            (WhereLinks(sources=[]), ""),
            (WhereLinks(targets=[]), ""),
            *[(WhereLinks(ends=[text], kinds=[text]), "") for text in HOSTILE],
        ],
    )
    def test_links_are_listed_and_erased_by_what_they_are(
        self, store: Storage, where: WhereLinks, expected: str
    ) -> None:
        store.put_links(
            HERE,
            [
                link("1", "a", "b", metadata={"n": 1}, valid_from=NOON - HOUR),
                link("2", "b", "a", expires_at=NOON),
                link("3", "a", "b", kind="other", expires_at=NOON + HOUR),
                link("4", "b", "b", valid_until=NOON),
                link("5", "b", "c", superseded_at=NOON + HOUR),
            ],
        )
        assert ids(store.links(HERE, where)) == list(expected)
        assert store.erase_links(HERE, where) == len(expected)
        assert ids(store.links(HERE, ALL_LINKS)) == [id_ for id_ in "12345" if id_ not in expected]

    def test_links_are_listed_as_they_were_stored_or_the_strongest_first(self, store: Storage) -> None:
        store.put_links(
            HERE,
            [
                link("light", "a", "b", weight=1),
                link("soon", "a", "c", weight=9, expires_at=NOON + HOUR),
                link("heavy", "d", "a", weight=2),
                link("later", "e", "f", weight=1, expires_at=NOON + 2 * HOUR),
            ],
        )
        store.put_links(HERE, [link("light", "a", "b", weight=1)])
        assert ids(store.links(HERE, ALL_LINKS)) == ["light", "soon", "heavy", "later"]
        strongest = ["heavy", "light", "later", "soon"]
        for where in (ALL_LINKS, WhereLinks(kinds=KINDS), WhereLinks(ends=list("abcdef"))):
            assert ids(store.links(HERE, where, strongest_first=True)) == strongest
            assert ids(store.links(HERE, where, strongest_first=True, limit=2)) == strongest[:2]
        assert ids(store.links(HERE, ALL_LINKS, limit=1)) == ["light"]
        assert store.links(HERE, ALL_LINKS, limit=0) == []

    def test_a_frontier_sees_links_from_either_end(self, store: Storage) -> None:
        store.put_links(
            HERE, [link("1", "a", "b", weight=2, anchored_at=NOON), link("2", "b", "c"), link("3", "c", "c")]
        )
        assert store.frontier(HERE, ["a"], KINDS, each=9) == [Step("a", "b", True, "1", "kind", 2.0, NOON)]
        assert store.frontier(HERE, ["c", "b", "c"], KINDS, each=9) == [
            Step("c", "b", False, "2", "kind", 1.0, None),
            Step("c", "c", True, "3", "kind", 1.0, None),
            Step("b", "a", False, "1", "kind", 2.0, NOON),
            Step("b", "c", True, "2", "kind", 1.0, None),
        ]
        assert store.frontier(HERE, ["unknown"], KINDS, each=9) == store.frontier(HERE, [], KINDS, each=9) == []
        assert store.frontier(HERE, ["a"], [], each=9) == store.frontier(HERE, ["a"], ["other"], each=9) == []

    def test_a_frontier_is_cut_at_the_strongest_of_each_node_and_kind(self, store: Storage) -> None:
        random = Random(4)
        for number, (source, target) in enumerate(list(permutations("abcdefgh", 2)) * 3):
            expires_at = random.choice([None, NOON + random.randrange(5) * HOUR])
            kind, weight = random.choice(["kind", "other"]), random.randrange(5) + number / 1000
            store.put_links(HERE, [link(str(number), source, target, kind=kind, weight=weight, expires_at=expires_at)])
        every = {one.id: one for one in store.links(HERE, ALL_LINKS, strongest_first=True)}
        for each in (1, 3, 7, 999):
            for nodes, kinds in ((["b"], ["kind"]), (["h", "a", "c"], ["other"]), (list("abc"), ["kind", "other"])):
                steps = store.frontier(HERE, nodes, kinds, each=each)
                assert [step.node for step in steps] == sorted((step.node for step in steps), key=nodes.index)
                for node in nodes:
                    for kind in kinds:
                        found = [step.link for step in steps if (step.node, step.kind) == (node, kind)]
                        ends = [one.id for one in every.values() if node in (one.source, one.target)]
                        assert found == [id_ for id_ in ends if every[id_].kind == kind][:each]
        assert store.frontier(HERE, ["a"], KINDS, each=0) == []

    def test_a_frontier_filters_before_the_cut(self, store: Storage) -> None:
        store.put_links(
            HERE,
            [
                link("best", "a", "b", superseded_at=NOON),
                link("good", "c", "a", expires_at=NOON + 2 * HOUR),
                link("weak", "a", "d", expires_at=NOON + HOUR, metadata={"n": 1}),
            ],
        )
        for where, expected in [
            (ALL_LINKS, "best"),
            (WhereLinks(known_at=NOON), "good"),
            (WhereLinks(metadata={"n": 1}), "weak"),
            (WhereLinks(ids=["good", "weak"]), "good"),
            (WhereLinks(ends=["d"]), "weak"),
        ]:
            assert [step.link for step in store.frontier(HERE, ["a"], KINDS, each=1, where=where)] == [expected]

    @pytest.mark.parametrize("node", [*HOSTILE, "", "é", "e\u0301", "[]", "1", "1.0", "null", "x" * 10_000])
    def test_any_text_is_a_node(self, store: Storage, node: str) -> None:
        store.put_links(
            HERE, [link("1", node, "plain"), link("2", "plain", "plainer"), link("3", "x", node, kind=node)]
        )
        assert [step[:3] for step in store.frontier(HERE, [node], KINDS, each=9)] == [(node, "plain", True)]
        assert [step.node for step in store.frontier(HERE, [node], [node], each=9)] == [node]
        assert ids(store.links(HERE, WhereLinks(ends=[node]))) == ["1", "3"]
        assert store.erase_links(HERE, WhereLinks(ends=[node])) == 2
        assert ids(store.links(HERE, ALL_LINKS)) == ["2"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"weight": float("nan")},
            {"weight": float("inf")},
            {"metadata": {"x": object()}},
            {"source": "\ud800"},
            {"metadata": {"x": "\ud800"}},
        ],
    )
    def test_what_cannot_be_stored_is_no_link(self, store: Storage, fields: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            store.put_links(HERE, [link("good", "a", "b"), replace(link("bad", "a", "b"), **fields)])
        assert store.links(HERE, ALL_LINKS) == []

    def test_links_of_another_scope_are_neither_seen_nor_touched(self, store: Storage) -> None:
        mine, theirs = link("same", "a", "b"), link("same", "a", "c", weight=7)
        store.put_links(THERE, [theirs, link("more", "a", "d")])
        store.put_links(HERE, [mine])
        assert store.links(HERE, ALL_LINKS) == [mine]
        assert [step.other for step in store.frontier(HERE, ["a", "c"], KINDS, each=9)] == ["b"]
        assert store.erase_links(HERE, WhereLinks(ends=["a", "c", "d"])) == 1
        assert ids(store.links(THERE, ALL_LINKS)) == ["same", "more"]
        assert store.links(("nowhere",), ALL_LINKS) == []
        assert store.frontier(("nowhere",), ["a"], KINDS, each=9) == []
        assert store.erase_links(("nowhere",), ALL_LINKS) == 0

    def test_an_erased_entry_takes_its_links_along(self, store: Storage) -> None:
        for scope in (HERE, THERE):
            store.put(scope, [record(id_, scope=scope) for id_ in "abc"])
            store.put_links(scope, [link("1", "a", "b"), link("2", "b", "c"), link("3", "c", "a"), link("4", "d", "e")])
        with pytest.raises(ValueError, match="stop"), store.transaction():
            store.erase(HERE, ["a"])
            assert ids(store.links(HERE, ALL_LINKS)) == ["2", "4"]
            raise ValueError("stop")
        assert ids(store.links(HERE, ALL_LINKS)) == list("1234")
        assert store.erase(HERE, ["a", "d"]) == 1  # d is no entry
        assert ids(store.links(HERE, ALL_LINKS)) == ["2", "4"]
        assert ids(store.links(THERE, ALL_LINKS)) == list("1234")

    def test_links_are_rolled_back_and_there_after_closing(self, store: Storage, open_store: OpenStore) -> None:
        store.put_links(HERE, [link("1", "a", "b")])
        with pytest.raises(KeyboardInterrupt), store.transaction():
            store.put_links(HERE, [link("1", "a", "c"), link("2", "a", "d")])
            store.erase_links(HERE, WhereLinks(ids=["1"]))
            raise KeyboardInterrupt
        store.close()
        again = open_store()
        assert again.links(HERE, ALL_LINKS) == [link("1", "a", "b")]
        assert [step.other for step in again.frontier(HERE, ["a"], KINDS, each=9)] == ["b"]
        again.close()

    def test_links_grow_from_many_threads_without_loss(self, store: Storage) -> None:
        store.put_links(HERE, [link("1", "a", "b", weight=0)])

        def grow(_: int) -> None:
            with store.transaction():
                (edge,) = store.links(HERE, WhereLinks(ids=["1"]))
                store.put_links(HERE, [replace(edge, weight=edge.weight + 1)])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(grow, range(40)))
        assert store.links(HERE, ALL_LINKS)[0].weight == 40
