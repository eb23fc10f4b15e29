from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.graph.knowing import World
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.graph import Neighbour
from tidal_plugins.testing import NOON


def names(found: list[Neighbour]) -> list[tuple[str, int]]:
    return [(one.entity.name, one.distance) for one in found]


def test_neighbours_come_the_nearest_first_then_the_surest_with_their_paths(world: World) -> None:
    world.say("a calls b", confidence=0.5)
    world.say("c depends_on a\nb calls d", confidence=0.9)
    assert names(world.graph.neighbours("a")) == [("c", 1), ("b", 1)]
    found = world.graph.neighbours("a", 2)
    assert names(found) == [("c", 1), ("b", 1), ("d", 2)]
    assert [world.graph.sentence(one) for one in found[2].path] == ["a calls b", "b calls d"]
    assert names(world.graph.neighbours("a", 2, limit=2)) == [("c", 1), ("b", 1)]
    assert world.graph.neighbours("a", 0) == []


def test_neighbours_over_one_predicate_only(world: World) -> None:
    world.say("a calls b\na imports c\nb calls d\nc calls e")
    assert names(world.graph.neighbours("a", 3, "calls")) == [("b", 1), ("d", 2)]


def test_neighbours_as_of_a_time(world: World) -> None:
    world.say("Ada lives_in Rome")
    world.clock.advance(days=5)
    world.say("Ada lives_in Oslo")
    assert names(world.graph.neighbours("Ada")) == [("Oslo", 1)]
    assert names(world.graph.neighbours("Ada", valid_at=NOON)) == [("Rome", 1)]
    early = NOON + timedelta(days=1)
    [found] = world.graph.neighbours("Ada", believed_at=early, valid_at=NOON + timedelta(days=9))
    assert found.entity.name == "Rome"
    assert found.path[0].superseded_at == NOON + timedelta(days=5)


def test_what_is_denied_leads_nowhere(world: World) -> None:
    world.say("not a calls b\na calls c")
    assert names(world.graph.neighbours("a")) == [("c", 1)]
    assert world.graph.path("a", "b") is None
    assert world.graph.impact("b") == []


def test_impact_is_all_that_depends_on_something_with_the_way_it_does(world: World) -> None:
    world.say(
        "checkout uses billing\nbilling imports InventoryItem\nreport calls InventoryItem\nInventoryItem uses uuid"
    )
    world.say("readme contains InventoryItem")
    found = world.graph.impact("InventoryItem")
    assert names(found) == [("billing", 1), ("report", 1), ("checkout", 2)]
    assert [world.graph.sentence(one) for one in found[2].path] == [
        "billing imports InventoryItem",
        "checkout uses billing",
    ]
    assert names(world.graph.impact("InventoryItem", depth=1)) == [("billing", 1), ("report", 1)]
    assert names(world.graph.impact("InventoryItem", predicates=["contains"])) == [("readme", 1)]
    assert len(world.graph.impact("InventoryItem", limit=1)) == 1


def test_cycles_and_loops_end(world: World) -> None:
    world.say("a depends_on b\nb depends_on c\nc depends_on a\na calls a")
    assert names(world.graph.impact("a")) == [("c", 1), ("b", 2)]
    assert set(names(world.graph.neighbours("a", 10))) == {("b", 1), ("c", 1)}
    assert world.graph.path("a", "a") == []


def test_a_path_is_a_shortest_one_whichever_way_its_relations_point(world: World) -> None:
    world.say("a calls b\nc calls b\nc calls d\na calls e\ne calls f\nf calls g\ng calls d")
    found = world.graph.path("a", "d")
    assert found is not None
    assert [world.graph.sentence(one) for one in found] == ["a calls b", "c calls b", "c calls d"]
    assert world.graph.path("a", "d", depth=2) is None
    world.say("x calls y")
    assert world.graph.path("a", "x") is None


def test_of_a_busy_entity_the_surest_relations_are_followed(tmp_path: Path) -> None:
    world = World(tmp_path, each=3)
    for number in range(9):
        world.say(f"hub calls n{number}", confidence=(number + 1) / 10)
    assert names(world.graph.neighbours("hub")) == [("n8", 1), ("n7", 1), ("n6", 1)]
    assert len(world.graph.impact("n0")) == 1
    world.memory.close()


def test_walks_refuse_what_is_no_depth_and_names_that_are_not_known(world: World) -> None:
    world.say("a calls b")
    for depth in (-1, 11, 1.5, True):
        with pytest.raises(InvalidInput, match="depth"):
            world.graph.neighbours("a", depth)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="collection"):
        world.graph.impact("a", predicates="calls")
    with pytest.raises(InvalidInput, match="valid_at"):
        world.graph.neighbours("a", valid_at=NOON.replace(tzinfo=None))
    with pytest.raises(NotFound, match=r"graph\.search"):
        world.graph.path("a", "z")
