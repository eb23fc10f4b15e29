from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.graph.knowing import World
from tidal_plugins.errors import InvalidInput, NotFound


class Letters:
    """Places texts by how often they have each letter."""

    dimensions = 26

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        counts = [[text.lower().count(chr(ord("a") + place)) + 0.01 for place in range(26)] for text in texts]
        return np.array(counts, dtype=np.float32)


class Names:
    """Places names where a test wants them: Roberta beside Roberto, and Robin elsewhere."""

    dimensions = 2

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        near = [[1.0, 0.1 * (text == "roberto")] if text != "robin" else [0.0, 1.0] for text in texts]
        return np.array(near, dtype=np.float32)


def test_merged_entities_are_one_in_every_answer(world: World) -> None:
    world.say("Ada lives_in Rome", thread="one")
    world.say("Countess works_at Mill", thread="two")
    merge = world.graph.merge("Ada", "Countess")
    ada = world.graph.entity("countess")
    assert (ada.name, ada.aliases, {*world.names(ada.episodes)}) == ("Ada", ("Countess",), {"e1", "e2"})
    assert {one.name for one in world.graph.entities()} == {"Ada", "Rome", "Mill"}
    assert world.known(subject="Countess") == ["Ada lives in Rome", "Ada works at Mill"]
    assert {one.entity.name for one in world.graph.neighbours("Ada")} == {"Rome", "Mill"}
    assert [one.name for one in world.graph.search("Countess")] == ["Ada"]
    assert len(world.graph.mentions("Ada")) == 2
    assert world.graph.merges() == [merge]


def test_undo_parts_them_with_what_was_learned_of_either_since(world: World) -> None:
    world.say("Ada lives_in Rome")
    world.say("Countess works_at Mill")
    merge = world.graph.merge("Ada", "Countess")
    world.say("Countess lives_in Paris")
    undone = world.graph.undo(merge)
    assert undone.undone_at == world.clock()
    assert world.names(world.graph.entity("Ada").episodes) == ("e1",)
    assert {*world.names(world.graph.entity("Countess").episodes)} == {"e2", "e3"}
    with pytest.raises(NotFound, match="no merge"):
        world.graph.undo(merge)


def test_a_merge_settles_what_both_say_by_time_and_undo_takes_that_back(world: World) -> None:
    world.say("Ada lives_in Rome")
    world.clock.advance(days=1)
    world.say("Countess lives_in Oslo")
    merge = world.graph.merge("Ada", "Countess")
    assert world.known(predicate="lives_in") == ["Ada lives in Oslo"]
    world.graph.undo(merge.id)
    assert world.known(predicate="lives_in") == ["Ada lives in Rome", "Countess lives in Oslo"]


def test_undo_restores_what_was_true_for_no_time_at_all(world: World) -> None:
    world.say("Bea works_at Oslo\nBea works_at Rome")
    world.say("Ada works_at Oslo")
    before = world.held("Bea")
    world.graph.undo(world.graph.merge("Ada", "Bea"))
    assert world.held("Bea") == before


def test_what_is_said_of_one_of_them_contradicts_what_was_said_of_the_other(world: World) -> None:
    world.say("Ada lives_in Rome\nCountess works_at Mill")
    world.graph.merge("Ada", "Countess")
    world.clock.advance(days=1)
    world.say("Countess lives_in Oslo")
    assert world.known(predicate="lives_in") == ["Ada lives in Oslo"]


def test_an_entity_is_not_merged_into_itself(world: World) -> None:
    world.say("Ada lives_in Rome\nBea lives_in Rome")
    with pytest.raises(InvalidInput, match="one entity already"):
        world.graph.merge("Ada", "ADA")
    world.graph.merge("Ada", "Bea")
    for pair in (("Ada", "Bea"), ("Bea", "Ada")):
        with pytest.raises(InvalidInput, match="one entity already"):
            world.graph.merge(*pair)
    with pytest.raises(NotFound):
        world.graph.merge("Ada", "Zoe")


def test_merges_chain_and_part_where_they_are_undone(world: World) -> None:
    world.say("a calls x\nb calls x\nc calls x")
    first = world.graph.merge("b", "c")
    second = world.graph.merge("a", "b")
    assert {one.name for one in world.graph.entities()} == {"a", "x"}
    world.graph.undo(first)
    assert {one.name for one in world.graph.entities()} == {"a", "c", "x"}
    world.graph.undo(second)
    assert {one.name for one in world.graph.entities()} == {"a", "b", "c", "x"}


