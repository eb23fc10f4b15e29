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


# merging


class Letters:
    """Places texts by how often they have each letter."""

    dimensions = 26

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        counts = [[text.lower().count(chr(ord("a") + place)) + 0.01 for place in range(26)] for text in texts]
        return np.array(counts, dtype=np.float32)


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


def test_names_of_one_type_that_are_alike_are_proposed_and_never_merged(tmp_path: Path) -> None:
    world = World(tmp_path, Letters(), similarity=0.4)
    world.say("Jonathan lives_in Rome\nJonathon lives_in Rome\nZoe lives_in Oslo\ncheckout1 calls checkout2")
    [found] = world.graph.proposals()
    assert {found.first.name, found.second.name} == {"Jonathan", "Jonathon"}
    assert 0.4 <= found.similarity < 1
    assert world.graph.entity("Jonathan").id != world.graph.entity("Jonathon").id
    world.memory.close()


def test_what_was_told_apart_is_not_proposed_again(world: World) -> None:
    world.say("Jordan lives_in Jordan")
    [found] = world.graph.proposals()
    merge = world.graph.merge(found.first.id, found.second.id)
    assert world.graph.proposals() == []
    world.graph.undo(merge)
    assert world.graph.proposals() == []


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
