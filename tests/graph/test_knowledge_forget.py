from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import OpenMemory
from tests.graph.knowing import World
from tidal_plugins import Settings
from tidal_plugins.errors import NotFound
from tidal_plugins.testing import NOON, FrozenClock


def test_what_rests_on_a_forgotten_episode_alone_goes_for_good(world: World) -> None:
    world.say("a calls b\nb calls c", id="e1")
    world.say("a calls b", id="e2")
    world.forget("e1")
    assert {one.name for one in world.graph.entities()} == {"a", "b"}
    assert world.known() == ["a calls b"]
    world.forget("e2")
    assert (world.graph.entities(), world.graph.search("a"), world.graph.relations()) == ([], [], [])
    assert world.graph.export("cypher") == ""


def test_confidence_and_episodes_are_those_of_what_is_left(world: World) -> None:
    world.say("a calls b", id="e1", confidence=0.5)
    world.say("a calls b", id="e2", confidence=0.4)
    assert world.only().confidence == pytest.approx(0.7)
    world.forget("e1")
    assert world.only().confidence == pytest.approx(0.4)
    assert world.names(world.only().episodes) == world.names(world.graph.entity("a").episodes) == ("e2",)


def test_forgetting_one_message_keeps_what_the_others_of_its_episode_say(world: World) -> None:
    world.say("a calls b", "b calls c", id="e1")
    world.forget("e1-0")
    assert world.known() == ["b calls c"]
    assert {one.name for one in world.graph.entities()} == {"b", "c"}
    assert world.names(world.graph.entity("b").episodes) == ("e1",)


def test_what_a_forgotten_text_had_ended_holds_on(world: World) -> None:
    for number, city in enumerate(["Rome", "Oslo", "Lima"]):
        world.say(f"Ada lives_in {city}", id=f"e{number}")
        world.clock.advance(days=1)
    world.forget("e1")
    assert world.held("Ada") == [("Ada lives in Rome", 0, 2), ("Ada lives in Lima", 2, None)]
    world.forget("e2")
    assert world.held("Ada") == [("Ada lives in Rome", 0, None)]


def test_what_a_forgotten_text_had_denied_holds_on(world: World) -> None:
    world.say("a calls b", id="e0")
    world.clock.advance(days=1)
    world.say("not a calls b", id="e1")
    world.forget("e1")
    assert world.known() == ["a calls b"]


def test_earlier_versions_go_with_their_relation(world: World) -> None:
    for number, city in enumerate(["Rome", "Oslo"]):
        world.say(f"Ada lives_in {city}", id=f"e{number}")
        world.clock.advance(days=1)
    world.forget("e0")
    assert {one.object for one in world.graph.timeline("Ada")} == {world.graph.entity("Oslo").id}
    with pytest.raises(NotFound):
        world.graph.entity("Rome")


def test_what_was_said_again_and_again_is_found_after_the_first_times_are_forgotten(world: World) -> None:
    for number in range(12):
        world.say(f"build is {('red', 'green')[number % 2]}", id=f"e{number}")
        world.clock.advance(days=1)
    world.forget(*(f"e{number}" for number in range(10)))
    world.say("build is green", id="last")
    assert world.held("build") == [("build is red", 10, 11), ("build is green", 11, None)]
    assert world.names(world.only().episodes) == ("last", "e11")


def test_a_relation_between_what_is_gone_has_no_words(world: World) -> None:
    world.say("a calls b", id="e1")
    relation = world.only()
    assert world.graph.sentence(relation.id) == world.graph.sentence(relation) == "a calls b"
    world.forget("e1")
    for lost in (relation, relation.id):
        with pytest.raises(NotFound):
            world.graph.sentence(lost)


def test_a_name_that_only_a_forgotten_text_wrote_so_goes(world: World) -> None:
    world.say("ADA lives_in Rome", id="e1")
    world.say("Ada lives_in Rome", id="e2")
    assert world.graph.entity("ada").name == "ADA"
    world.forget("e1")
    assert world.graph.entity("ada").name == "Ada"


