"""What the hands do to a memory, and what they write down: nothing is lost, and nothing goes that was not looked at."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from tests.conftest import OpenMemory
from tests.inspect.conftest import HOST, Visit
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.model.session import AuditEntry
from tidal_plugins.testing import FrozenClock


class Desk(NamedTuple):
    """A client that fills in forms."""

    client: TestClient
    memory: TidalMemory

    def form(self, path: str, hand: str, place: int = 0) -> dict[str, str]:
        """Return the fields of a form of a page as they stand."""
        found = re.findall(rf'<form method="post" action="/hands/{hand}".*?</form>', self.client.get(path).text, re.S)
        return _fields(found[place])

    def post(self, hand: str, fields: dict[str, str], status: int = 200) -> str:
        answer = self.client.post(f"/hands/{hand}", data=fields, headers={"origin": HOST})
        assert answer.status_code == status, answer.text
        return unescape(answer.text)

    def press(self, path: str, hand: str, status: int = 200, place: int = 0, **fields: str) -> str:
        """Open a page, change some fields of a form in it, send it, and return the page that answers."""
        return self.post(hand, {**self.form(path, hand, place), **fields}, status)

    @property
    def audit(self) -> list[AuditEntry]:
        opened = self.memory.sessions.list(agent="inspect")
        return self.memory.sessions.audit(opened[0].id) if opened else []


def _fields(form: str) -> dict[str, str]:
    hidden = dict(re.findall(r'<input(?![^>]*checkbox)[^>]*name="([^"]*)"[^>]*value="([^"]*)"', form))
    areas = dict(re.findall(r'<textarea name="([^"]*)"[^>]*>(.*?)</textarea>', form, re.S))
    return {name: unescape(value) for name, value in {**hidden, **areas}.items()}


@pytest.fixture
def desk(visit: Visit, filled: TidalMemory) -> Desk:
    return Desk(visit(filled, allow_writes=True), filled)


def nora(memory: TidalMemory) -> str:
    return next(hit.id for hit in memory.recall("Nora clocks", kinds=["conversation"]) if "Nora" in hit.text)


# correcting


def test_a_corrected_turn_keeps_what_belongs_to_it_and_is_read_anew(desk: Desk) -> None:
    memory, id_ = desk.memory, nora(desk.memory)
    memory.entries.pin(id_)
    memory.signals.add("like", id_)
    told = desk.press(f"/entry/{id_}", "correct", text="My cousin, Nora, repairs clocks in Lisbon.")
    assert "Corrected" in told
    memory.graph.index_pending()
    said = set(memory.graph.sentences(memory.graph.relations()).values())
    assert any("Nora" in one for one in said)
    assert memory.get(id_).tier.cold_at is None  # type: ignore[union-attr]
    assert "like" in memory.signals.tally().scores
    page = desk.client.get(f"/entry/{id_}").text
    assert "Its earlier text" in page
    turn = desk.client.get(f"/episode/{memory.get(id_).episode}").text
    assert "in Porto." in turn
    assert "«corrected»" in turn
    assert [one.entry for one in desk.audit] == [f"correct {id_}"]


def test_two_browsers_do_not_both_correct_a_text(desk: Desk) -> None:
    id_ = nora(desk.memory)
    one, other = (desk.form(f"/entry/{id_}", "correct") for _ in range(2))
    desk.post("correct", {**one, "text": "The race went to A."})
    assert "open it again" in desk.post("correct", {**other, "text": "The race went to B."}, 409)
    assert desk.memory.get(id_).text == "The race went to A."
    assert "B." not in " ".join(hit.text for hit in desk.memory.recall("race"))


# forgetting


def test_no_more_is_forgotten_than_was_looked_at(desk: Desk) -> None:
    looked = desk.press("/hands", "look", thread="kiln")
    fields = _fields(re.findall(r'action="/hands/forget".*?</form>', looked, re.S)[0])
    desk.memory.record("The kiln needs new bricks.", "Noted.", thread="kiln")
    told = desk.post("forget", fields, 409)
    assert "3 more came since you looked" in told
    assert len(desk.memory.episodes.list(thread="kiln")) == 2
    assert desk.audit == []
    again = _fields(re.findall(r'action="/hands/forget".*?</form>', told, re.S)[0])
    assert "removed" in desk.post("forget", again)
    assert desk.memory.episodes.list(thread="kiln") == []
    assert [(one.type, one.entry) for one in desk.audit] == [("forget", "forget thread kiln")]


def test_a_look_shows_what_would_go_in_words_and_what_is_not_known(desk: Desk) -> None:
    id_ = nora(desk.memory)
    told = desk.press("/hands", "look", ids=f"{id_} nonsense")
    assert "My cousin, Nora, repairs clocks in Porto." in told
    assert re.search(r"Not known here: <[^>]*>nonsense<", told)
    assert "made anew from what stays" in told


# the capsule


def test_a_capsule_is_not_made_by_looking_at_it(desk: Desk) -> None:
    assert "None was made yet" in desk.client.get("/capsule").text
    assert desk.memory.capsule.stored() is None
    assert "made anew" in desk.press("/capsule", "make")
    assert desk.memory.capsule.stored() is not None


def test_sections_that_people_write_can_be_edited_and_others_cannot(desk: Desk) -> None:
    desk.memory.capsule.read()
    fields = {name for name in desk.form("/capsule", "capsule") if name.startswith("section ")}
    assert {"section identity", "section tools", "section operational_rules"} <= fields
    assert not {"section header", "section current_priorities", "section recent_work"} & fields
    told = desk.press("/capsule", "capsule", **{"section identity": "I keep the harbour's book.\r\nAnd the lamp."})
    assert "The capsule is kept." in told
    assert desk.memory.capsule.read()["identity"] == "I keep the harbour's book.\nAnd the lamp."
    assert "harbour" in desk.client.get("/capsule").text
    assert "no section was changed" in desk.press("/capsule", "capsule", 400)


def test_a_section_of_their_own_can_be_edited(desk: Desk) -> None:
    text = str(desk.memory.capsule.read())
    desk.memory.capsule.write(f"{text.rstrip()}\n\n## Open questions\n\n- Which glaze?\n")
    desk.press("/capsule", "capsule", **{"section Open questions": "- Blue or green?"})
    assert desk.memory.capsule.read()["Open questions"] == "- Blue or green?"


def test_what_the_agent_wrote_meanwhile_is_not_lost(desk: Desk) -> None:
    desk.memory.capsule.read()
    fields = desk.form("/capsule", "capsule")
    desk.memory.capsule.write(desk.memory.capsule.read().edit(identity="The agent wrote this."))
    told = desk.post("capsule", {**fields, "section tools": "A hammer."}, 409)
    assert "Nothing was kept" in told
    assert "The agent wrote this." in told
    assert "A hammer." in told
    assert desk.memory.capsule.read()["identity"] == "The agent wrote this."


# facts and conflicts

VALUES = [True, None, 6, 1.5, "5", "true", "open", " a ", {"a": True, "b": None}, [1, "x"], 'say "hi"', "null", ""]


def test_a_value_that_is_pasted_back_is_the_same_value_and_its_type_is_named(desk: Desk) -> None:
    for value in VALUES:
        desk.memory.facts["thing"] = value
        shown = desk.form("/fact?key=thing", "fact")["value"]
        desk.memory.facts["thing"] = "another"
        desk.press("/fact?key=thing", "fact", value=shown)
        assert desk.memory.facts["thing"] == value
        assert type(desk.memory.facts["thing"]) is type(value)
    for text, kept, name in (("6", 6, "a number"), ("NaN", "NaN", "a text"), ('"6"', "6", "a text")):
        assert f"set, to {name}." in desk.press("/knowledge", "fact", key="berth", value=text)
        assert desk.memory.facts["berth"] == kept


def test_keeping_a_fact_keeps_it_for_recall(desk: Desk, clock: FrozenClock) -> None:
    memory = desk.memory
    clock.advance(hours=1)
    memory.record("The bridge is closed.", "I see.")
    memory.supersessions.find()
    assert "is closed" in desk.press("/knowledge", "resolve")
    assert memory.facts["bridge"] == "open"
    assert not [one for one in memory.supersessions.list() if "open" in one.replacement.old]
    assert desk.audit[-1].entry == "resolve bridge keep=fact"


# one hand after the other


@pytest.fixture
def knowing(visit: Visit, known: TidalMemory) -> Desk:
    return Desk(visit(known, allow_writes=True), known)


def test_a_memory_is_pinned_let_go_and_restored(knowing: Desk, clock: FrozenClock) -> None:
    memory = knowing.memory
    path = f"/entry/{next(hit for hit in memory.recall('kiln degrees') if 'kiln' in hit.text).id}"
    assert "fades no more" in knowing.press(path, "pin")
    assert memory.get(path[7:]).tier.cold_at is None  # type: ignore[union-attr]
    knowing.press(path, "unpin")
    clock.advance(hours=24 * 400)
    assert not memory.recall("kiln degrees", kinds=["conversation"])
    assert "finds it again" in knowing.press(path, "restore")
    assert memory.recall("kiln degrees", kinds=["conversation"])
    assert "finds it again" in knowing.press("/health", "restore")


def test_names_that_may_be_one_are_proposed_on_the_page(knowing: Desk) -> None:
    for name in ("Katherine Smith", "Kathrine Smith"):
        knowing.memory.graph.relate(name, "knows", "Ana", subject_type="person")
    assert "They are one" in knowing.press("/graph?name=Katherine+Smith", "merge", place=1)
    assert knowing.memory.graph.entity("Kathrine Smith").name == "Katherine Smith"


def test_entities_are_merged_and_parted(knowing: Desk) -> None:
    assert "They are one" in knowing.press("/graph?name=checkout", "merge", absorb="billing")
    assert knowing.memory.graph.entity("billing").name == "checkout"
    assert "two again" in knowing.press("/graph?name=checkout", "unmerge")
    assert knowing.memory.graph.entity("billing").name == "billing"


def test_facts_are_set_corrected_and_ended(knowing: Desk) -> None:
    facts = knowing.memory.facts
    knowing.press("/knowledge", "fact", key="berths", value="12")
    knowing.press("/fact?key=berths", "fact", value="twelve")
    assert facts["berths"] == "twelve"
    knowing.press("/fact?key=berths", "end")
    assert "berths" not in facts
    assert [fact.value for fact in facts.history("berths")] == [12, "twelve"]


@pytest.mark.parametrize(("place", "value"), [(0, "open"), (1, "closed")])
def test_a_conflict_is_resolved_and_a_wrong_supersession_taken_back(knowing: Desk, place: int, value: str) -> None:
    memory, before = knowing.memory, knowing.memory.supersessions.list()
    knowing.press("/knowledge", "unsupersede")
    assert len(memory.supersessions.list()) == len(before) - 1
    assert "is closed" in knowing.press("/knowledge", "resolve", place=place)
    assert (memory.facts["bridge"], memory.facts.conflicts()) == (value, [])


def test_an_unusable_capsule_is_refused_in_words(knowing: Desk) -> None:
    before = str(knowing.memory.capsule.read())
    told = knowing.press("/capsule", "capsule", 400, **{"section identity": "I keep the book.\n" * 400})
    assert 'class="error"' in told
    assert str(knowing.memory.capsule.read()) == before


# the audit


REFUSED: list[tuple[str, dict[str, str], int]] = [
    ("pin", {"id": "nope"}, 404), ("restore", {"id": "nope"}, 404), ("unmerge", {"merge": "zz"}, 404),
    ("merge", {"keep": "nobody", "absorb": "noone"}, 404), ("end", {"key": "nonono"}, 404), ("forget", {}, 400),
    ("resolve", {"id": "zz", "keep": "fact"}, 404), ("unsupersede", {"later": "a", "earlier": "b"}, 404),
    ("fact", {"key": "", "value": "1"}, 400), ("fact", {"key": "deep", "value": "[" * 60 + "]" * 60}, 400),
    ("correct", {"id": "nope", "text": "x"}, 404),
]  # fmt: skip


def test_what_cannot_be_done_is_not_in_the_audit(desk: Desk) -> None:
    token = desk.form("/hands", "look")["form_token"]
    for hand, fields, status in REFUSED:
        desk.post(hand, {"form_token": token, **fields}, status)
    assert desk.audit == []


def test_the_audit_says_what_was_done_and_links_only_what_there_is(desk: Desk) -> None:
    memory, id_ = desk.memory, nora(desk.memory)
    memory.graph.relate("checkout", "depends_on", "billing")
    desk.press(f"/entry/{id_}", "pin")
    desk.press("/graph?name=checkout", "merge", absorb="billing")
    assert [one.entry for one in desk.audit] == [f"pin {id_}", "merge checkout ← billing"]
    opened = memory.sessions.list(agent="inspect")[0].id
    links = re.findall(r'href="(/entry/[^"]*)"', desk.client.get(f"/session/{opened}").text)
    assert links == [f"/entry/{id_}"]
    assert all(desk.client.get(link).status_code == 200 for link in links)


# health, and secrets


def test_health_is_shown_when_recall_does_not_work(open_memory: OpenMemory, visit: Visit) -> None:
    with open_memory("other.db") as memory:
        memory.record("The kiln is hot.", "Yes.")
    other = open_memory("other.db", embedder=HashingEmbedder(64), read_only=True)
    answer = visit(other).get("/health")
    assert answer.status_code == 200
    assert "Recall does not work" in answer.text
    assert "TIDAL_EMBEDDER" in answer.text


def test_the_playground_shows_no_secret_that_was_stored(open_memory: OpenMemory, visit: Visit) -> None:
    key = "sk-proj-Zk3vQ9xW2mT7rB4nL8cJ5hF1dS6gP0aYuEiOqRtX"
    memory = open_memory("kept.db", settings=Settings(recording={"secrets": "keep"}))
    for n in range(30):
        memory.record(f"The key of the {n}th oven is {key} in the kitchen.", "Noted.")
    assert key in memory.recall("key of the oven", secrets=True)[0].text
    page = visit(memory).get("/?turn=What+is+the+key+of+the+oven%3F").text
    assert "What the whisper left out" in page
    assert key not in page
