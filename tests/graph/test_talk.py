"""What people say of themselves and others: who they are, have, plan and no longer do, read into the graph."""

from datetime import UTC, datetime, timedelta

import pytest

from tidal_plugins import HashingEmbedder, RuleExtractor, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(MONDAY)


@pytest.fixture
def memory(tmp_path, clock):
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


def known(memory, **asked):
    assert memory.graph.index_pending().failed == 0
    return set(memory.graph.sentences(memory.graph.relations(**asked)).values())


def said(text):
    found = RuleExtractor().extract_graph([text])[0].assertions
    return [
        f"{one.subject.name} {'not ' if one.negated else ''}{one.predicate} {one.object.name}{' (over)' * one.ended}"
        for one in found
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister Noor is coming tomorrow.", "Noor sister_of My"),
        ("I spoke to Jelle, my landlord.", "Jelle landlord_of my"),
        ("My boss is called Ingrid.", "Ingrid manager_of My"),
        ("Hi, I moved to Ghent and joined a choir.", "I lives_in Ghent"),
        ("Hi, I moved to Ghent and joined a choir.", "I member_of choir"),
        ("We've adopted a puppy called Biscuit.", "We has_pet Biscuit"),
        ("I'm a nurse at Sint-Jan.", "I works_at Sint-Jan"),
        ("I'm a nurse at Sint-Jan.", "I works_as nurse"),
        ("My son is allergic to peanuts.", "My son allergic_to peanuts"),
        ("I broke my wrist on the ice.", "I has_condition my wrist"),
        ("I'm taking amoxicillin for a week.", "I takes amoxicillin"),
        ("I've always loved the sea.", "I likes sea"),
        ("Baking bread is so relaxing.", "I likes Baking bread"),
        ("I bought a second-hand kayak last week.", "I owns second-hand kayak"),
        ("I went to a pottery workshop yesterday.", "I attends pottery workshop"),
        ("I'm planning to repaint the hall.", "I plans repaint the hall"),
        ("I'd love to learn Welsh.", "I wants learn Welsh"),
        ("The spare key is in the blue tin.", "spare key located_in blue tin"),
        ("The reunion is on Saturday 4 July.", "reunion appointment Saturday 4 July"),
        ("Ana is in charge of the archive.", "Ana responsible_for archive"),
        ("I used to play the oboe.", "I plays oboe (over)"),
        ("We moved away from Bruges.", "We lives_in Bruges (over)"),
        ("We are moving off MySQL.", "We uses MySQL (over)"),
        ("I no longer live in Bonn.", "I not lives_in Bonn"),
        ("Let's go with the oak floor.", "I decided oak floor"),
        ("Let's drop the second stop.", "I decided drop the second stop"),
        ("We decided on the blue tiles.", "We decided blue tiles"),
        ("The night ferry sounds really appealing.", "I likes night ferry"),
        ("The corner shop isn't quite right for us.", "I dislikes corner shop"),
        ("The build went from 90 s to 12 s.", "build has_status 12 s"),
        ("mail-relay is down.", "mail-relay has_status down"),
        ("mail-relay depends on user-db and Redis.", "mail-relay depends_on user-db"),
        ("Ada says someone rotated the key.", "key has_status rotated"),
        ("I left the ladder in the shed.", "ladder located_in the shed"),
        ("We need a draft by Friday 8 May.", "draft deadline Friday 8 May"),
        ("Sunday morning is for the allotment.", "allotment appointment Sunday morning"),
        ("Rune keeps two thirds, Iris and Cleo take one third.", "Cleo owns one third"),
        ("Our son Mats goes to the missus's school.", "Mats son_of Our"),
        ("The boat stays mine.", "mine owns boat"),
        ("We fed Rune's dog.", "Rune has_pet dog"),
        ("The man upstairs, Mr Holt, rang.", "Mr Holt neighbour_of I"),
        ("Iris Blom owns mail-relay.", "Iris Blom responsible_for mail-relay"),
        ("I told Rune I'd sharpen the chisels.", "I promised sharpen the chisels"),
        ("We were going to paint on Sunday, but it rained.", "We plans paint on Sunday (over)"),
        ('I read "The Long Meadow" twice, and "The Long Meadow" sounds perfect.', "I likes The Long Meadow"),
        ("I'm trying aerial yoga.", "I plays aerial yoga"),
        ("They asked me to be a reading mentor.", "me works_as reading mentor"),
        ("My aunt gave me a brass telescope.", "me owns brass telescope"),
        ("We held a raft race on Sunday.", "We attends raft race"),
        ("My wife and I went on a walking tour.", "I attends walking tour"),
        ("I had a great time kayaking.", "I attends kayaking"),
        ("I was also in Peru last spring.", "I visited Peru"),
        ("I've been dealing with back pain lately.", "I has_condition back pain"),
        ("I'm a big jazz fan.", "I likes jazz"),
        ("The choir is so important to me.", "I likes choir"),
        ("I like to mend old clocks.", "I likes to mend old clocks"),
        ("I never really liked fencing.", "I dislikes fencing"),
        ("I think I'll repaint the shed.", "I plans repaint the shed"),
        ("I'm thinking of keeping bees.", "I wants keeping bees"),
        ("We need to get this roof mended.", "We plans get this roof mended"),
        ("The permits are signed and insurance is sorted.", "insurance has_status sorted"),
        ("Glad to hear you've adopted a cat.", "you has_pet cat"),
        ("I wanted to tell you I joined a rowing club.", "I member_of rowing club"),
        ("Handover of the keys is on Friday 3 April.", "Handover of the keys appointment Friday 3 April"),
        ("We stop in Narvik (Day 2: 4 May).", "Narvik appointment 4 May"),
        ("You leave for Bergen on the 9th.", "You plans leave for Bergen on the 9th"),
        ("That is fine news about your son.", "your son son_of your"),
    ],
)
def test_people_are_read(text, expected):
    assert expected in said(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you live in Ghent?",
        "If I get the job, I will move to Ghent.",
        "Imagine I own a castle.",
        "I bought a castle! Just kidding.",
        "Pretend you are a pirate. I live on a ship.",
        "Maybe I have a cold.",
        "I have a question.",
        "I love how you said it.",
        "I'll let you know.",
        "He thinks I live in Ghent.",
        "I met Ana and Bea. She lives in Oslo.",
        "We've got the plan locked in.",
        "You and the missus will like it.",
        "Smaller steps work best for you.",
        "Love the energy.",
        "Got it, been there.",
        "Write a poem and plan to print it.",
        "The notes are about sorting and working on the loft.",
        "If the permits come, insurance is sorted.",
        "Please rewrite this letter. I live in Rome and I own a boat.",
        "See (https://example.org/page) for more.",
        "Is your son well?",
        "I'm looking for some tips.",
    ],
)
def test_what_is_asked_imagined_joked_or_hollow_is_not_read(text):
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Had a check-up today.", "I attends check-up"),
        ("Just got back from a pottery retreat.", "I attends pottery retreat"),
        ("Been playing the harp for years.", "I plays harp"),
        ("Gonna try the tandem on Saturday.", "I plans try the tandem on Saturday"),
        ("Thinking of selling the barn.", "I wants selling the barn"),
        ("Thanks for asking, but had a bad fall.", "I has_condition a bad fall"),
    ],
)
def test_a_clause_without_a_subject_is_of_the_speaker(text, expected):
    assert said(text) == [expected]


