"""The playground in a real browser: the whisper, the reasons, the confidence, and two sides beside each other."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest

from tests.inspect.conftest import Browse, Visit
from tidal_plugins import Affect, TidalMemory
from tidal_plugins.testing import FrozenClock

TURN = "Where does my cousin Nora repair clocks?"


@pytest.mark.slow
def test_a_turn_shows_its_whisper_and_the_reasons(browse: Browse, filled: TidalMemory) -> None:
    desk = browse(filled)
    tab = desk.open("/")
    tab.get_by_label("What the user says").fill(TURN)
    tab.get_by_role("button", name="Show what comes up").press("Enter")
    whisper, found = filled.whisper(TURN), filled.recall(TURN, limit=40)
    assert whisper
    shown = tab.locator("pre.whisper").inner_text()
    assert [line for line in shown.splitlines() if line.startswith("- ")] == [
        line for line in str(whisper).splitlines() if line.startswith("- ")
    ]
    assert tab.locator("li.card").count() == min(10, len(found))
    first = tab.locator("li.card").first
    assert found[0].entry.citation in first.inner_text()
    assert f"score {found[0].score:.3f}" in first.inner_text()
    parts = [float(title.rsplit(" ", 1)[1]) for title in first.locator("rect title").all_text_contents()]
    assert sum(parts) == pytest.approx(found[0].why.fused, abs=0.03)
    assert tab.locator("svg circle").count() == len(found)
    assert tab.locator("svg circle.inside").count() == len(set(whisper.ids) & set(found.ids))
    assert whisper.recall is not None
    assert f"speaks from {whisper.recall.threshold:.3f}" in tab.locator("main").inner_text()
    desk.picture("playground", at=".sides")


@pytest.mark.slow
def test_two_profiles_stand_beside_each_other(browse: Browse, filled: TidalMemory) -> None:
    desk = browse(filled)
    tab = desk.open("/")
    tab.get_by_label("What the user says").fill(TURN)
    tab.get_by_text("Compare", exact=True).press("Enter")
    tab.get_by_label("show a second column").check()
    tab.locator("[name=b_profile]").select_option("tidal")
    tab.locator("[name=b_mood]").select_option("stirred: furious")
    tab.get_by_role("button", name="Show what comes up").click()
    left, right = tab.locator(".sides section").all()
    there = filled.recall(TURN, limit=40, profile="tidal", affect=Affect(-0.8, 0.9))
    assert "profile balanced" in left.inner_text()
    assert "profile tidal" in right.inner_text()
    assert f"score {there[0].score:.3f}" in right.locator("li.card").first.inner_text()
    assert left.bounding_box()["y"] == right.bounding_box()["y"]  # type: ignore[index]
    desk.picture("playground-compared", at="form > button")


def test_what_was_left_out_stands_under_its_stage(visit: Visit, filled: TidalMemory) -> None:
    for turn in (TURN, "How high is the tower of the town hall?"):  # nothing surfaces for the second
        page = unescape(visit(filled).get("/", params={"turn": turn}).text)
        recall = filled.whisper(turn).recall
        assert recall is not None
        assert recall.dropped
        for stage, count in recall.explanation().stages.items():
            assert f"<summary>{stage}: {count}</summary>" in page
        assert recall.dropped[0].reason in page
        assert ("shown nothing" in page) == (turn != TURN)


def test_a_turn_as_of_an_earlier_date_shows_what_was_known_then(
    visit: Visit, filled: TidalMemory, clock: FrozenClock
) -> None:
    before = f"{clock() - timedelta(days=1):%Y-%m-%dT%H:%M}"
    page = visit(filled).get("/", params={"turn": TURN, "a_as_of": before}).text
    assert "The model is shown nothing" in page
    assert "Nothing comes up" in page


def test_small_talk_is_met_with_nothing(visit: Visit, filled: TidalMemory) -> None:
    assert "the turn is small talk" in visit(filled).get("/", params={"turn": "Thanks, great!"}).text


WRONG = [("a_profile", "best"), ("a_mood", "hungry"), ("a_hops", "9"), ("a_hops", "²"), ("a_as_of", "yesterday")]


def test_a_field_that_cannot_be_is_named(visit: Visit, filled: TidalMemory) -> None:
    client = visit(filled)
    for name, value in [*WRONG, ("a_metadata", "[1]")]:
        answer = client.get("/", params={"turn": TURN, name: value})
        assert answer.status_code == 400
        assert name in answer.text


def test_the_pages_write_nothing(visit: Visit, filled: TidalMemory) -> None:
    episodes, entries, mood = filled.episodes.list(), filled.entries.list(), filled.affect.state()
    for path in ("/", "/timeline", f"/episode/{episodes[0].id}"):
        assert visit(filled).get(path, params={"turn": TURN}).status_code == 200
    assert (filled.episodes.list(), filled.entries.list(), filled.affect.state()) == (episodes, entries, mood)
