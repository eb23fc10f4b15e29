"""What forgetting, merging and parting leave of the graph: no episode is lost, and nothing stays that none supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.knowing import World
from tidal_plugins import TidalMemory
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.testing import NOON, FrozenClock

# forgetting


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


def test_forget_leaves_no_bytes_of_what_was_learned(memory: TidalMemory, tmp_path: Path) -> None:
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


def test_forgetting_what_recall_found_of_a_relation_takes_the_relation(memory: TidalMemory) -> None:
    memory.record("`alpha` depends on `beta`.", "Noted.")
    memory.graph.index_pending()
    relation = memory.graph.relations(subject="alpha")[0]
    [found] = [h for h in memory.recall("alpha", kinds={"fact"}) if h.entry.metadata.get("relation") == relation.id]
    assert memory.forget(found.id).count == 1
    assert memory.graph.relations() == []
    assert {one.name for one in memory.graph.entities()} >= {"alpha", "beta"}


def test_a_time_that_only_a_forgotten_text_stated_goes_with_it(memory: TidalMemory, clock: FrozenClock) -> None:
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


# merging


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


# whatever happens

NAMES = ("Ada", "Bea", "Cid")
PLACES = ("Rome", "Oslo", "Lima")


class Said(NamedTuple):
    text: str
    day: int


class Merged(NamedTuple):
    keep: str
    absorb: str


class Undone(NamedTuple):
    number: int


class Forgotten(NamedTuple):
    number: int


lines = st.builds(
    "{}{} {} {}".format,
    st.sampled_from(["", "", "", "not "]),
    st.sampled_from(NAMES),
    st.sampled_from(["lives_in", "works_at", "likes"]),
    st.sampled_from(PLACES),
)
texts = st.lists(lines, min_size=1, max_size=3).map("\n".join)
said = st.builds(Said, texts, st.integers(0, 6))
merging = st.one_of(
    st.builds(Merged, st.sampled_from(NAMES), st.sampled_from(NAMES)), st.builds(Undone, st.integers(0, 3))
)
forgetting = st.builds(Forgotten, st.integers(0, 9))


@contextmanager
def lived(steps: Sequence[NamedTuple]) -> Iterator[tuple[World, dict[str, str]]]:
    """A world in which all of that has happened, and the texts that it was told and has not forgotten, by episode."""
    with TemporaryDirectory() as folder:
        world, told = World(Path(folder)), dict[str, str]()
        for step in steps:
            world.clock.advance(hours=1)
            do(world, told, step)
        yield world, told
        world.memory.close()


def do(world: World, told: dict[str, str], step: NamedTuple) -> None:
    if isinstance(step, Said):
        id_ = f"e{world.clock():%d%H}"
        world.say(step.text, id=id_, at=NOON - timedelta(days=9 - step.day))
        if world.turns[id_].query == step.text:  # a text that was forgotten is not captured again
            told[id_] = step.text
    elif isinstance(step, Merged):
        try:
            world.graph.merge(step.keep, step.absorb)
        except (InvalidInput, NotFound):
            return
    elif isinstance(step, Undone):
        standing = [merge for merge in world.graph.merges() if merge.undone_at is None]
        if standing:
            world.graph.undo(standing[step.number % len(standing)])
    elif isinstance(step, Forgotten) and told:
        id_ = sorted(told)[step.number % len(told)]
        del told[id_]
        world.forget(id_)


def mentions(text: str) -> set[str]:
    return {word for line in text.split("\n") for word in line.removeprefix("not ").split()[::2]}


def check(world: World, told: dict[str, str]) -> None:
    """Every episode is with everything that it names and says, and nothing else is there."""
    for name in (*NAMES, *PLACES):
        naming = {id_ for id_, text in told.items() if name in mentions(text)}
        try:
            entity = world.graph.entity(name)
        except NotFound:
            assert naming == set()
            continue
        together = {entity.name, *entity.aliases}
        assert set(world.names(entity.episodes)) == {id_ for id_, text in told.items() if together & mentions(text)}
    quoted: dict[str, set[str]] = {id_: set() for id_ in told}
    for id_ in {one.id for entity in world.graph.entities() for one in world.graph.timeline(entity.id)}:
        found = world.graph.evidence(id_)
        assert found
        assert 0 < world.graph.relation(id_).confidence <= 1
        for evidence in found:
            [episode] = world.names([evidence.episode])
            quoted[episode].add(evidence.quote)
    assert quoted == {id_: set(text.split("\n")) for id_, text in told.items()}
    naming = {evidence.episode for entity in world.graph.entities() for evidence in world.graph.mentions(entity.id)}
    assert set(world.names(naming)) == told.keys()


FEW = settings(max_examples=settings().max_examples // 4)
"""Each example is the life of a memory."""


@FEW
@given(st.lists(st.one_of(said, merging, forgetting), max_size=10))
def test_no_episode_is_lost_and_a_forgotten_one_is_nowhere(steps: list[NamedTuple]) -> None:
    with lived(steps) as (world, told):
        check(world, told)


@FEW
@given(st.lists(said, max_size=8), st.lists(merging, max_size=6))
def test_undoing_every_merge_leaves_what_would_be_without_them(turns: list[Said], merges: list[NamedTuple]) -> None:
    with lived(turns) as (plain, _), lived([*turns, *merges]) as (world, _):
        while standing := [merge for merge in world.graph.merges() if merge.undone_at is None]:
            world.graph.undo(standing[0])
        names = sorted(one.name for one in plain.graph.entities())
        assert sorted(one.name for one in world.graph.entities()) == names
        for name in names:
            assert sorted(world.held(name), key=repr) == sorted(plain.held(name), key=repr)


@FEW
@given(st.lists(said, max_size=8))
def test_at_any_time_a_functional_predicate_has_one_object_that_is_believed(turns: list[Said]) -> None:
    with lived(turns) as (world, _):
        for name in {one.name for one in world.graph.entities() if one.type == "person"}:
            for day in range(-10, 2):
                at = NOON + timedelta(days=day, hours=1)
                where = {"subject": name, "predicate": "lives_in", "valid_at": at}
                assert len([one for one in world.graph.relations(**where) if not one.negated]) <= 1