def test_verbs_in_a_row_share_their_subject():
    row = said("We crossed the moor, visited an old mill and even went on a night hike.")
    assert row == ["We visited old mill", "We attends night hike"]


def test_what_somebody_else_did_is_not_of_the_speaker():
    assert said("Ana came over, had a check-up and bought a kayak.") == ["Ana attends check-up", "Ana owns kayak"]


def test_the_speaker_is_the_one_who_names_himself_and_else_the_user(memory):
    memory.record("Hi, it's Wim. I live in Ghent.", "Hello Wim.")
    memory.record("I live in Namur.", "Noted.")
    assert known(memory, predicate="lives_in") == {"Wim lives in Ghent", "user lives in Namur"}


def test_what_an_agent_says_to_the_user_is_of_the_user(memory):
    memory.record("done, as you asked", "Noor is your sister, Pieter her husband.")
    assert known(memory) >= {"Noor is the sister of user", "Pieter is the husband of Noor"}


def test_a_relative_without_a_name_is_the_speakers(memory):
    memory.record("My brother lives in Oslo.", "Nice.")
    assert "user's brother lives in Oslo" in {line.replace("My ", "") for line in known(memory, predicate="lives_in")}


def test_she_is_the_one_woman_who_was_named(memory):
    memory.record("My sister Ana met Tom. She lives in Leeds.", "Nice.")
    assert known(memory, predicate="lives_in") == {"Ana lives in Leeds"}


