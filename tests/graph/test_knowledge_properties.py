"""Whatever is said, merged, parted and forgotten, no episode is lost, and nothing stays that none supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.knowing import World
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.testing import NOON

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


@settings(max_examples=20)
@given(st.lists(st.one_of(said, merging), max_size=10))
def test_merges_undoing_them_and_supersessions_lose_no_episode(steps: list[NamedTuple]) -> None:
    with lived(steps) as (world, told):
        check(world, told)


@settings(max_examples=20)
@given(st.lists(st.one_of(said, merging, forgetting), max_size=10))
def test_forgetting_takes_its_episode_from_everywhere_and_no_other(steps: list[NamedTuple]) -> None:
    with lived(steps) as (world, told):
        check(world, told)


@settings(max_examples=20)
@given(st.lists(said, max_size=8), st.lists(merging, max_size=6))
def test_undoing_every_merge_leaves_what_would_be_without_them(turns: list[Said], merges: list[NamedTuple]) -> None:
    with lived(turns) as (plain, _), lived([*turns, *merges]) as (world, _):
        while standing := [merge for merge in world.graph.merges() if merge.undone_at is None]:
            world.graph.undo(standing[0])
        names = sorted(one.name for one in plain.graph.entities())
        assert sorted(one.name for one in world.graph.entities()) == names
        for name in names:
            assert sorted(world.held(name), key=repr) == sorted(plain.held(name), key=repr)


@settings(max_examples=20)
@given(st.lists(said, max_size=8))
def test_at_any_time_a_functional_predicate_has_one_object_that_is_believed(turns: list[Said]) -> None:
    with lived(turns) as (world, _):
        for name in {one.name for one in world.graph.entities() if one.type == "person"}:
            for day in range(-10, 2):
                at = NOON + timedelta(days=day, hours=1)
                where = {"subject": name, "predicate": "lives_in", "valid_at": at}
                assert len([one for one in world.graph.relations(**where) if not one.negated]) <= 1
