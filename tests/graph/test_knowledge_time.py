"""When relations hold, and when they were believed to."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import permutations

import pytest

from tests.graph.knowing import World
from tidal_plugins.testing import NOON


def day(number: float) -> datetime:
    return NOON + timedelta(days=number)


def say(world: World, number: float, text: str) -> None:
    """Say something on a day, and learn it on that day."""
    world.clock.set(day(number))
    world.say(text)


def test_a_functional_predicate_closes_what_it_contradicts_and_keeps_it(world: World) -> None:
    say(world, 0, "Ada lives_in Rome")
    say(world, 5, "Ada lives_in Oslo")
    assert world.known() == ["Ada lives in Oslo"]
    assert world.held("Ada") == [("Ada lives in Rome", 0, 5), ("Ada lives in Oslo", 5, None)]
    assert world.known(valid_at=day(3)) == ["Ada lives in Rome"]
    assert world.known(valid_at=day(-1)) == []


def test_what_was_believed_at_a_time_can_be_asked_for(world: World) -> None:
    say(world, 0, "Ada lives_in Rome")
    world.clock.set(day(10))
    world.say("Ada lives_in Oslo", valid_from=day(5))
    assert world.known(valid_at=day(7), believed_at=day(9)) == ["Ada lives in Rome"]
    assert world.known(valid_at=day(7)) == ["Ada lives in Oslo"]
    assert world.known(valid_at=day(3)) == ["Ada lives in Rome"]
    assert world.known(valid_at=day(3), believed_at=day(-1)) == []
    [version] = [one for one in world.graph.timeline("Ada") if one.superseded_at]
    assert (version.valid_until, version.recorded_at, version.superseded_at) == (None, NOON, day(10))


def test_other_predicates_hold_beside_each_other(world: World) -> None:
    say(world, 0, "a calls b")
    say(world, 1, "a calls c")
    assert world.known() == ["a calls b", "a calls c"]


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("bridge is up", "bridge is down", ["bridge is down"]),
        ("bridge is up", "bridge is steel", ["bridge is steel", "bridge is up"]),
        ("bridge has_status open", "bridge has_status closing", ["bridge is closing"]),
        ("app has_version 1.2", "app has_version 1.3", ["app has version 1.3"]),
    ],
)
def test_of_is_only_what_excludes_each_other_contradicts(
    world: World, before: str, after: str, left: list[str]
) -> None:
    say(world, 0, before)
    say(world, 1, after)
    assert world.known() == left


def test_a_denial_ends_what_it_denies_and_is_ended_by_the_contrary(world: World) -> None:
    say(world, 0, "a calls b")
    say(world, 1, "not a calls b")
    assert world.known() == ["a does not call b"]
    say(world, 2, "a calls b")
    assert world.held("a") == [("a calls b", 0, 1), ("a does not call b", 1, 2), ("a calls b", 2, None)]


def test_what_comes_back_is_a_relation_of_its_own_with_its_own_evidence(world: World) -> None:
    for number, city in enumerate(["Rome", "Oslo", "Rome"]):
        say(world, number, f"Ada lives_in {city}")
    assert [held for _, *held in world.held("Ada")] == [[0, 1], [1, 2], [2, None]]
    first, _, last = [one for one in world.graph.timeline("Ada") if one.superseded_at is None]
    assert (world.names(first.episodes), world.names(last.episodes)) == (("e1",), ("e3",))


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_relations_hold_at_the_same_times_whatever_the_order_in_which_texts_are_read(
    world: World, order: tuple[int, ...]
) -> None:
    said = ["Ada lives_in Rome", "Ada lives_in Rome", "Ada lives_in Oslo", "Ada lives_in Rome"]
    for number in order:
        world.say(said[number], at=day(number - 9))
        world.clock.advance(hours=1)
    held = [("Ada lives in Rome", -9, -7), ("Ada lives in Oslo", -7, -6), ("Ada lives in Rome", -6, None)]
    assert world.held("Ada") == held


def test_a_text_may_say_until_when_something_is_true(world: World) -> None:
    world.say("a uses b", valid_from=day(-9), valid_until=day(-2))
    assert world.known() == []
    assert world.held("a") == [("a uses b", -9, -2)]


def test_an_end_that_is_said_later_ends_what_holds(world: World) -> None:
    say(world, 0, "a uses b")
    world.clock.set(day(3))
    world.say("a uses b", at=day(1), valid_until=day(2))
    assert world.held("a") == [("a uses b", 0, 2)]
    assert world.known(believed_at=day(2.5), valid_at=day(2.5)) == ["a uses b"]


def test_two_values_in_one_moment_leave_the_last_word(world: World) -> None:
    world.say("Ada lives_in Rome\nAda lives_in Oslo")
    assert world.known() == ["Ada lives in Oslo"]


def test_a_clock_that_went_back_loses_nothing(world: World) -> None:
    say(world, 5, "Ada lives_in Rome")
    world.clock.set(day(1))
    world.say("Ada lives_in Oslo", at=day(6))
    world.clock.set(day(7))
    assert world.known() == ["Ada lives in Oslo"]
    assert world.held("Ada") == [("Ada lives in Rome", 5, 6), ("Ada lives in Oslo", 6, None)]


def test_places_within_each_other_do_not_contradict(world: World) -> None:
    said = "Ada lives_in Rome"
    world.say(said)
    text = "Ada lives_in Rome-Italy"
    world.say(text)
    assert world.known() == ["Ada lives in Rome", "Ada lives in Rome-Italy"]


def test_a_status_that_changes_again_and_again_keeps_every_time(world: World) -> None:
    for number in range(40):
        world.clock.advance(hours=1)
        world.say(f"build has_status {('red', 'green')[number % 2]}")
    assert world.known() == ["build is green"]
    assert len([one for one in world.graph.timeline("build") if one.superseded_at is None]) == 40
