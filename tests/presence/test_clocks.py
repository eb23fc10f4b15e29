"""A wrong clock, or a time zone that changed, silences nothing for ever and makes nothing false."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from tests.presence.conftest import DEBT

TOMORROW = "You wanted to pay the plumber 80 euros by Thursday; that is tomorrow."
EVE = datetime(2026, 3, 4, 9, tzinfo=UTC)


def test_a_clock_that_was_far_ahead_silences_nothing(days):
    days.say(DEBT)
    noon = days.clock()
    days.clock.advance(days=400)
    days.memory.presence.step()
    days.clock.set(noon)
    assert [(one.text, one.at.date()) for one in days.pass_by(days=10)] == [(TOMORROW, EVE.date())]


def test_what_was_said_while_the_clock_was_ahead_holds_nothing_back_for_longer_than_it_should(days):
    days.say("I need to renew the ferry pass by 20 April.")
    noon = days.clock()
    days.clock.set(datetime(2026, 4, 19, 9, tzinfo=UTC))
    assert days.memory.presence.step().message
    assert days.memory.presence.take()
    days.clock.set(noon)
    days.say(DEBT)
    assert [one.text for one in days.pass_by(days=10)] == [TOMORROW]


@pytest.mark.parametrize("asked_for", [True, False])
def test_a_message_that_was_queued_while_the_clock_was_ahead_waits_for_its_true_day_or_expires(days, asked_for):
    days.say(DEBT)
    days.clock.set(EVE)
    assert days.memory.presence.step().message
    days.clock.advance(days=-1)
    if asked_for:
        assert days.memory.presence.take() is None
        assert [(one.text, one.at.date()) for one in days.pass_by(days=5)] == [(TOMORROW, EVE.date())]
    else:
        assert days.memory.presence.step().message is None
        assert [one.status for one in days.memory.presence.messages()] == ["expired"]


def test_a_turn_that_is_dated_ahead_is_no_conversation_that_goes_on(days):
    days.say(DEBT)
    days.say("Good morning, how are you?", occurred_at=days.clock() + timedelta(days=300))
    assert [one.text for one in days.pass_by(days=10)] == [TOMORROW]


def test_a_message_of_another_zone_s_tomorrow_is_not_said(days):
    days.say(DEBT)
    days.clock.set(EVE + timedelta(hours=11))
    assert days.memory.presence.step().message
    days.memory.presence.allow(zone="Pacific/Auckland", quiet=(time(0), time(0)))  # where Thursday has begun
    assert days.memory.presence.take() is None
    days.clock.advance(minutes=31)
    assert days.memory.presence.step().message.text.endswith("that is today.")


def test_a_message_waits_to_the_end_of_a_day_whose_midnight_comes_twice(allowed):
    days = allowed(zone="America/Havana", quiet=(time(0), time(0)))  # on 1 November 2026, 1:00 becomes 0:00
    days.clock.set(datetime(2026, 10, 28, 12, tzinfo=UTC))
    days.say("I need to pay the plumber 80 euros by 1 November.")
    days.clock.set(datetime(2026, 10, 31, 12, tzinfo=UTC))
    assert days.memory.presence.step().message
    days.clock.advance(hours=3)
    assert days.memory.presence.take()
