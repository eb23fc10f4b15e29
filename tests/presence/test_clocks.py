"""A wrong clock, or a time zone that changed, silences nothing for ever and makes nothing false."""

from __future__ import annotations

from datetime import UTC, datetime

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
