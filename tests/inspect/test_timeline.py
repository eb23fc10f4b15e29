"""The timeline: turns by thread, moods, marks of what was put in order, and one turn with what it taught."""

from __future__ import annotations

from datetime import timedelta
from itertools import chain

import pytest

from tests.conftest import OpenMemory
from tests.inspect.conftest import Browse, Visit
from tidal_plugins import Message, TidalMemory
from tidal_plugins.testing import FrozenClock


@pytest.mark.slow
def test_turns_stand_under_their_threads_with_calls_folded(browse: Browse, filled: TidalMemory) -> None:
    desk = browse(filled)
    tab = desk.open("/timeline")
    heads = [head.inner_text() for head in tab.locator("section.thread h2").all()]
    assert heads == ["thread kiln", "thread monday"]
    result = tab.get_by_text("Two shops sell them.")
    assert not result.is_visible()
    tab.locator("summary", has_text="search").focus()
    tab.keyboard.press("Enter")
    assert result.is_visible()
    assert tab.locator("polyline").count() == 2
    assert "valence -" in tab.locator("article", has_text="furious").inner_text()
    desk.picture("timeline")
    tab.get_by_role("link", name="kiln").click()
    assert tab.locator("article").count() == 1


@pytest.mark.slow
def test_a_turn_is_verbatim_with_what_it_taught(browse: Browse, filled: TidalMemory) -> None:
    filled.record("The bridge is closed now.", "I see.", thread="monday")
    filled.graph.index_pending()
    first, *_, last = filled.episodes.list(thread="monday")
    desk = browse(filled)
    tab = desk.open(f"/episode/{first.citation}")
    assert tab.locator("article .said").first.inner_text() == "My cousin, Nora, repairs clocks in Porto."
    assert "Nora is the cousin of user" in tab.locator("main").inner_text()
    desk.picture("turn")
    tab = desk.open(f"/episode/{last.id}")
    assert "contradicts bridge: open, but «The bridge is closed now.»" in tab.locator("main").inner_text()


def test_where_something_was_put_in_order_is_marked(visit: Visit, filled: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=1)
    said = [Message(role, "Springs and clocks. " * 40, f"m{n}") for n in range(20) for role in ("user", "assistant")]
    numbered = [Message(one.role, one.text, f"m{place}") for place, one in enumerate(said)]
    filled.compactor(max_tokens=800).compact(numbered, thread="long")
    clock.advance(days=400)
    assert filled.maintenance.run().settled
    assert filled.maintenance.compactions()
    page = visit(filled).get("/timeline").text
    assert "<b>consolidation</b>" in page
    assert "<b>compaction</b>" in page
    assert 'class="mark"' in page
    other = visit(filled).get("/timeline", params={"thread": "kiln"}).text
    assert "<b>compaction</b>" not in other


def test_pages_follow_one_another_and_marks_come_once(
    open_memory: OpenMemory, visit: Visit, clock: FrozenClock
) -> None:
    memory = open_memory()
    for number in range(60):
        memory.record(f"Turn number {number} about tides.", "Noted.", thread="tides")
        clock.advance(hours=1)
    client = visit(memory)
    texts = [client.get("/timeline", params={"page": page}).text for page in (1, 2, 3)]
    shown = [[number for number in range(60) if f"Turn number {number} about" in text] for text in texts]
    assert [len(one) for one in shown] == [25, 25, 10]
    assert sorted(chain.from_iterable(shown)) == list(range(60))
    assert "page=2" in texts[0]
    assert "page=4" not in texts[2]
    since = clock() - timedelta(hours=3)
    late = client.get("/timeline", params={"since": f"{since:%Y-%m-%dT%H:%M}"}).text
    assert late.count("<article") == 3
    assert client.get("/timeline", params={"page": "0"}).status_code == 400


def test_what_is_not_there_and_what_was_forgotten_is_said(visit: Visit, filled: TidalMemory) -> None:
    client, episode = visit(filled), filled.episodes.list()[0]
    assert client.get("/episode/nothing").status_code == 404
    filled.forget(episode.id)
    gone = client.get(f"/episode/{episode.id}")
    assert gone.status_code == 404
    assert "forgotten" in gone.text


def test_another_scope_is_not_shown(open_memory: OpenMemory, visit: Visit) -> None:
    memory = open_memory()
    there = memory.scoped("user", "42").record("The kiln is mine.", "Yes.", thread="secret")
    client = visit(memory)
    assert "kiln" not in client.get("/timeline").text
    assert client.get(f"/episode/{there.id}").status_code == 404
