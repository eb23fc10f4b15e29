"""The graph, what is known, health, and the hands: each view shows what is stored, and each hand changes it."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest

from tests.inspect.browser import Desk
from tests.inspect.conftest import HOST, Browse, Visit
from tidal_plugins import Affect, Forgotten, TidalMemory
from tidal_plugins.testing import NOON

VIEWS = {
    "/graph": "Spoken of lately",
    "/graph?name=Nora": "What was ever believed",
    "/graph?name=clok": "Names like this",
    "/web?query=clock": "Nora, repairs clocks",
    "/knowledge": "closed",
    "/fact?key=bridge": "open",
    "/dossier?topic=clocks": "source 1",
    "/capsule": "# ",
    "/sessions": "Policies",
    "/health": "Erasures",
    "/health/check": "Everything is as it was written",
    "/hands": "only reads",
}
"""Addresses, and words that are on the page."""


@pytest.fixture
def desk(known: TidalMemory, browse: Browse) -> Desk:
    """Return a browser at a memory that may be changed."""
    return browse(known, allow_writes=True)


def press(desk: Desk, path: str, button: str, **fields: str) -> str:
    """Fill in fields of the form with a button, press it, and return what the next page says."""
    tab = desk.open(path)
    form = tab.locator("form", has=tab.get_by_role("button", name=button, exact=True)).first
    for name, value in fields.items():
        form.locator(f'[name="{name}"]:not([type=hidden])').fill(value)
    form.get_by_role("button", name=button, exact=True).click()
    return tab.locator("main").inner_text()


def test_views_show_what_is_stored_and_change_nothing(visit: Visit, known: TidalMemory) -> None:
    client = visit(known)
    for path, words in VIEWS.items():
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        assert words in answer.text
        assert 'method="post"' not in answer.text
    for path in ("/fact?key=unknown", "/dossier?topic=unknown", "/entry/unknown", "/session/99"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert 'class="error"' in answer.text
    for path in ("/graph?name=Nora&at=yesterday", "/knowledge?facts=0", "/session/x", "/health?page=-1"):
        assert client.get(path).status_code == 400
    for name in ("forget", "look", "correct", "pin", "merge", "fact", "resolve", "capsule", "repair"):
        assert client.post(f"/hands/{name}", headers={"origin": HOST}).status_code in (404, 405), "no writes allowed"


def test_an_entity_is_shown_as_it_was_at_a_date(visit: Visit, known: TidalMemory) -> None:
    def relations(at: str) -> str:
        return visit(known).get(f"/graph?name=Nora&at={at}").text.split(">Relations</h2>")[1].split("<h2")[0]

    then = (NOON - timedelta(days=200)).date().isoformat()
    assert "mint" in relations(then)
    assert "mint" not in relations(NOON.date().isoformat())
    assert "Porto" in relations(NOON.date().isoformat())
    began = (NOON - timedelta(days=90)).date()
    assert "Porto" in relations(began.isoformat())  # at noon of that day
    assert "Porto" not in relations((began - timedelta(days=1)).isoformat())


def test_a_relation_shows_who_said_it_and_a_web_what_comes_up_together(visit: Visit, known: TidalMemory) -> None:
    client = visit(known)
    turn = known.episodes.list(thread="monday")[0]
    said = next(one for one in known.graph.relations(about="Nora") if turn.id in one.episodes)
    page = unescape(client.get(f"/relation/{said.id}").text)
    assert known.graph.sentence(said) in page
    assert f'href="/episode/{turn.id}"' in page
    assert all(one.quote in page for one in known.graph.evidence(said))
    reached = known.associations.spread(turn.entries[0], limit=5)
    page = unescape(client.get(f"/web?entry={turn.entries[0]}").text)
    assert reached
    assert all(known.get(one.id).text in page for one in reached)
    assert "<polyline" in page
    for days, there in ((200, True), (50, False)):
        day = (NOON - timedelta(days=days)).date().toordinal()
        relations = client.get(f"/graph?name=Nora&day={day}").text.split(">Relations</h2>")[1].split("<h2")[0]
        assert ("mint" in relations) == there


def test_profiles_beside_each_other_show_their_own_scores(visit: Visit, known: TidalMemory) -> None:
    turn = "Where does my cousin Nora repair clocks?"
    asked = {"turn": turn, "compare": "1", "b_profile": "tidal", "b_mood": "stirred: furious"}
    _, left, right = visit(known).get("/", params=asked).text.split("<section")
    there = known.recall(turn, limit=40, profile="tidal", affect=Affect(-0.8, 0.9))
    assert "profile balanced" in left
    assert "profile tidal" in right
    assert f"score {there[0].score:.3f}" in right


def test_lists_are_read_a_page_at_a_time(visit: Visit, known: TidalMemory) -> None:
    for n in range(25):
        known.facts[f"berth {n:02}"] = n
    client = visit(known)
    assert "berth 10" not in client.get("/knowledge").text
    second = client.get("/knowledge?facts=2").text
    assert "berth 10" in second
    assert "facts=3" in second
    assert "facts=4" not in client.get("/knowledge?facts=3").text


# hands


def test_a_memory_is_looked_at_and_then_forgotten(desk: Desk, known: TidalMemory) -> None:
    said = next(hit for hit in known.recall("kiln degrees") if "kiln" in hit.text)
    desk.open("/knowledge")
    desk.picture("knowledge")
    assert "1 would go" in press(desk, f"/entry/{said.id}", "Forget it: look first")
    assert known.get(said.id).text == said.text
    desk.picture("forgetting")
    desk.tab.get_by_role("button", name="Forget it for good").click()
    assert "1 removed" in desk.tab.locator("main").inner_text()
    with pytest.raises(Forgotten):
        known.get(said.id)
    assert "1 conversation" in desk.open("/health").locator("main").inner_text()
    desk.picture("health")
    audit = known.sessions.audit(known.sessions.list(agent="inspect")[0].id)
    assert [(one.type, one.entry, one.accepted) for one in audit] == [("forget", f"forget {said.id}", True)]