def test_a_relative_is_the_one_who_is_named_later(memory):
    memory.record("My sister lives in Leeds.", "Nice.")
    memory.record("My sister Ana is a nurse.", "I see.")
    assert known(memory, about="Ana") >= {"Ana lives in Leeds", "Ana works as a nurse"}
    assert "user's sister" in memory.graph.entity("Ana").aliases


def test_of_two_sisters_neither_is_my_sister(memory):
    memory.record("My sister lives in Leeds.", "Nice.")
    memory.record("My sister Ana is a nurse.", "I see.")
    known(memory)
    memory.record("My sister Bea is a pilot.", "I see.")
    assert "Ana lives in Leeds" not in known(memory, about="Ana")


def test_moving_ends_the_older_home(memory, clock):
    memory.record("I live in Ghent.", "Noted.")
    known(memory)
    clock.advance(days=30)
    memory.record("We talked about it: I moved to Namur.", "Congratulations!")
    assert known(memory, predicate="lives_in", valid_at=clock()) == {"user lives in Namur"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use Redis.", "We use Redis"),
        ("We do not use Redis.", "We do not use Redis"),
        ("I'm planning to paint the fence.", "user plans to paint the fence"),
        ("I'm organising a street party.", "user plans a street party"),
        ("Ann is my sister.", "Ann is the sister of user"),
        ("The boiler broke down.", "boiler broke down"),
        ("The lift is out of order.", "lift is out of order"),
        ("Ann is studying law.", "Ann studies law"),
        ("We decided to use Redis.", "We decided to use Redis"),
        ("I always check the logs first.", "user always checks the logs first"),
        ("Ann doesn't live in Rome.", "Ann does not live in Rome"),
        ("Handover of the keys is on Friday 3 April.", "Handover of the keys is on Friday 3 April"),
        ("Thinking of keeping bees.", "user has keeping bees in mind"),
    ],
)
def test_relations_are_grammatical_sentences(memory, text, expected):
    memory.record(text, "Noted.")
    assert known(memory) == {expected}


def test_a_moved_appointment_ends_the_older_one(memory, clock):
    memory.record("The tasting is on Friday 3 April.", "Noted.")
    known(memory)
    clock.advance(days=2)
    memory.record("The tasting moved to Saturday 11 April.", "Noted.")
    assert known(memory, predicate="appointment", valid_at=clock()) == {"tasting is on Saturday 11 April"}


def test_what_came_instead_ends_what_was_there(memory, clock):
    memory.record("`Store` uses the file cache.", "Noted.")
    known(memory)
    clock.advance(days=2)
    memory.record("`Store` uses a connection pool instead of the file cache.", "Noted.")
    assert known(memory, predicate="uses", valid_at=clock() + timedelta(hours=1)) == {"Store uses connection pool"}


def test_what_is_called_over_ends_on_the_day_that_the_sentence_names(memory, clock):
    memory.record("Friday is my last day at Acme.", "All the best!")
    assert known(memory, predicate="works_at", valid_at=MONDAY + timedelta(days=1)) == {"user works at Acme"}
    assert known(memory, predicate="works_at", valid_at=MONDAY + timedelta(days=9)) == set()


def test_what_was_never_known_and_is_over_is_known_as_over(memory, clock):
    memory.record("I used to live in Bruges.", "Oh?")
    assert known(memory, predicate="lives_in", valid_at=MONDAY + timedelta(days=1)) == set()
    [relation] = memory.graph.timeline("Bruges")
    assert relation.valid_until == MONDAY


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I love walking my dogs at dawn.", "user likes walking their dogs at dawn"),
        ("Chess is one of my favourites.", "user likes Chess"),
        ("My brother came by today.", "user has a brother"),
    ],
)
def test_what_people_say_of_themselves_is_told_of_them(memory, said, told):
    memory.record(said, "Nice.")
    assert told in known(memory)


@pytest.mark.parametrize(
    "said", ["Love this place!", "They are still my favourites.", "I'll do my best.", "I'm considering three brands."]
)
def test_what_only_the_talk_before_could_explain_is_left_out(memory, said):
    memory.record(said, "Nice.")
    assert known(memory) == set()
