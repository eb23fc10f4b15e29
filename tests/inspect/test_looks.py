"""The look of the views: nothing overlaps, nothing is too small or cut in silence, and every link leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from html import unescape

import pytest

from tests.conftest import OpenMemory
from tests.inspect.conftest import Browse, Visit
from tidal_plugins import Affect, Exchange, Message, Policy, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock

CORNERS = """() => [...document.querySelectorAll("svg text")].filter(one => one.textContent.trim()).map(one => {
  const box = one.getBBox(), at = one.getScreenCTM()
  return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([x, y]) => {
    const point = new DOMPoint(box.x + x * box.width, box.y + 2 + y * (box.height - 4)).matrixTransform(at)
    return [point.x, point.y] }) })"""
"""The corners of each text, a little less high than the line."""

Corners = list[list[float]]


def apart(one: Corners, other: Corners) -> bool:
    """Return whether a line parts two convex shapes: one along a side of either."""
    for shape in (one, other):
        for (x, y), (u, v) in zip(shape, [*shape[1:], shape[0]], strict=True):
            across = (v - y, x - u)
            first, second = ([p[0] * across[0] + p[1] * across[1] for p in each] for each in (one, other))
            if max(first) <= min(second) or max(second) <= min(first):
                return True
    return False


@pytest.fixture
def hub(filled: TidalMemory) -> TidalMemory:
    """Return a memory in which much hangs on one thing, and something on that."""
    for number in range(60):
        filled.graph.relate(
            "gateway", "depends_on", f"the service of berth {number}", since=NOON - timedelta(days=number)
        )
        filled.graph.relate(f"client {number}", "depends_on", "gateway")
    for number in range(3):
        filled.graph.relate(f"the service of berth {number}", "located_in", f"the hall of berth {number}")
    return filled


@pytest.mark.slow
@pytest.mark.parametrize("phone", [True, False], ids=["phone", "wide"])
def test_names_in_a_drawing_do_not_overlap_and_lines_say_how(browse: Browse, hub: TidalMemory, phone: bool) -> None:
    desk = browse(hub, phone=phone)
    for path in ("/graph?name=gateway", "/graph?name=the+service+of+berth+1", "/graph?name=Nora"):
        tab = desk.open(path)
        texts = tab.evaluate(CORNERS)
        assert len(texts) > 2
        over = [(n, m) for n, one in enumerate(texts) for m in range(n) if not apart(one, texts[m])]
        assert over == [], path
        assert desk.fits
    tab = desk.open("/graph?name=gateway")
    desk.picture("graph-on-a-phone" if phone else "graph", at="h2")
    lines = tab.locator("svg polyline title").all_text_contents()
    assert len(lines) == 24
    assert all("gateway" in one and "depends on" in one for one in lines)
    assert "nearest 24 are drawn" in tab.locator("main").inner_text()


def test_long_lists_have_pages_and_keep_their_place(visit: Visit, hub: TidalMemory) -> None:
    client = visit(hub)
    first = unescape(client.get("/graph?name=gateway").text)
    second = unescape(client.get("/graph?name=gateway&impact=2&page=2").text)
    assert "page=2#page" in first
    assert "impact=2#impact" in first
    assert "history=2#history" in first
    found = [
        set(re.findall(r"/relation/(\w+)", text.split('id="page"')[1].split("</ul>")[0])) for text in (first, second)
    ]
    assert [len(one) for one in found] == [25, 25]
    assert not found[0] & found[1]
    assert "impact=3" in second


def test_a_session_shows_its_signals_its_rules_and_its_fields(visit: Visit, filled: TidalMemory) -> None:
    hits = filled.recall("kiln")
    for number in range(12):
        filled.sessions.policies[f"rule {number:02}"] = Policy(deny=frozenset({"forget"}), max_signals=5)
    with filled.sessions.open(agent="planner", policy="rule 00", metadata={"run": "r1"}) as session:
        session.signal("like", hits[0].id, 2.0)
        id_ = session.id
    filled.signals.add("skip", hits[0].id)
    client = visit(filled)
    page = unescape(client.get(f"/session/{id_}").text)
    for words in ("like", "+2.00", hits[0].text[:40], '{"run": "r1"}', "forget", "closed at"):
        assert words in page
    scope = unescape(client.get("/sessions").text)
    assert "skip" in scope
    assert f"/entry/{hits[0].id}" in scope
    assert "frozenset" not in scope + page
    assert "rule 09" in scope
    assert "rule 10" not in scope
    assert "rule 10" in client.get("/sessions?policies=2").text


def test_fields_and_state_of_a_memory_are_shown_and_only_the_acts_that_fit(visit: Visit, filled: TidalMemory) -> None:
    note = filled.remember(
        "The crane lifts nine tons.", kind="kb", metadata={"page": 12}, valid_until=NOON + timedelta(days=9)
    )
    turn = filled.record("I am back.", "Hello.", thread="monday", metadata={"mail": "a17"})
    client = visit(filled, allow_writes=True)
    page = unescape(client.get(f"/entry/{note.id}").text)
    assert '{"page": 12}' in page
    assert "valid until" in page
    assert "/hands/restore" not in page
    assert '{"mail": "a17"}' in unescape(client.get(f"/episode/{turn.id}").text)
    said = turn.entries[0]
    assert "cold from" in client.get(f"/entry/{said}").text
    filled.entries.pin(said)
    pinned = client.get(f"/entry/{said}").text
    assert "<b>pinned</b>" in pinned
    assert "/hands/unpin" in pinned
    assert "/hands/pin" not in pinned
    [fact] = filled.entries.list(kinds=["fact"], limit=1)
    assert ("/hands/correct" in client.get(f"/entry/{fact.id}").text) == (fact.channel in ("user", "document"))


def test_threads_are_listed_and_speakers_named(visit: Visit, filled: TidalMemory) -> None:
    page = visit(filled).get("/threads").text
    assert re.findall(r"thread=(\w+)", page) == ["kiln", "monday"]
    assert "The kiln in the shed" in page
    filled.record_many(
        [Exchange((Message("user", "Ahoy.", speaker="Mira"), Message("assistant", "Ahoy.")), thread="sea")]
    )
    assert "Mira" in visit(filled).get("/timeline?thread=sea").text


class Loud:
    """An estimator to which what ends with «!» is anger, and nothing else is anything."""

    def estimate(self, texts: Sequence[str], vectors: object = None) -> list[Affect]:
        return [Affect(-0.8, 0.9, {"anger": 0.9}) if text.endswith("!") else Affect(emotions={}) for text in texts]


def test_the_mood_names_its_emotions_and_days(open_memory: OpenMemory, visit: Visit, clock: FrozenClock) -> None:
    memory = open_memory(emotion=Loud())
    for words in ("The clock runs.", "The clock stopped!", "It was repaired.", "It runs."):
        memory.record(words, "I see.")
        clock.advance(hours=24)
    page = visit(memory).get("/timeline").text
    felt = re.findall(r'class="felt"[^>]*>([^<]*)<', page)
    assert len(felt) == 4
    assert [bool(words) for words in felt[:2]] == [False, True]
    assert felt[1].startswith("anger")
    for turn in memory.episodes.list():
        assert f">{turn.occurred_at:%Y-%m-%d}</text>" in page


def test_citations_of_a_dossier_lead_to_what_was_said(visit: Visit, filled: TidalMemory) -> None:
    found = filled.dossiers.refresh("clocks")
    client = visit(filled)
    page = unescape(client.get("/dossier?topic=clocks").text)
    cited = found.findings[0].citations[0]
    assert f"[{cited}]" in page
    for link in re.findall(r'href="(/e[^"]+)"', page):
        answer = client.get(link)
        assert answer.status_code == 200
    assert filled.get(found.findings[0].sources[0]).text in page


COMPARED = [
    ("b_kinds", "skill", "flash the board"), ("b_threads", "kiln", "1,240 degrees"), ("b_limit", "1", ""),
    ("b_sources", "manual", "flash the board"), ("b_metadata", '{"page": 12}', ""),
]  # fmt: skip


def test_any_two_settings_of_a_recall_are_compared(visit: Visit, filled: TidalMemory) -> None:
    client = visit(filled)
    for name, value, there in COMPARED:
        asked = {"turn": "Where does Nora repair clocks, and how hot is the kiln?", "compare": "1", name: value}
        page = unescape(client.get("/", params=asked).text)
        left, right = (
            re.findall(r'<a href="/entry/(\w+)"', side.split("What the whisper left out")[0])
            for side in page.split("<section")[1:]
        )
        assert len(left) > len(right)
        assert there in page.split("<section")[2]


def test_lists_of_the_library_come_by_the_page(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for thread in ("one", "two", "two"):
        memory.record("Ada lives in Turin.", "Noted.", thread=thread)
    memory.graph.index_pending()
    relation = next(one for one in memory.graph.relations(about="Ada"))
    for place in range(4):
        memory.graph.relate("Ada", "likes", f"tea {place}")
    with memory.sessions.open(agent="a") as session:
        for number in range(5):
            session.permit("remember", f"note {number}")
    for page, most in (
        (lambda **part: memory.graph.evidence(relation, **part), 3),
        (lambda **part: memory.graph.relations(about="Ada", **part), 5),
        (lambda **part: memory.sessions.audit(1, **part), 5),
        (lambda **part: memory.sessions.audit(1, newest_first=True, **part), 5),
    ):
        whole = page()
        assert len(whole) == most
        assert [*page(limit=2), *page(limit=9, after=2)] == whole
    assert [(turn.thread, turn.turn) for turn in memory.episodes.list(turn=1)] == [("one", 1), ("two", 1)]
