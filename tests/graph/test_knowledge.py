"""What the graph knows: entities, relations, when they hold and were believed to, and walks along them."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import permutations

import pytest

from tests.graph.knowing import World
from tidal_plugins import Assertion, Extraction, Mention
from tidal_plugins.errors import NotFound
from tidal_plugins.model.graph import Neighbour
from tidal_plugins.testing import NOON

DAY = timedelta(days=1)


# entities


def test_an_entity_knows_every_episode_and_thread_that_names_it_the_newest_first(world: World) -> None:
    world.say("checkout depends_on billing", thread="monday")
    world.clock.advance(days=1)
    world.say("billing depends_on storage", thread="tuesday")
    world.clock.advance(days=1)
    world.say("billing calls ledger")
    billing = world.graph.entity("billing")
    assert (billing.type, billing.category) == ("module", "technical")
    assert world.names(billing.episodes) == ("e3", "e2", "e1")
    assert billing.threads == ("tuesday", "monday")
    assert (billing.first_seen, billing.last_seen) == (NOON, NOON + 2 * DAY)


def test_an_episode_and_a_thread_know_their_entities(world: World) -> None:
    world.say("checkout depends_on billing", thread="monday")
    world.say("billing depends_on storage", thread="tuesday")
    assert {one.name for one in world.graph.entities(episode=world.turns["e1"].citation)} == {"checkout", "billing"}
    assert {one.name for one in world.graph.entities(thread="tuesday")} == {"billing", "storage"}
    assert {one.name for one in world.graph.entities(thread="nobody")} == set()


def test_technical_names_are_one_only_when_they_are_exactly_the_same(world: World) -> None:
    pairs = [("Order", "order"), ("tax.py", "taxes.py"), ("v1.2", "v1.20")]
    world.say("\n".join(f"checkout depends_on {name}" for pair in pairs for name in pair))
    assert {entity.name for entity in world.graph.entities()} == {
        "checkout",
        *(name for pair in pairs for name in pair),
    }


def test_people_and_places_are_one_whatever_their_case_but_not_whatever_their_type(world: World) -> None:
    world.say("Jordan lives_in Amman\nJORDAN lives_in jordan")
    kinds = {(entity.name, entity.type) for entity in world.graph.entities()}
    assert kinds == {("Jordan", "person"), ("Amman", "place"), ("jordan", "place")}


def test_who_says_i_is_the_speaker_or_else_the_role(world: World) -> None:
    text, vim = "I use vim", Mention("vim", "tool", "technical", 6, 9)
    said = Assertion(Mention("I", "person", "contextual", 0, 1), "uses", vim, 0, len(text), 0.9)
    found = Extraction((), (said,))
    world.say(text, speaker="Ada", extraction=found)
    world.say(text, extraction=found)
    assert world.known() == ["Ada uses vim", "user uses vim"]


def test_of_several_entities_with_one_name_the_technical_one_comes_first_and_a_type_picks(world: World) -> None:
    world.say("Ada lives_in Mercury\nBob lives_in Mercury\ncheckout depends_on Mercury")
    assert world.graph.entity("mercury").type == "module"
    assert world.graph.entity("Mercury", type="place").type == "place"
    with pytest.raises(NotFound, match="no entity 'Mercury'"):
        world.graph.entity("Mercury", type="person")


def test_search_finds_entities_by_the_words_of_their_names_best_first(world: World) -> None:
    world.say("calculate_tax_liability calls tax_table\ncheckout calls print_receipt")
    assert [entity.name for entity in world.graph.search("the tax liability")] == [
        "calculate_tax_liability",
        "tax_table",
    ]
    assert world.graph.search("nothing at all") == []
    assert len(world.graph.search("tax", limit=1)) == 1


def test_named_finds_the_entities_whose_whole_name_stands_in_a_text(world: World) -> None:
    world.say("billing depends_on billing_core\ncheckout calls tax")
    found = [entity.name for entity in world.graph.named("Why does billing_core tax the taxonomy of checkouts?")]
    assert found == ["billing_core", "tax"]


# relations


def test_a_relation_leads_to_the_words_that_say_it(world: World) -> None:
    world.say("checkout depends_on billing\nbilling calls ledger", thread="monday", confidence=0.7)
    relation = world.only(subject="billing")
    [evidence] = world.graph.evidence(relation)
    episode = world.turns["e1"]
    assert (evidence.quote, evidence.episode, evidence.thread) == ("billing calls ledger", episode.id, "monday")
    assert (evidence.entry, evidence.at, evidence.confidence) == (episode.entries[0], NOON, 0.7)
    assert evidence.citation == f"[{episode.citation}]"
    assert world.graph.evidence(relation.id) == [evidence]


def test_independent_evidence_makes_surer_and_the_same_voice_in_one_episode_does_not(world: World) -> None:
    world.say("a calls b\na calls b", confidence=0.5)
    assert world.only().confidence == 0.5
    world.say("a calls b", confidence=0.5)
    assert world.only().confidence == 0.75  # 1 − 0.5 · 0.5
    assert {*world.names(world.only().episodes)} == {"e1", "e2"}


def test_what_is_learned_again_from_a_turn_that_goes_on_changes_nothing(world: World) -> None:
    world.say("Ada lives_in Rome", id="e1")
    before = world.graph.timeline("Ada")
    world.clock.advance(days=1)
    assert world.say("Ada lives_in Rome", "a calls b", id="e1").assertions == 2
    again = world.graph.timeline("Ada")
    assert [one.id for one in again] == [one.id for one in before]
    assert world.names(world.graph.relation(before[0].id).episodes) == ("e1",)
    assert len(world.graph.evidence(before[0])) == 1


def test_confidence_fades_while_nothing_confirms_it_and_not_below_the_floor(world: World) -> None:
    world.say("a calls b", confidence=0.8)
    world.clock.advance(days=180)
    assert world.only().confidence == pytest.approx(0.4)
    world.say("a calls b", confidence=0.8)
    assert world.only().confidence == pytest.approx(0.96)
    world.clock.advance(days=3600)
    assert world.only().confidence == pytest.approx(0.3)


def test_relations_are_listed_by_subject_object_predicate_episode_and_thread(world: World) -> None:
    world.say("a calls b\nb calls c", thread="one")
    world.say("a imports c", thread="two")
    assert world.known(subject="a") == ["a calls b", "a imports c"]
    assert world.known(object="c") == ["a imports c", "b calls c"]
    assert world.known(about="b", predicate="calls") == ["a calls b", "b calls c"]
    assert world.known(thread="one") == ["a calls b", "b calls c"]
    assert world.known(episode="e2") == ["a imports c"]
    assert world.known(episode="e2", thread="one") == []


# what the text does not support


def test_what_is_not_in_the_text_is_dropped_and_counted(world: World) -> None:
    text = "a calls b"
    a, b = Mention("a", "module", "technical", 0, 1), Mention("b", "module", "technical", 8, 9)
    bad = [
        Mention("c", "module", "technical", 0, 1),  # another's words
        Mention("a", "module", "technical", 0, 0),
        Mention("a", "module", "technical", -9, -8),
        Mention("a", "module", "technical", 0, 10**9),
        Mention("", "module", "technical", 0, 1),
        Mention("a", "No Type", "technical", 0, 1),
        Mention("a", "module", "magical", 0, 1),
    ]
    wrong = [Assertion(a, "calls", one, 0, 9, 0.9) for one in bad]
    wrong += [Assertion(a, "calls", b, 3, 99, 0.9), Assertion(a, "CALLS b", b, 0, 9, 0.9)]
    wrong += [Assertion(a, "calls", b, 0, 9, confidence) for confidence in (0.0, 1.1, float("nan"))]
    wrong += [Assertion(a, "calls", b, 0, 9, 0.9, valid_from=NOON, valid_until=NOON)]
    wrong += [Assertion(a, "calls", b, 0, 9, 0.9, valid_from=NOON.replace(tzinfo=None))]
    done = world.say(text, extraction=Extraction(tuple(bad), (Assertion(a, "calls", b, 0, 9, 0.9), *wrong)))
    assert done.dropped == len(bad) + len(wrong)
    assert world.known() == ["a calls b"]


# scopes and callers


def test_nothing_of_another_scope_is_seen(world: World) -> None:
    world.say("a calls b")
    relation = world.only()
    other = world.memory.scoped("elsewhere").graph
    assert (other.entities(), other.relations(), other.search("a"), other.named("a b")) == ([], [], [], [])
    assert other.export("cypher") == ""
    for ask in (other.entity, other.neighbours, other.timeline, other.impact):
        with pytest.raises(NotFound):
            ask(relation.subject)
    for ask in (other.relation, other.evidence, other.undo):
        with pytest.raises(NotFound):
            ask(relation.id)


# time

STAYS = [("Rome", 0, 2), ("Oslo", 2, 3), ("Rome", 3, None)]


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


def test_of_is_only_what_excludes_each_other_contradicts(world: World) -> None:
    for before, after, left in (
        ("bridge is up", "bridge is down", ["bridge is down"]),
        ("gate is up", "gate is steel", ["gate is steel", "gate is up"]),
        ("door has_status open", "door has_status closing", ["door is closing"]),
        ("app has_version 1.2", "app has_version 1.3", ["app has version 1.3"]),
    ):
        world.say(before)
        world.clock.advance(days=1)
        world.say(after)
        assert world.known(about=before.split()[0]) == left


def test_a_denial_ends_what_it_denies_and_is_ended_by_the_contrary(world: World) -> None:
    say(world, 0, "a calls b")
    say(world, 1, "not a calls b")
    assert world.known() == ["a does not call b"]
    say(world, 2, "a calls b")
    assert world.held("a") == [("a calls b", 0, 1), ("a does not call b", 1, 2), ("a calls b", 2, None)]


def test_relations_hold_at_the_same_times_whatever_the_order_in_which_texts_are_read(world: World) -> None:
    for order in permutations(range(4)):
        name = "N" + "".join(map(str, order))
        said = [f"{name} lives_in {place}" for place in ("Rome", "Rome", "Oslo", "Rome")]
        start = (world.clock() - NOON).days - 9
        for number in order:
            world.say(said[number], at=day(start + number))
            world.clock.advance(hours=1)
        held = [(f"{name} lives in {place}", start + a, b and start + b) for place, a, b in STAYS]
        assert world.held(name) == held, order


def test_a_text_may_say_until_when_something_is_true(world: World) -> None:
    world.say("a uses b", valid_from=day(-9), valid_until=day(-2))
    assert world.known() == []
    assert world.held("a") == [("a uses b", -9, -2)]


# walks


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


def test_places_within_each_other_do_not_contradict(world: World) -> None:
    said = "Ada lives_in Rome"
    world.say(said)
    text = "Ada lives_in Rome-Italy"
    world.say(text)
    assert world.known() == ["Ada lives in Rome", "Ada lives in Rome-Italy"]


def test_a_type_that_says_more_replaces_a_vague_one(world: World) -> None:
    for type_ in ("concept", "function", "class"):
        world.say("pay", extraction=Extraction((Mention("pay", type_, "technical", 0, 3),)))
    assert world.graph.entity("pay").type == "function"


def test_marks_around_a_technical_name_make_it_no_other(world: World) -> None:
    text = "`pay()` and pay and ./pay"
    spans = [("`pay()`", 0, 7), ("pay", 12, 15), ("./pay", 20, 25)]
    found = Extraction(tuple(Mention(name, "function", "technical", a, b) for name, a, b in spans))
    world.say(text, extraction=found)
    assert [entity.name for entity in world.graph.entities()] == ["pay"]
    assert [evidence.quote for evidence in world.graph.mentions("pay")] == ["./pay", "pay", "`pay()`"]


def test_an_end_that_is_said_later_ends_what_holds(world: World) -> None:
    say(world, 0, "a uses b")
    world.clock.set(day(3))
    world.say("a uses b", at=day(1), valid_until=day(2))
    assert world.held("a") == [("a uses b", 0, 2)]
    assert world.known(believed_at=day(2.5), valid_at=day(2.5)) == ["a uses b"]


def test_neighbours_over_one_predicate_only(world: World) -> None:
    world.say("a calls b\na imports c\nb calls d\nc calls e")
    assert names(world.graph.neighbours("a", 3, "calls")) == [("b", 1), ("d", 2)]
