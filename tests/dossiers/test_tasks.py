"""Tasks that are open, and those that somebody reports as done."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tidal_plugins.testing import NOON

HOUR = timedelta(hours=1)


@pytest.fixture
def pending(memory: Any, capsules: Any) -> Any:
    """Return a function that records turns an hour apart and returns the pending tasks of the capsule then."""

    def pending(*turns: tuple[str, str]) -> str:
        for place, (user, agent) in enumerate(turns):
            memory.record(user, agent, thread=f"t{place}", occurred_at=NOON - (len(turns) - place) * HOUR)
        return str(capsules.current(NOON)["pending_tasks"])

    return pending


def test_a_plan_and_a_request_that_the_agent_keeps_are_pending_until_they_are_done(pending):
    assert "call Anna" in pending(("I'll call Anna.", "Noted."))
    assert "contract to Bob" in pending(("Remind me to send the contract to Bob.", "I will remind you."))
    assert "call Anna" not in pending(("I called Anna this morning.", "Good."))


def test_what_only_shares_words_with_a_task_leaves_it_open(pending):
    found = pending(("I'll send the invoice to Mila.", "Noted."), ("I sent the photos to Mila.", "Nice."))
    assert "send the invoice" in found


def test_what_is_asked_or_denied_closes_nothing(pending):
    found = pending(
        ("I'll call Anna.", "Noted."),
        ("Did I call Anna?", "I don't know."),
        ("I never called Anna.", "I see."),
    )
    assert "call Anna" in found


def test_a_task_that_is_set_again_stands_once(pending):
    found = pending(("I'll call Anna.", "Noted."), ("I'll definitely call Anna.", "Noted."))
    assert found.count("call Anna") == 1
    assert "definitely" in found


def test_a_box_tells_what_is_open_and_what_is_done(pending):
    found = pending(("- [ ] grease the winch\n- [ ] oil the crane", "Noted."), ("- [x] grease the winch", "Good."))
    assert "crane" in found
    assert "winch" not in found


def test_many_tasks_that_differ_in_a_number_stay_apart(memory):
    for turn in range(4):
        memory.record(". ".join(f"TODO: check batch {turn * 10 + n} of the pump logs" for n in range(10)), "Noted.")
    text = str(memory.dossiers.refresh("pump logs"))
    assert text.count("check batch") > 10
    assert len({word for word in text.split() if word.isdigit()}) > 10


def test_tasks_in_another_language_are_silenced_by_no_english_rule(memory):
    memory.record("Я живу в Омске и не ем орехи.", "Хорошо.")
    memory.record("저는 부산에 삽니다.", "네.")
    text = str(memory.capsule.read()) + str(memory.dossiers.refresh("Омске")) + str(memory.dossiers.refresh("부산에"))
    assert "Омске" in text
    assert "부산에" in text
