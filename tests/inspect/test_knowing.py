"""The graph, what is known, health, and the hands: each view shows what is stored, and each hand changes it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from tests.inspect.conftest import HOST, Visit
from tidal_plugins import TidalMemory
from tidal_plugins.testing import NOON, FrozenClock


@pytest.fixture
def known(filled: TidalMemory, clock: FrozenClock) -> TidalMemory:
    """Return a memory with relations, a conflict, a superseded value, a dossier, sessions and an archive."""
    graph = filled.graph
    graph.relate("Nora", "works_at", "the mint", since=NOON - timedelta(days=300), until=NOON - timedelta(days=100))
    graph.relate("Nora", "lives_in", "Porto", since=NOON - timedelta(days=90))
    graph.relate("checkout", "depends_on", "billing")
    filled.record("The bridge is closed.", "I see.", thread="bridge")
    filled.record("My office is in Bergen now.", "Noted.", thread="move")
    filled.record("My office is in Lisbon now.", "Noted.", thread="move")
    filled.supersessions.find()
    filled.associations.link_pending()
    filled.dossiers.refresh("clocks")
    filled.capsule.read()
    return filled


def form(client: TestClient, page: str, act: str, **fields: str) -> str:
    """Fill in a form that a page has, send it, and return the answer."""
    text = client.get(page).text
    found = re.search(rf'<form method="post" action="{act}".*?</form>', text, re.S)
    assert found, f"{page} has no form {act}"
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found[0]))
    answer = client.post(act, data={**hidden, **fields}, headers={"origin": HOST})
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/graph", "Spoken of lately"),
        ("/graph?name=Nora", "What was ever believed"),
        ("/graph?name=clok", "Names like this"),
        ("/web?query=clock", "Nora repairs clocks"),
        ("/knowledge", "closed"),
        ("/fact?key=bridge", "open"),
        ("/dossier?topic=clocks", "source 1"),
        ("/capsule", "# "),
        ("/sessions", "Policies"),
        ("/health", "Erasures"),
        ("/health/check", "Everything is as it was written"),
        ("/hands", "only reads"),
    ],
)
def test_views_show_what_is_stored(visit: Visit, known: TidalMemory, path: str, says: str) -> None:
    answer = visit(known).get(path)
    assert (answer.status_code, says in answer.text) == (200, True), answer.text
    assert 'method="post"' not in answer.text