def test_forgetting_the_entity_that_others_go_by_leaves_these_together(world: World) -> None:
    world.say("a calls x", id="ea")
    world.say("b calls x\nc calls x")
    world.graph.merge("a", "b")
    world.graph.merge("a", "c")
    world.forget("ea")
    assert {one.name for one in world.graph.entities()} in ({"b", "x"}, {"c", "x"})
    assert world.graph.entity("c").id == world.graph.entity("b").id


def test_names_of_one_type_that_are_alike_are_proposed_and_never_merged(tmp_path: Path) -> None:
    world = World(tmp_path, Letters(), similarity=0.8)
    world.say("Jonathan lives_in Rome\nJonathon lives_in Rome\nZoe lives_in Oslo\ncheckout1 calls checkout2")
    [found] = world.graph.proposals()
    assert {found.first.name, found.second.name} == {"Jonathan", "Jonathon"}
    assert 0.8 <= found.similarity < 1
    assert world.graph.entity("Jonathan").id != world.graph.entity("Jonathon").id
    world.memory.close()


def test_one_name_with_two_types_is_proposed(world: World) -> None:
    world.say("Jordan lives_in Jordan")
    [found] = world.graph.proposals()
    assert (found.similarity, found.reason) == (1.0, "the same name")


def test_what_was_told_apart_is_not_proposed_again(world: World) -> None:
    world.say("Jordan lives_in Jordan")
    [found] = world.graph.proposals()
    merge = world.graph.merge(found.first.id, found.second.id)
    assert world.graph.proposals() == []
    world.graph.undo(merge)
    assert world.graph.proposals() == []


def test_names_are_compared_by_meaning(tmp_path: Path) -> None:
    world = World(tmp_path, Names())
    world.say("Roberta lives_in Rome\nRoberto lives_in Rome\nRobin lives_in Rome")
    [found] = world.graph.proposals()
    assert {found.first.name, found.second.name} == {"Roberta", "Roberto"}
    world.memory.close()


def test_proposals_are_limited(tmp_path: Path) -> None:
    world = World(tmp_path, Letters())
    world.say("\n".join(f"Personage{n:02} lives_in Town" for n in range(60)))
    assert len(world.graph.proposals(limit=5)) == 5
    world.memory.close()


def test_places_that_were_one_and_are_two_again_contradict_each_other(world: World) -> None:
    world.say("Eve likes Nyc")
    world.say("Eve likes Gotham")
    merge = world.graph.merge("Nyc", "Gotham")
    world.say("Ada lives_in Nyc", at=world.clock())
    world.clock.advance(hours=1)
    world.say("Ada lives_in Gotham", at=world.clock())
    world.clock.advance(days=3)
    world.graph.undo(merge)
    assert world.known(subject="Ada") == ["Ada lives in Gotham"]


def test_what_is_denied_of_one_of_them_ends_what_was_said_of_the_other_and_undo_parts_that(world: World) -> None:
    world.say("Ada likes Redis")
    world.clock.advance(days=1)
    world.say("Countess likes Tea")
    merge = world.graph.merge("Ada", "Countess")
    world.clock.advance(days=1)
    world.say("not Countess likes Redis")
    assert world.known() == ["Ada does not like Redis", "Ada likes Tea"]
    assert ("Ada likes Redis", 0, 2) in world.held("Ada")
    world.graph.undo(merge)
    assert world.held("Ada") == [("Ada likes Redis", 0, None)]
    assert world.known(subject="Countess") == ["Countess does not like Redis", "Countess likes Tea"]


@pytest.mark.parametrize("learned_first", [True, False])
def test_a_denial_of_an_object_that_goes_by_another_name_counts_whichever_came_first(
    world: World, learned_first: bool
) -> None:
    said = ["Ada likes Nyc", "not Ada likes Gotham"]
    world.say("Bea likes Nyc\nBea likes Gotham")
    if learned_first:
        world.say(said[0])
        merge = world.graph.merge("Nyc", "Gotham")
    else:
        merge = world.graph.merge("Nyc", "Gotham")
        world.say(said[0])
    world.clock.advance(days=1)
    world.say(said[1])
    assert world.known(subject="Ada") == ["Ada does not like Nyc"]
    world.graph.undo(merge)
    assert world.known(subject="Ada") == ["Ada does not like Gotham", "Ada likes Nyc"]
