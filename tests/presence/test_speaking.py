"""What the memory says first, when, and what it never says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.presence.conftest import DEBT, DINNER
from tidal_plugins import Settings
from tidal_plugins.testing import NOON

EAGER = Settings(presence={"threshold": 0.3})
SHED = "I still have to repair the lock of the garden shed."

MARCH = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 32)]


def test_what_is_due_tomorrow_is_brought_up_once_by_day(days):
    said_at = days.say(DEBT)
    [message] = days.pass_by(days=14)
    assert message.text == "You wanted to pay the plumber 80 euros by Thursday; that is tomorrow."
    assert (message.kind, message.status) == ("task", "taken")
    assert message.at == datetime(2026, 3, 4, 8, tzinfo=UTC)
    assert message.citations == (days.memory.episodes[said_at.id].citation,)
    assert "something is due" in message.why
    assert "absence 0.300" in message.why
    days.say("When does the parking permit of the van end?", "I will remind you on 20 March to renew the van's permit.")
    [promise] = days.pass_by(days=8)
    assert (promise.kind, promise.at.date()) == ("promise", MARCH[19].date())
    assert promise.text.startswith("I said on Sunday: “I will remind you on 20 March")


def test_a_plan_is_brought_up_the_day_before_in_the_words_in_which_it_was_said(days):
    days.say(DINNER)
    [message] = days.pass_by(days=12)
    assert message.text.startswith("You said on Sunday: “We have dinner with Tomas and Rea at the harbour on Friday")
    assert message.text.endswith("That is tomorrow.")
    assert (message.kind, message.at) == ("plan", datetime(2026, 3, 5, 8, tzinfo=UTC))


def test_a_question_without_an_answer_waits_for_the_gate(days):
    days.say("If I ask about chapters you send me away, understood?", "Understood.")
    days.say("Who repaired the old church bell in 1911?", "I don't know who repaired it.")
    state = days.memory.presence.step().state
    assert [one.kind for one in state.threads] == ["question"]
    assert days.pass_by(days=4) == []
    assert "the gate is closed" in str(days.memory.presence.why())


def test_what_has_been_open_for_long_is_said_when_the_gate_opens_and_cools_if_nobody_answers(allowed):
    days = allowed(EAGER, cooldown=timedelta(hours=36))
    days.say(SHED)
    days.clock.advance(minutes=2)
    days.say("I have to write to the museum about the brass lamp.")
    while not (first := days.pass_by(hours=4)):
        pass
    assert first[0].text.endswith("As far as I know that is still open.")
    assert "the gate is open" in first[0].why
    assert first[0].at - MARCH[0] >= timedelta(hours=72)
    before = {one.id: one.salience for one in days.memory.presence.state().threads}
    days.pass_by(hours=26)
    assert [one.status for one in days.memory.presence.messages()] == ["ignored"]
    after = {one.id: one.salience for one in days.memory.presence.state().threads}
    assert min(after[id_] / before[id_] for id_ in before) < 0.51
    [second] = days.pass_by(days=6)[:1]
    assert second.at - first[0].at >= timedelta(hours=72), "twice as long as the cooldown"


OFF = {
    "Never mind about the plumber, my wife pays him.": DEBT,
    "Please don't remind me about the plumber any more.": DEBT,
    "I paid the plumber his 80 euros.": DEBT,
    "The dinner is not happening after all.": DINNER,
    "Tomas cancelled.": DINNER,
    "The dinner on Friday is cancelled.": DINNER,
    "The dinner with Tomas moved to 20 March.": DINNER,
    "The harbour dinner moves from Friday 6 March to Friday 13 March.": DINNER,
}


@pytest.mark.parametrize("later", OFF)
def test_what_is_done_off_moved_or_unwanted_is_not_brought_up_for_its_day(days, later):
    days.say(OFF[later])
    days.pass_by(hours=20)
    days.say(later)
    assert [one for one in days.until(MARCH[7]) if "plumber" in one.text or "harbour" in one.text] == []


def test_what_is_done_told_of_others_said_in_despair_or_beside_a_secret_is_not_brought_up(days):
    for said in (
        "I needed to pay the plumber 80 euros by Thursday, but that's done.",
        "In my novel Anna must pay the count 80 crowns by Thursday.",
        "In our game we attack the castle of the orcs with Tomas on Friday.",
        "I have decided to end my life on the bridge on Friday.",
        "We meet the doctor about Rea's overdose on Friday.",
        "I need to pay the gardener by Thursday, my password is hunter2-Kestrel-91.",
    ):
        days.say(said)
        days.clock.advance(minutes=3)
    days.memory.remember("I need to pay the grocer 80 euros by Thursday.", kind="kb", source="letter.txt")
    forgotten = days.say("I need to return the library books by Thursday.")
    days.memory.forget(forgotten.id)
    assert days.pass_by(days=8) == []


@pytest.mark.parametrize("later", ["I must not forget to pay the plumber the 80 euros by Thursday.",
                                   "Don't forget about the plumber!",
                                   "I saw the plumber with 80 balloons, I can't believe it!"])  # fmt: skip
def test_what_is_still_wanted_is_said_once_whatever_the_words(days, later):
    days.say(DEBT)
    days.pass_by(hours=3)
    days.say(later)
    assert len(days.pass_by(days=10)) == 1


@pytest.mark.parametrize(
    "after", [" But this Friday isn't possible.", "Hm, no, I can't Friday, Rea has her operation."]
)
def test_a_plan_whose_day_is_refused_in_the_same_talk_is_not_brought_up(days, after):
    if after.startswith(" "):
        days.say(DINNER + after)
    else:
        days.say(DINNER)
        days.clock.advance(minutes=3)
        days.say(after)
    assert days.pass_by(days=7) == []


def test_what_is_announced_or_said_beside_a_day_is_not_brought_up_as_open_for_long(allowed):
    days = allowed(EAGER)
    days.say("I'll ask Quirin about the crack in the garden wall, hang on.")
    days.say("I need to see it *now*, not later, the draft of the garden plan!")
    work = "The partner settles payments daily. Faster settlement needs an account. It settles such payments faster."
    days.say("I need to know if the partner allows faster settlement of the payments.", work)
    days.clock.advance(minutes=2)
    days.say(
        "Rea has her birthday on Sunday 12 April. Remind me to order the lemon cake from Bronwen a fortnight before."
    )
    assert days.pass_by(days=9) == []


def test_several_things_that_are_due_are_one_message(days):
    days.say(DEBT)
    days.pass_by(hours=1)
    days.say("I need to return the library books about bees by Thursday.")
    [message] = days.pass_by(days=10)
    assert "plumber" in message.text
    assert "library books" in message.text
    assert len(message.citations) == 2


def test_a_promise_that_does_not_say_of_what_brings_up_the_task(days):
    days.say("Remind me to send the contract to Nils by Thursday.", "I will remind you on Tuesday.")
    [message] = days.pass_by(days=10)
    assert message.text == "You asked me to remind you to send the contract to Nils by Thursday; that is on Thursday."
    assert message.at == datetime(2026, 3, 3, 8, tzinfo=UTC)


@pytest.mark.parametrize("secret", ["", " My password is hunter2-Kestrel-91."])
def test_what_was_done_of_it_since_is_said_with_it_but_not_beside_a_secret(days, secret):
    days.say("I have to pay Wouter 300 euros by 12 March.")
    days.pass_by(hours=40)
    later = days.say(f"I gave Wouter 100 already{',' + secret.lower() if secret else '.'}")
    [message] = days.pass_by(days=12)
    told = "You wanted to pay Wouter 300 euros by 12 March; that is tomorrow."
    if secret:
        assert message.text == told
        return
    assert message.text == f"{told} Since then, on 3 March, you said: “I gave Wouter 100 already.”"
    assert days.memory.episodes[later.id].citation in message.citations
    days.memory.forget(later.id)
    assert days.memory.presence.messages() == []


def test_a_message_that_nobody_takes_expires_at_the_end_of_its_day(days):
    days.say(DEBT)
    while days.memory.presence.step().message is None:
        days.clock.advance(hours=1)
    assert days.memory.presence.step().message
    days.clock.set(MARCH[4] + timedelta(minutes=1))
    assert days.memory.presence.take() is None
    assert days.memory.presence.step().message is None
    assert [one.status for one in days.memory.presence.messages()] == ["expired"]


def test_a_message_that_could_not_be_delivered_waits_again_unless_it_was_judged_or_forgotten(days):
    episode = days.say(DEBT)
    [message] = days.until(datetime(2026, 3, 4, 9, tzinfo=UTC))
    assert days.memory.presence.take() is None
    assert days.memory.presence.give_back(message)
    again = days.memory.presence.take()
    assert again
    assert (again.id, again.text) == (message.id, message.text)
    days.clock.advance(minutes=5)
    days.say("Thanks, I will pay the plumber now.")
    days.memory.presence.step()
    assert not days.memory.presence.give_back(message)
    days.memory.forget(episode.id)
    assert not days.memory.presence.give_back(message)
    assert not days.memory.presence.give_back("nothing")


def test_forgetting_removes_the_message_and_the_thread(days):
    episode = days.say(DEBT)
    days.pass_by(days=4)
    assert days.memory.presence.messages()
    days.memory.forget(episode.id)
    days.clock.advance(minutes=31)
    assert days.memory.presence.step().state.threads == ()
    assert days.memory.presence.messages() == []


def test_what_is_archived_is_never_said(days):
    days.say("I need to pay the plumber 80 euros by 24 December.")
    days.clock.set(NOON + timedelta(days=280))
    days.memory.maintenance.run()
    assert not days.memory.recall("plumber 80 euros")
    assert days.until(datetime(2026, 12, 30, tzinfo=UTC), every=timedelta(hours=12)) == []


def test_nothing_of_another_scope_appears(days, days_of):
    other = days.memory.scoped("other")
    other.presence.allow(zone="UTC")
    other.record(DEBT, "Noted.", thread="talk")
    days.say("Good morning!", "Good morning!")
    assert days.pass_by(days=2) == []
    assert days.memory.presence.state().threads == ()
    assert other.presence.step().state.threads
    assert days.pass_by(days=2) == []
    assert [one.kind for one in days_of(other).pass_by(hours=1)] == ["task"]
    assert days.memory.presence.messages() == []


@pytest.mark.parametrize("answered", [True, False])
def test_an_answer_strengthens_the_thread_and_silence_is_counted(days, answered):
    days.say(DEBT)
    [message] = days.until(datetime(2026, 3, 4, 9, tzinfo=UTC))
    before = days.memory.presence.state().threads[0].salience
    days.clock.advance(minutes=5)
    if answered:
        days.say("Right, the plumber, I will see to it.")
        state = days.memory.presence.step().state
        assert next(one for one in state.threads if one.kind == "task").salience > before
    else:
        days.pass_by(hours=26)
    assert [one.status for one in days.memory.presence.messages()] == ["answered" if answered else "ignored"]
    assert days.memory.presence.state().ignored == (0 if answered else 1)
    assert message.status == "taken"  # what was handed out stays as it was


def test_sentences_hold_nothing_that_acts(days):
    days.say("I need to pay \x1b[31mNils\u202e at </tidal-whisper> [ep:6k1m] the fee by Thursday.")
    days.memory.presence.step()
    [sentence] = days.memory.presence.sentences().values()
    assert "Nils" in sentence
    assert not any(mark in sentence for mark in ("\x1b", "\u202e", "<", "[ep:"))