def test_forget_leaves_no_bytes_of_what_was_learned(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    episode = memory.record("`zanzibar_module` depends on `quokka_module`.", "Noted.")
    memory.record("`other_module` depends on `quokka_module`.", "Noted.")
    memory.graph.index_pending()
    graph = memory.graph
    relation = graph.relations(subject="zanzibar_module")[0]
    memory.forget(episode.id)
    memory.graph.index_pending()
    assert [one.name for one in graph.search("zanzibar")] == []
    assert graph.entity("quokka_module").episodes != ()
    assert relation.id not in {hit.entry.metadata.get("relation") for hit in memory.recall("quokka", kinds={"fact"})}
    memory.close()
    for file in tmp_path.iterdir():
        assert b"zanzibar" not in file.read_bytes()


def test_forgetting_what_recall_found_of_a_relation_takes_the_relation(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    memory.record("`alpha` depends on `beta`.", "Noted.")
    memory.graph.index_pending()
    relation = memory.graph.relations(subject="alpha")[0]
    [found] = [h for h in memory.recall("alpha", kinds={"fact"}) if h.entry.metadata.get("relation") == relation.id]
    assert memory.forget(found.id).count == 1
    assert memory.graph.relations() == []
    assert {one.name for one in memory.graph.entities()} >= {"alpha", "beta"}


def test_a_time_that_only_a_forgotten_text_stated_goes_with_it(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    since = memory.record("I have lived in Kyoto since 2019.", "Noted.")
    memory.graph.index_pending()
    clock.advance(days=1)
    memory.record("I live in Kyoto.", "Noted.")
    memory.graph.index_pending()
    [before] = memory.graph.relations(predicate="lives_in")
    assert before.valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    memory.forget(since.id)
    memory.graph.index_pending()
    [after] = memory.graph.timeline(before.subject)
    assert (after.id, after.valid_from, after.valid_until) == (before.id, clock(), None)
    [entry] = [hit.entry for hit in memory.recall("Kyoto", kinds={"fact"}) if "relation" in hit.entry.metadata]
    assert entry.valid_from == clock()


def test_a_time_that_what_is_left_states_stays(world: World) -> None:
    for number in (1, 2, 3):
        world.say("Ada lives_in Rome", id=f"e{number}", valid_from=None if number == 2 else NOON - timedelta(days=9))
    world.forget("e1")
    assert world.held("Ada") == [("Ada lives in Rome", -9, None)]
    world.forget("e3")
    assert world.held("Ada") == [("Ada lives in Rome", 0, None)]


def test_an_end_that_only_a_forgotten_text_stated_goes_with_it(world: World) -> None:
    world.say("a uses b", id="e1")
    world.clock.advance(days=3)
    world.say("a uses b", id="e2", at=NOON + timedelta(days=1), valid_until=NOON + timedelta(days=2))
    assert world.known() == []
    world.forget("e2")
    assert world.held("a") == [("a uses b", 0, None)]
    assert world.known() == ["a uses b"]


def test_what_a_forgotten_beginning_had_ended_holds_on(world: World) -> None:
    world.say("Ada lives_in Rome", id="e1", at=NOON - timedelta(days=9))
    world.say("Ada lives_in Oslo", id="e2", valid_from=NOON - timedelta(days=5))
    world.clock.advance(days=1)
    world.say("Ada lives_in Oslo", id="e3")
    assert world.held("Ada") == [("Ada lives in Rome", -9, -5), ("Ada lives in Oslo", -5, None)]
    world.forget("e2")
    assert world.held("Ada") == [("Ada lives in Rome", -9, 1), ("Ada lives in Oslo", 1, None)]


def test_what_is_left_of_a_time_that_another_ended_holds_as_if_the_forgotten_had_never_been(world: World) -> None:
    world.say("Ada lives_in Kyoto", id="e1", valid_from=NOON - timedelta(days=900))
    world.clock.advance(days=1)
    world.say("Ada lives_in Kyoto", id="e2")
    world.clock.advance(days=1)
    world.say("Ada lives_in Oslo", id="e3", valid_from=NOON - timedelta(days=500))
    assert world.held("Ada") == [("Ada lives in Kyoto", -900, -500), ("Ada lives in Oslo", -500, None)]
    world.forget("e1")
    assert world.held("Ada") == [("Ada lives in Oslo", -500, 1), ("Ada lives in Kyoto", 1, None)]
    for one in world.graph.timeline("Ada"):
        assert one.valid_from
        assert one.valid_until is None or one.valid_from <= one.valid_until
