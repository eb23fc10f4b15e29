"""When the memory may speak: opt-in, time zone, quiet hours, a budget a day, pauses; and why it is silent."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.presence.conftest import DEBT, DINNER
from tidal_plugins import InvalidInput, NotFound, TidalError

BOOKS = "I need to return the library books about bees by Friday."


def documents(memory):
    return memory.presence.messages(), memory.presence.state(), memory.presence.terms()


def test_nothing_is_kept_of_a_scope_that_allowed_nothing(memory, clock):
    memory.record(DEBT, "Noted.", thread="talk")
    for _ in range(10):
        clock.advance(hours=12)
        step = memory.presence.step()
        assert (step.message, step.decision.speaks) == (None, False)
        assert "nobody allowed it" in step.decision.reason
        assert "nobody allowed it" in memory.presence.why().reason
    assert documents(memory) == ([], None, None)


def test_what_is_allowed_in_one_scope_is_allowed_in_no_other(days, clock):
    other = days.memory.scoped("other")
    other.record(DEBT, "Noted.", thread="talk")
    clock.set(datetime(2026, 3, 4, 12, tzinfo=UTC))
    assert "nobody allowed it" in other.presence.step().decision.reason


def test_a_time_zone_is_required(memory):
    with pytest.raises(TypeError):
        memory.presence.allow()


@pytest.mark.parametrize(
    "terms",
    [
        {"zone": "Berlin"},
        {"zone": ""},
        {"zone": None},
        {"zone": "../etc/passwd"},
        {"zone": "UTC", "quiet": (time(21),)},
        {"zone": "UTC", "quiet": ("21:00", "08:00")},
        {"zone": "UTC", "quiet": (time(21, tzinfo=UTC), time(8))},
        {"zone": "UTC", "per_day": 0},
        {"zone": "UTC", "per_day": 25},
        {"zone": "UTC", "per_day": 1.5},
        {"zone": "UTC", "cooldown": 12},
        {"zone": "UTC", "cooldown": timedelta(seconds=-1)},
        {"zone": "UTC", "cooldown": timedelta(days=400)},
    ],
)
def test_bad_terms_are_refused_and_change_nothing(memory, terms):
    with pytest.raises(InvalidInput):
        memory.presence.allow(**terms)
    assert memory.presence.terms() is None


def test_times_without_a_zone_are_refused(days):
    for call in (days.memory.presence.step, days.memory.presence.take, days.memory.presence.why):
        with pytest.raises(TidalError):
            call(datetime(2026, 3, 4, 12))
    with pytest.raises(TidalError):
        days.memory.presence.pause(datetime(2026, 3, 4, 12))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize("quiet", [(time(21), time(8)), (time(12), time(18)), (time(0), time(9, 30))])
def test_nothing_is_said_in_quiet_hours_of_the_person(memory, days_of, zone, quiet):
    memory.presence.allow(zone=zone, quiet=quiet)
    days = days_of(memory)
    days.say(DEBT)
    days.say(DINNER)
    messages = days.until(datetime(2026, 3, 7, tzinfo=UTC), every=timedelta(hours=1))
    assert messages
    for message in messages:
        local = message.at.astimezone(ZoneInfo(zone)).time()
        assert not (quiet[0] <= local < quiet[1] if quiet[0] < quiet[1] else local >= quiet[0] or local < quiet[1])


@pytest.mark.parametrize(
    ("said", "text", "at"),
    [
        (
            datetime(2026, 3, 26, 12, tzinfo=UTC),
            "by Monday",
            datetime(2026, 3, 29, 6, tzinfo=UTC),
        ),  # summer time begins
        (datetime(2026, 10, 22, 12, tzinfo=UTC), "by Monday", datetime(2026, 10, 25, 7, tzinfo=UTC)),
    ],
)
def test_quiet_hours_follow_the_clock_on_the_wall_when_it_is_changed(open_memory, days_of, clock, said, text, at):
    clock.set(said)
    memory = open_memory()
    memory.presence.allow(zone="Europe/Berlin")
    days = days_of(memory)
    days.say(f"I need to pay the plumber 80 euros {text}.")
    [message] = days.until(at + timedelta(hours=3), every=timedelta(hours=1))
    assert message.at == at


def test_equal_times_are_no_quiet_hours(memory, days_of):
    memory.presence.allow(zone="UTC", quiet=(time(3), time(3)))
    days = days_of(memory)
    days.say(DEBT)
    [message] = days.pass_by(days=6)
    assert message.at == datetime(2026, 3, 4, tzinfo=UTC)


def test_at_most_so_many_messages_come_on_one_day_of_the_person(memory, days_of):
    memory.presence.allow(zone="Pacific/Auckland", per_day=1, cooldown=timedelta(0))
    days = days_of(memory)
    for text in (
        DEBT,
        DINNER,
        "I need to return the library books by Friday.",
        "The van goes to its check on Saturday.",
    ):
        days.say(text)
        days.pass_by(minutes=40)
    messages = days.pass_by(days=10)
    local = [message.at.astimezone(ZoneInfo("Pacific/Auckland")).date() for message in messages]
    assert len(messages) >= 2
    assert len(set(local)) == len(local)


def test_it_waits_between_two_messages(memory, days_of):
    memory.presence.allow(zone="UTC", per_day=24, cooldown=timedelta(hours=30))
    days = days_of(memory)
    days.say(DEBT)
    days.say(BOOKS)
    first, second = days.pass_by(days=8)
    assert second.at - first.at >= timedelta(hours=30)


def test_a_pause_is_silent_and_ends_by_itself(days):
    days.say(DEBT)
    days.memory.presence.pause(datetime(2026, 3, 4, 16, tzinfo=UTC))
    [message] = days.pass_by(days=8)
    assert message.at == datetime(2026, 3, 4, 16, tzinfo=UTC)


def test_a_pause_without_an_end_lasts_until_it_is_resumed(days):
    days.say(DEBT)
    days.memory.presence.pause()
    assert days.until(datetime(2026, 3, 4, 15, tzinfo=UTC)) == []
    assert "paused" in days.memory.presence.why().reason
    days.memory.presence.resume()
    assert len(days.pass_by(hours=3)) == 1


def test_only_what_is_allowed_can_be_paused(memory):
    for call in (memory.presence.pause, memory.presence.resume):
        with pytest.raises(NotFound):
            call()


def test_allowing_again_changes_the_terms_and_ends_a_pause(days):
    days.memory.presence.pause()
    days.memory.presence.allow(zone="Asia/Tokyo", per_day=2)
    terms = days.memory.presence.terms()
    assert (terms.zone, terms.per_day, terms.paused) == ("Asia/Tokyo", 2, False)


def test_erasing_takes_everything_back_and_leaves_the_memories(days):
    days.say(DEBT)
    days.pass_by(days=4)
    assert days.memory.presence.erase() == 1
    assert documents(days.memory) == ([], None, None)
    assert days.memory.recall("plumber")
    assert "nobody allowed it" in days.memory.presence.step().decision.reason
    assert days.memory.presence.erase() == 0


def test_a_runner_keeps_nothing_of_what_is_not_allowed(days):
    for _ in range(2):
        assert "nobody allowed it" in days.memory.scoped("other").presence.step(holder="one").decision.reason
        days.memory.presence.erase()
        assert "nobody allowed it" in days.memory.presence.step(holder="one").decision.reason
    days.memory.presence.allow(zone="UTC")
    assert "another process" not in days.memory.presence.step(holder="two").decision.reason


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


def test_a_decision_shows_its_numbers(days):
    days.say(DEBT)
    days.clock.advance(hours=4)
    decision = days.memory.presence.why()
    assert set(decision.parts) == {"threads", "seeds", "arousal", "absence"}
    assert decision.score == pytest.approx(sum(decision.parts.values()))
    assert decision.counts["threads"] == 1
    assert decision.counts["absence"] == 240
