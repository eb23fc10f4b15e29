"""Associations: what came up together, as a user sees it and link by link, and where activation spreads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from tidal_plugins import InvalidInput, TidalMemory
from tidal_plugins.associations.store import ASSOCIATION, Activation, AssociationStore, AssociationTuning, Context
from tidal_plugins.scoring import decay
from tidal_plugins.storage.base import Record, Storage, WhereLinks
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import HERE, NOON, FrozenClock, entry, link


@pytest.fixture
def told(memory: TidalMemory) -> list[str]:
    """The entries of three texts: the first came up with the second twice, and the second with the third once."""
    ids = [memory.record(text).entries[0] for text in ("I play jazz piano", "The bridge is green", "It rains a lot")]
    memory.record("What now?", surfaced=ids[:2])
    memory.record("And then?", surfaced=ids[:2])
    memory.record("And what else?", surfaced=ids[1:])
    assert memory.associations.link_pending() == 3
    return ids


def test_links_are_listed_heaviest_first(memory: TidalMemory, told: list[str]) -> None:
    piano, bridge, rain = told
    found = memory.associations.links(bridge)
    assert (found[0].source, found[0].target, found[0].weight) == (bridge, piano, 2.0)
    assert rain in {link.target for link in found}
    assert {link.weight for link in found[1:]} == {1.0}
    assert memory.associations.links(f"mem:{bridge}", limit=1) == found[:1]
    assert memory.associations.links("nobody") == []


def test_links_fade_every_day(memory: TidalMemory, told: list[str], clock: FrozenClock) -> None:
    clock.advance(days=2)
    assert memory.associations.links(told[1])[0].weight == pytest.approx(2 * 0.95**2)


def test_activation_spreads_along_the_heaviest_links(memory: TidalMemory, told: list[str]) -> None:
    piano, bridge, rain = told
    found = {reached.id: reached for reached in memory.associations.spread(piano)}
    assert found[bridge].activation == pytest.approx(2 / 3)
    assert found[rain].path == (piano, bridge, rain)
    assert found[rain].activation == pytest.approx(2 / 3 * 1 / 2)
    assert rain not in {reached.id for reached in memory.associations.spread(piano, depth=1)}
    assert [reached.id for reached in memory.associations.spread([piano], limit=1)] == [bridge]
    assert memory.associations.spread(piano, threshold=0.9) == []
    assert piano not in {reached.id for reached in memory.associations.spread([piano, bridge])}


def test_scopes_have_associations_of_their_own(memory: TidalMemory, told: list[str]) -> None:
    other = memory.scoped("user", "42")
    assert other.associations.links(told[0]) == other.associations.spread(told[0]) == []


def test_a_forgotten_entry_is_reached_no_more(memory: TidalMemory, told: list[str]) -> None:
    memory.forget(told[1])
    assert told[1] not in {reached.id for reached in memory.associations.spread(told[0])}


# link by link


DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStorage]:
    store = SQLiteStorage(tmp_path / "memory.db")
    store.put(HERE, [Record(entry(id_)) for id_ in [*"abcdefgh", *(f"n{n:03}" for n in range(100))]])
    yield store
    store.close()


@pytest.fixture
def web(store: Storage) -> AssociationStore:
    return AssociationStore(store)


def commit(web: AssociationStore, *ids: str, now: datetime = NOON) -> int:
    return web.commit_contexts(HERE, [Activation(web.activate(ids), now)])


def weights(web: AssociationStore, now: datetime = NOON) -> dict[str, float]:
    return {a + b: weight for a, b, weight in web.strongest(HERE, now, 1000)}


def put_edges(store: Storage, edges: dict[str, float], now: datetime = NOON) -> None:
    """Edges such as ``{"ab": 2.0}``, as the web would have left them."""
    for (a, b), weight in edges.items():
        expires_at = now + timedelta(days=decay.days_until(weight, 0.01, 0.95))
        fields = {"kind": ASSOCIATION, "weight": weight, "anchored_at": now, "expires_at": expires_at}
        store.put_links(HERE, [link(a + b, a, b, **fields)])


def spread(web: AssociationStore, *origins: str, now: datetime = NOON, **asked: float) -> dict[str, float]:
    return {id_: round(activation, 6) for id_, activation, _ in web.spread(HERE, origins, now, **asked)}


# contexts


def test_every_pair_of_a_context_is_linked_once(web: AssociationStore) -> None:
    assert commit(web, "c", "a", "d", "b", "a") == 6
    assert weights(web) == dict.fromkeys(["ab", "ac", "ad", "bc", "bd", "cd"], 1.0)


def test_an_edge_fades_and_then_grows_up_to_the_cap(web: AssociationStore) -> None:
    commit(web, "a", "b")
    commit(web, "b", "a", now=NOON + 2 * DAY)
    assert weights(web, NOON + 2 * DAY) == {"ab": pytest.approx(1.9025)}  # 0.95² + 1
    assert weights(web, NOON + 3.5 * DAY) == {"ab": pytest.approx(1.7616112)}  # 1.9025 · 0.95^1.5
    for _ in range(20):
        commit(web, "a", "b", now=NOON + 2 * DAY)
    assert weights(web, NOON + 2 * DAY) == {"ab": 10.0}


def test_only_the_strongest_of_a_large_context_are_linked(web: AssociationStore) -> None:
    context = web.activate(f"n{n:03}" for n in range(100))
    context = web.activate((f"n{n:03}" for n in range(50, 90)), context, strength=0.5)
    assert web.commit_contexts(HERE, [Activation(context, NOON)]) == 32 * 31 // 2
    assert (
        web.commit_contexts(HERE, [Activation(web.activate("n099", context, strength=9), NOON + DAY)]) == 32 * 31 // 2
    )
    linked = {end for a, b, _ in web.strongest(HERE, NOON + DAY, 1000) for end in (a, b)}
    assert linked == {f"n{n:03}" for n in range(50, 82)} | {"n099"}


# time


def test_prune_removes_what_has_faded_below_the_floor(web: AssociationStore, store: Storage) -> None:
    commit(web, "a", "b")
    commit(web, "a", "c")
    commit(web, "a", "c")
    put_edges(store, {"de": 1.0})
    store.put_links(HERE, [link("other", "a", "b", expires_at=NOON)])
    assert web.prune(HERE, NOON + 89 * DAY) == 0  # 0.95⁸⁹ = 0.0104
    assert web.prune(HERE, NOON + 90 * DAY) == 2  # 0.95⁹⁰ = 0.0099
    assert web.prune(HERE, NOON + 90 * DAY) == 0
    assert weights(web, NOON + 90 * DAY) == {"ac": pytest.approx(0.01977673)}  # 2 · 0.95⁹⁰
    assert [one.id for one in store.links(HERE, WhereLinks(kinds=["kind"]))] == ["other"]


def test_edges_that_never_fade_are_never_pruned(store: Storage) -> None:
    web = AssociationStore(store, AssociationTuning(daily=1.0))
    commit(web, "a", "b")
    later = NOON + 20_000 * DAY
    assert web.prune(HERE, later) == 0
    assert weights(web, later) == {"ab": 1.0}


# spreading


def test_a_hop_passes_its_share_and_a_path_the_product(web: AssociationStore, store: Storage) -> None:
    put_edges(store, {"ab": 1.0, "bc": 2.0, "cd": 9.0, "ae": 4.0})
    assert spread(web, "a") == {"e": 0.8, "b": 0.5, "c": 0.333333}  # 4/5, 1/2, 1/2 · 2/3
    assert spread(web, "a", depth=3) == {"e": 0.8, "b": 0.5, "c": 0.333333, "d": 0.3}  # 1/3 · 9/10
    assert spread(web, "a", depth=1) == {"e": 0.8, "b": 0.5}
    assert web.spread(HERE, "a", NOON)[2] == ("c", pytest.approx(1 / 3), ("a", "b", "c"))


def test_the_best_path_counts(web: AssociationStore, store: Storage) -> None:
    put_edges(store, {"ab": 0.25, "ac": 9.0, "cb": 9.0, "bd": 9.0})
    reached = {one.id: one for one in web.spread(HERE, "a", NOON, depth=3)}
    assert reached["b"].path == ("a", "c", "b")
    assert reached["b"].activation == pytest.approx(0.81)  # 9/10 · 9/10, the edge itself passes 0.2
    assert reached["d"].path == ("a", "c", "b", "d")
    two = {one.id: one for one in web.spread(HERE, "a", NOON, depth=2)}
    assert two["d"].path == ("a", "b", "d")
    assert two["d"].activation == pytest.approx(0.18)  # 0.2 · 9/10: three hops would be too many


def test_below_the_threshold_activation_stops(web: AssociationStore, store: Storage) -> None:
    put_edges(store, {"ab": 1.0, "bc": 1.0, "cd": 1.0, "ae": 0.17, "af": 0.18})
    assert spread(web, "a", depth=9) == {"b": 0.5, "c": 0.25, "f": 0.152542}  # d: .125, e: .145
    assert spread(web, "a", depth=9, threshold=0.125) == {"b": 0.5, "c": 0.25, "f": 0.152542, "e": 0.145299, "d": 0.125}
    assert spread(web, "a", threshold=1) == {}


@pytest.mark.parametrize("seed", range(3))
def test_leaving_weak_edges_unread_changes_no_result(web: AssociationStore, store: Storage, seed: int) -> None:
    random = Random(seed)
    ids = [f"n{n:03}" for n in range(60)]
    for step in range(60):
        hub = random.choice(ids[:3])
        commit(web, *random.sample(ids, random.randint(2, 6)), hub, now=NOON + step * DAY / 4)
    now = NOON + 20 * DAY
    edges = {(a, b): decay.transmission(weight) for a, b, weight in web.strongest(HERE, now, 10_000)}
    both = edges | {(b, a): share for (a, b), share in edges.items()}
    for origins in (ids[:1], ids[30:31], random.sample(ids, 5)):
        for depth, limit in ((1, 3), (2, 5), (2, 20), (3, 8), (5, 40)):
            best = dict.fromkeys(origins, 1.0)
            for _ in range(depth):
                best |= _hop(best, both)
            expected = sorted((best[id_] for id_ in best.keys() - set(origins)), reverse=True)
            found = web.spread(HERE, origins, now, depth=depth, limit=limit, threshold=0)
            assert [one.activation for one in found] == pytest.approx(expected[:limit])
            for one in found:
                assert one.activation == pytest.approx(_along(one.path, both))
                assert (one.path[0] in origins, one.path[-1], len(one.path) <= depth + 1) == (True, one.id, True)


def _hop(best: dict[str, float], edges: dict[tuple[str, str], float]) -> dict[str, float]:
    reached = dict(best)
    for (a, b), share in edges.items():
        reached[b] = max(reached.get(b, 0.0), best.get(a, 0.0) * share)
    return {id_: activation for id_, activation in reached.items() if activation > 0}


def _along(path: tuple[str, ...], edges: dict[tuple[str, str], float]) -> float:
    activation = 1.0
    for pair in pairwise(path):
        activation *= edges[pair]
    return activation


# bad input


def test_strengths_ids_and_bounds_are_checked(web: AssociationStore) -> None:
    for strength in (0, -1, float("nan"), float("inf"), "x", None, True):
        for ids in (["a"], []):
            with pytest.raises(InvalidInput, match="strength"):
                web.activate(ids, strength=strength)
        with pytest.raises(InvalidInput, match="strength"):
            Context({"a": strength})
    for id_ in ("", None, 7):
        with pytest.raises(InvalidInput, match="id"):
            web.activate(["a", id_])
        with pytest.raises(InvalidInput, match="id"):
            web.spread(HERE, [id_], NOON)
    for name, values in {
        "threshold": (-0.1, float("nan"), "x", 1.1),
        "depth": (-1, 101, "x", True),
        "limit": (-1, "x"),
    }.items():
        for value in values:
            with pytest.raises(InvalidInput, match=name):
                web.spread(HERE, "a", NOON, **{name: value})
