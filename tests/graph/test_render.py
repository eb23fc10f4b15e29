"""What the graph tells: relations on a question, the card of an entity, and what an agent states itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, NotFound, Settings, TidalMemory
from tidal_plugins.graph.render import tell
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(MONDAY)


@pytest.fixture
def memory(tmp_path, clock):
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


@pytest.fixture
def delimiters(memory):
    return memory.delimiters


@pytest.fixture
def learn(memory):
    def learn(*texts):
        for text in texts:
            memory.record(agent=text)
        assert memory.graph.index_pending().failed == 0
        return memory.graph

    return learn


def said(told):
    return [each.sentence for each in told]


def test_history_has_one_line_for_each_time_that_something_was_true(learn, memory, clock, delimiters):
    learn("The deployment is blocked.")
    clock.advance(days=1)
    graph = learn("The deployment is running.")
    first, second = tell(graph, delimiters, "deployment", "history").splitlines()[2:-1]
    assert "2026-03-02 09:00 to 2026-03-03 09:00: deployment is blocked" in first
    assert "2026-03-03 09:00 to now: deployment is running" in second
    (then,) = tell(graph, delimiters, "deployment", "history", at=MONDAY + timedelta(hours=1)).splitlines()[2:-1]
    assert "2026-03-02 09:00 to now: deployment is blocked" in then


# the card of an entity: what is so, what is planned and what was


@pytest.fixture
def family(tmp_path):
    clock, settings = FrozenClock(MONDAY), Settings(graph={"background": False})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings, clock=clock) as family:
        for said in (
            "I live in Ghent. I love rye bread.",
            "My sister Ana is a nurse.",
            "I moved to Namur. I'm planning to repaint the hall. Ana has asthma.",
        ):
            family.record(said, "Noted.")
            family.graph.index_pending()
            clock.advance(days=3)
        yield family


def texts(notes):
    return {note.text for note in notes}


def test_a_card_tells_what_is_so_what_is_planned_and_what_was(family):
    card = family.graph.card("user", reader="user")
    assert texts(card.current) == {
        "You live in Namur", "Ana is your sister", "You like rye bread",
    }  # fmt: skip
    assert texts(card.planned) == {"You plan to repaint the hall"}
    assert texts(card.past) == {"You lived in Ghent"}
    assert (card.past[0].since, card.past[0].until) == (MONDAY, MONDAY + timedelta(days=6))


def test_a_reader_who_is_somebody_else_is_not_addressed(family):
    told = texts(family.graph.card("Ana").current)
    assert told >= {"Ana is the sister of the user", "Ana works as a nurse"}
    with pytest.raises(NotFound):
        family.graph.card("Ana", type="file")


def lookup(family, name):
    """Return the text and the results of the tool that looks names up."""
    import langchain_tidal

    (tool,) = (tool for tool in langchain_tidal.history_tools(family) if tool.name == "entity_lookup")
    message = tool.invoke({"name": tool.name, "args": {"name": name}, "id": "1", "type": "tool_call"})
    return message.content, message.artifact["results"]


def test_the_sources_of_a_card_resolve(family):
    text, results = lookup(family, "user")
    (known,) = (row for row in results if row["name"] == "user")
    for note in (*known["current"], *known["planned"], *known["past"]):
        assert family.get(note["citation"]).text
    assert "before: The user lived in Ghent (since 2026-03-02, until 2026-03-08)" in text
    assert "planned: The user plans to repaint the hall (since 2026-03-08)" in text


# what an agent states itself: into the graph under its own name


CALM = Settings(graph={"background": False})


def test_a_statement_is_a_relation_by_the_agent_and_found_at_once(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    made = memory.graph.relate("Ana", "works_at", "the mint", since=datetime(2026, 1, 5, tzinfo=UTC))
    assert memory.graph.sentence(made) == "Ana works at the mint"
    assert (made.confidence, made.valid_from) == (pytest.approx(0.9), datetime(2026, 1, 5, tzinfo=UTC))
    (evidence,) = memory.graph.evidence(made.id)
    assert (evidence.reader, evidence.quote) == ("agent", "")
    assert memory.graph.entity("Ana").type == "person"
    assert memory.graph.entity("the mint").type == "organisation"
    assert any("Ana works at the mint" in hit.text for hit in memory.recall("Where does Ana work?", kinds={"fact"}))


def test_it_confirms_what_the_rules_read_and_ends_what_it_contradicts(open_memory: Any, clock: Any) -> None:
    memory = open_memory(settings=CALM)
    memory.record("I live in Porto.", "Noted.")
    memory.graph.index_pending()
    memory.graph.relate("the user", "lives_in", "Porto")
    (home,) = memory.graph.relations(predicate="lives_in")
    assert sorted(one.reader for one in memory.graph.evidence(home.id)) == ["agent", "rules"]
    assert home.confidence > 0.95  # two who agree are surer than each
    clock.advance(days=1)
    memory.graph.relate("user", "lives_in", "Lyon")
    (home,) = memory.graph.relations(predicate="lives_in")
    assert memory.graph.sentence(home) == "user lives in Lyon"
    memory.record("I live in Porto, still.", "Noted.")
    memory.graph.index_pending()
    (home,) = memory.graph.relations(predicate="lives_in")
    assert memory.graph.sentence(home) == "user lives in Porto"


def test_denials_ends_and_spans_of_time(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    memory.graph.relate("billing", "uses", "Redis", subject_type="service", object_type="tool", negated=True)
    over = memory.graph.relate("Ana", "manager_of", "Ben", ended=True)
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    span = memory.graph.relate("Ana", "on_call", "storage", since=begin, until=end)
    (denied,) = memory.graph.relations(predicate="uses")
    assert denied.negated
    assert over.valid_until is not None
    assert memory.graph.relations(predicate="manager_of") == []
    assert (span.valid_from, span.valid_until) == (begin, end)
    assert len(memory.graph.relations(predicate="on_call", valid_at=datetime(2026, 1, 9, tzinfo=UTC))) == 1


def test_forgetting_the_turn_or_the_source_takes_it_back(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    turn = memory.record("Write that down.", "Done.", thread="monday")
    made = memory.graph.relate("Ana", "works_at", "the mint", turn=turn.citation, thread="monday")
    assert made.episodes == (turn.id,)
    assert memory.graph.relations(episode=turn.id) == [made]
    memory.graph.relate("Ben", "works_at", "the bank")
    memory.forget(turn.id)
    assert [memory.graph.entity(one.subject).name for one in memory.graph.relations()] == ["Ben"]
    assert "Ben works at the bank" in [entry.text for entry in memory.entries.list(kinds={"fact"})]
    assert memory.graph.forget_source("agent") == 3  # two names and a relation
    assert memory.graph.relations() == memory.entries.list(kinds={"fact"}) == []


def test_the_same_statement_again_changes_nothing_and_no_secret_is_kept(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    first = memory.graph.relate("Ana", "uses", "Vim")
    assert memory.graph.relate("Ana", "uses", "Vim").id == first.id
    assert len(memory.graph.evidence(first.id)) == 1
    memory.graph.relate("Ana", "wants", "the password: hunter2secret")
    assert "hunter2secret" not in memory.graph.export()


@pytest.mark.parametrize(
    "wrong",
    [
        {"predicate": "???"},
        {"subject": " "},
        {"object": "x" * 500},
        {"object": "Ana", "object_type": "person"},
        {"object_type": "!"},
        {"since": datetime(2026, 2, 1, tzinfo=UTC), "until": datetime(2026, 1, 1, tzinfo=UTC)},
        {"since": datetime(2026, 2, 1)},
        {"since": datetime(2090, 2, 1, tzinfo=UTC), "ended": True},
        {"until": datetime(2090, 2, 1, tzinfo=UTC), "ended": True},
        {"negated": "yes"},
        {"turn": ""},
    ],
)
def test_what_is_no_statement_is_refused_and_leaves_nothing(open_memory: Any, wrong: dict[str, Any]) -> None:
    memory = open_memory(settings=CALM)
    with pytest.raises(InvalidInput):
        memory.graph.relate(**{"subject": "Ana", "predicate": "works_at", "object": "the mint", **wrong})
    assert memory.graph.relations() == []
    assert memory.graph.entities() == []


def test_characters_that_no_xml_holds_do_not_spoil_the_export(open_memory: Any) -> None:
    memory, other = open_memory(settings=CALM), open_memory("other.db", settings=CALM)
    memory.graph.relate("A\ufffeda \x1b", "works_at", "the mint\uffff", thread="harbour\uffff \ufffe🙂")
    assert len(other.graph.load(memory.graph.export(), source="file").relations) == 1


def test_a_graph_and_its_source_are_bounded(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    memory.graph.relate("Ada", "works_at", "the mint")
    for source in ("s" * 100_000, "🙂" * 3_000):
        with pytest.raises(InvalidInput, match="at most"):
            memory.graph.load(memory.graph.export(), source=source)
    with pytest.raises(InvalidInput, match="load it in parts"):
        memory.graph.load(" " * 32_000_001, source="file")
