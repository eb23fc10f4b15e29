"""When the memory may speak: opt-in, time zone, quiet hours, a budget a day, pauses; and why it is silent."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.presence.conftest import DEBT, DINNER
from tidal_plugins import InvalidInput, NotFound

BOOKS = "I need to return the library books about bees by Friday."


def documents(memory):
    return memory.presence.messages(), memory.presence.state(), memory.presence.terms()


def test_nothing_is_kept_of_a_scope_that_allowed_nothing(days, clock):
    other = days.memory.scoped("other")
    other.record(DEBT, "Noted.", thread="talk")
    for _ in range(10):
        clock.advance(hours=12)
        step = other.presence.step()
        assert (step.message, step.decision.speaks) == (None, False)
        assert "nobody allowed it" in step.decision.reason
        assert "nobody allowed it" in other.presence.why().reason
    assert documents(other) == ([], None, None)
    for call in (other.presence.pause, other.presence.resume):
        with pytest.raises(NotFound):
            call()


def test_bad_terms_are_refused_and_change_nothing(memory):
    with pytest.raises(TypeError):
        memory.presence.allow()
    bad = [{"zone": zone} for zone in ("Berlin", "", None, "../etc/passwd")]
    quiet = ((time(21),), ("21:00", "08:00"), (time(21, tzinfo=UTC), time(8)))
    bad += [{"quiet": hours} for hours in quiet] + [{"per_day": number} for number in (0, 25, 1.5)]
    bad += [{"cooldown": span} for span in (12, timedelta(seconds=-1), timedelta(days=400))]
    for terms in bad:
        with pytest.raises(InvalidInput):
            memory.presence.allow(**{"zone": "UTC", **terms})
    assert memory.presence.terms() is None


@pytest.mark.parametrize(
    ("zone", "quiet"),
    [
        ("UTC", (time(21), time(8))),
        ("Asia/Tokyo", (time(12), time(18))),
        ("America/Los_Angeles", (time(0), time(9, 30))),
        ("Pacific/Kiritimati", (time(21), time(8))),
        ("UTC", (time(3), time(3))),  # equal times are no quiet hours
    ],
)
def test_nothing_is_said_in_quiet_hours_of_the_person(allowed, zone, quiet):
    days = allowed(zone=zone, quiet=quiet)
    days.say(DEBT)
    days.say(DINNER)
    messages = days.until(datetime(2026, 3, 7, tzinfo=UTC), every=timedelta(hours=2))
    assert messages
    if quiet[0] == quiet[1]:
        assert messages[0].at == datetime(2026, 3, 4, tzinfo=UTC)
    for message in messages:
        local = message.at.astimezone(ZoneInfo(zone)).time()
        assert not (quiet[0] <= local < quiet[1] if quiet[0] <= quiet[1] else local >= quiet[0] or local < quiet[1])


@pytest.mark.parametrize(
    ("said", "at"),
    [
        (datetime(2026, 3, 26, 12, tzinfo=UTC), datetime(2026, 3, 29, 6, tzinfo=UTC)),  # summer time begins
        (datetime(2026, 10, 22, 12, tzinfo=UTC), datetime(2026, 10, 25, 7, tzinfo=UTC)),
    ],
)
def test_quiet_hours_follow_the_clock_on_the_wall_when_it_is_changed(allowed, clock, said, at):
    clock.set(said)
    days = allowed(zone="Europe/Berlin")
    days.say("I need to pay the plumber 80 euros by Monday.")
    [message] = days.until(at + timedelta(hours=3), every=timedelta(hours=1))
    assert message.at == at


def test_at_most_so_many_messages_come_on_one_day_of_the_person(allowed):
    days = allowed(zone="Pacific/Auckland", per_day=1, cooldown=timedelta(0))
    for text in (DEBT, DINNER, BOOKS, "The van goes to its check on Saturday."):
        days.say(text)
        days.pass_by(minutes=40)
    messages = days.pass_by(days=10)
    local = [message.at.astimezone(ZoneInfo("Pacific/Auckland")).date() for message in messages]
    assert len(messages) >= 2
    assert len(set(local)) == len(local)


def test_a_pause_is_silent_and_ends_by_itself_or_when_it_is_resumed(days):
    days.say(DEBT)
    days.memory.presence.pause(datetime(2026, 3, 4, 10, tzinfo=UTC))
    days.clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
    assert "paused" in days.memory.presence.why().reason
    days.clock.advance(hours=1)
    assert days.memory.presence.why().speaks
    days.memory.presence.pause()
    assert days.until(datetime(2026, 3, 4, 15, tzinfo=UTC)) == []
    assert "paused" in days.memory.presence.why().reason
    days.memory.presence.resume()
    assert len(days.pass_by(hours=3)) == 1


def test_erasing_takes_everything_back_and_leaves_the_memories(days):
    days.say(DEBT)
    days.pass_by(days=4)
    assert days.memory.presence.erase() == 1
    assert documents(days.memory) == ([], None, None)
    assert days.memory.recall("plumber")
    assert "nobody allowed it" in days.memory.presence.step().decision.reason
    assert days.memory.presence.erase() == 0


def test_every_silence_has_its_reason(days):
    presence, clock = days.memory.presence, days.clock
    assert "nobody has said anything" in presence.step().decision.reason
    days.say("Good morning!", "Good morning!")
    assert "a conversation may be going on" in presence.step().decision.reason
    clock.advance(hours=2)
    assert "nothing is on its mind" in presence.step().decision.reason
    days.say(DEBT)
    clock.advance(hours=2)
    assert "nothing that it could say is due" in presence.step().decision.reason
    clock.set(datetime(2026, 3, 4, 3, tzinfo=UTC))
    assert "quiet hours, 21:00 to 08:00 in UTC" in presence.step().decision.reason
    clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
    assert presence.step().decision.speaks
    clock.advance(minutes=5)
    assert "waits to be taken" in presence.step().decision.reason
    presence.take()
    assert "it said 1 of 1 a day already" in presence.step().decision.reason
    presence.pause()
    assert "it is paused" in presence.step().decision.reason


def test_asking_why_changes_nothing(days):
    days.say(DEBT)
    days.clock.set(datetime(2026, 3, 4, 9, tzinfo=UTC))
    assert days.memory.presence.why().speaks
    assert days.memory.presence.why().speaks
    assert documents(days.memory)[:2] == ([], None)
    assert days.memory.presence.step().message


def test_allowing_again_changes_the_terms_and_ends_a_pause(days):
    days.memory.presence.pause()
    days.memory.presence.allow(zone="Asia/Tokyo", per_day=2)
    terms = days.memory.presence.terms()
    assert (terms.zone, terms.per_day, terms.paused) == ("Asia/Tokyo", 2, False)


def test_it_waits_between_two_messages(allowed):
    days = allowed(per_day=24, cooldown=timedelta(hours=30))
    days.say(DEBT)
    days.say(BOOKS)
    first, second = days.pass_by(days=8)
    assert second.at - first.at >= timedelta(hours=30)


def test_a_runner_keeps_nothing_of_what_is_not_allowed(days):
    for _ in range(2):
        assert "nobody allowed it" in days.memory.scoped("other").presence.step(holder="one").decision.reason
        days.memory.presence.erase()
        assert "nobody allowed it" in days.memory.presence.step(holder="one").decision.reason
    days.memory.presence.allow(zone="UTC")
    assert "another process" not in days.memory.presence.step(holder="two").decision.reason


def test_a_decision_shows_its_numbers(days):
    days.say(DEBT)
    days.clock.advance(hours=4)
    decision = days.memory.presence.why()
    assert set(decision.parts) == {"threads", "seeds", "arousal", "absence"}
    assert decision.score == pytest.approx(sum(decision.parts.values()))
    assert decision.counts["threads"] == 1
    assert decision.counts["absence"] == 240
