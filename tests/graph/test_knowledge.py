from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.graph.knowing import World
from tidal_plugins import Assertion, Extraction, Mention
from tidal_plugins.errors import InvalidInput, NotFound
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


@pytest.mark.parametrize(("one", "other"), [("Order", "order"), ("tax.py", "taxes.py"), ("v1.2", "v1.20")])
def test_technical_names_are_one_only_when_they_are_exactly_the_same(world: World, one: str, other: str) -> None:
    world.say(f"checkout depends_on {one}\ncheckout depends_on {other}")
    assert {entity.name for entity in world.graph.entities()} == {"checkout", one, other}


def test_marks_around_a_technical_name_make_it_no_other(world: World) -> None:
    text = "`pay()` and pay and ./pay"
    spans = [("`pay()`", 0, 7), ("pay", 12, 15), ("./pay", 20, 25)]
    found = Extraction(tuple(Mention(name, "function", "technical", a, b) for name, a, b in spans))
    world.say(text, extraction=found)
    assert [entity.name for entity in world.graph.entities()] == ["pay"]
    assert [evidence.quote for evidence in world.graph.mentions("pay")] == ["./pay", "pay", "`pay()`"]


def test_people_and_places_are_one_whatever_their_case_but_not_whatever_their_type(world: World) -> None:
    world.say("Jordan lives_in Amman\nJORDAN lives_in jordan")
    kinds = {(entity.name, entity.type) for entity in world.graph.entities()}
    assert kinds == {("Jordan", "person"), ("Amman", "place"), ("jordan", "place")}


def test_who_says_i_is_the_speaker_or_else_the_role(world: World) -> None:
    text = "I use vim"
    found = Extraction(
        (), (Assertion(Mention("I", "person", "contextual", 0, 1), "uses", _vim(text), 0, len(text), 0.9),)
    )
    world.say(text, speaker="Ada", extraction=found)
    world.say(text, extraction=found)
    assert world.known() == ["Ada uses vim", "user uses vim"]


def test_a_type_that_says_more_replaces_a_vague_one(world: World) -> None:
    for type_ in ("concept", "function", "class"):
        world.say("pay", extraction=Extraction((Mention("pay", type_, "technical", 0, 3),)))
    assert world.graph.entity("pay").type == "function"


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


def test_what_is_denied_is_known_as_denied(world: World) -> None:
    world.say("not a calls b")
    assert world.known() == ["a does not call b"]
    assert world.only().negated


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
        Mention("a", "module", "magical", 0, 1),  # type: ignore[arg-type]
    ]
    wrong = [Assertion(a, "calls", one, 0, 9, 0.9) for one in bad]
    wrong += [Assertion(a, "calls", b, 3, 99, 0.9), Assertion(a, "CALLS b", b, 0, 9, 0.9)]
    wrong += [Assertion(a, "calls", b, 0, 9, confidence) for confidence in (0.0, 1.1, float("nan"))]
    wrong += [Assertion(a, "calls", b, 0, 9, 0.9, valid_from=NOON, valid_until=NOON)]
    wrong += [Assertion(a, "calls", b, 0, 9, 0.9, valid_from=NOON.replace(tzinfo=None))]
    done = world.say(text, extraction=Extraction(tuple(bad), (Assertion(a, "calls", b, 0, 9, 0.9), *wrong)))
    assert done.dropped == len(bad) + len(wrong)
    assert world.known() == ["a calls b"]


def test_more_than_the_limit_of_one_message_is_dropped_and_counted(tmp_path: Path) -> None:
    world = World(tmp_path, max_assertions=2, max_mentions=1)
    assert world.say("a calls b\nb calls c\nc calls d").dropped == 1 + 5
    assert world.known() == ["a calls b", "b calls c"]
    world.memory.close()


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


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_what_is_no_name_is_refused(world: World, name: object) -> None:
    with pytest.raises(InvalidInput, match="name or id"):
        world.graph.entity(name)  # type: ignore[arg-type]


async def test_every_method_has_an_async_twin_that_does_the_same(world: World) -> None:
    world.say("a calls b")
    assert await world.graph.arelations() == world.graph.relations()
    public = [name for name in dir(type(world.graph)) if not name.startswith("_")]
    methods = [name for name in public if "a" + name in public]
    assert len(methods) * 2 == len(public)


def _vim(text: str) -> Mention:
    at = text.index("vim")
    return Mention("vim", "tool", "technical", at, at + 3)


@pytest.mark.parametrize("given", [None, 1, [], b"x"])
def test_what_is_no_relation_has_no_words(world: World, given: object) -> None:
    with pytest.raises(InvalidInput, match="relation is given"):
        world.graph.sentence(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["a", -1, 1.5, True])
@pytest.mark.parametrize("ask", ["entities", "relations", "proposals", "search", "named", "neighbours", "impact"])
def test_a_limit_that_is_no_number_is_refused(world: World, ask: str, limit: object) -> None:
    world.say("a calls b")
    given = [] if ask in ("entities", "relations", "proposals") else ["a"]
    with pytest.raises(InvalidInput, match="limit must be a whole number"):
        getattr(world.graph, ask)(*given, limit=limit)


def test_a_limit_beyond_all_numbers_is_none(world: World) -> None:
    world.say("a calls b")
    assert len(world.graph.relations(limit=10**30)) == 1
    assert len(world.graph.entities(limit=10**30)) == 2
