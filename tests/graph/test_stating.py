"""What an agent states itself: into the graph under its own name, against or with what others said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tidal_plugins import InvalidInput, Settings

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
    assert home.confidence == pytest.approx(0.99)
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


def test_what_was_over_before_now_was_true_until_then(open_memory: Any, clock: Any) -> None:
    memory, end = open_memory(settings=CALM), datetime(2025, 2, 1, tzinfo=UTC)
    over = memory.graph.relate("Ana", "works_at", "the mint", until=end)
    assert over.valid_until == end
    assert over.valid_from is not None
    assert over.valid_from < end
    memory.graph.relate("Ana", "lives_in", "Rome")
    clock.advance(days=9)
    memory.graph.relate("Ana", "lives_in", "Rome", until=clock() - timedelta(days=2))
    assert memory.graph.relations() == []


def test_forgetting_the_turn_or_the_source_takes_it_back(open_memory: Any) -> None:
    memory = open_memory(settings=CALM)
    turn = memory.record("Write that down.", "Done.", thread="monday")
    made = memory.graph.relate("Ana", "works_at", "the mint", turn=turn.citation, thread="monday")
    assert made.episodes == (turn.id,)
    assert memory.graph.relations(episode=turn.id) == [made]
    memory.graph.relate("Ben", "works_at", "the bank")
    memory.forget(turn.id)
    assert [memory.graph.entity(one.subject).name for one in memory.graph.relations()] == ["Ben"]
    assert memory.graph.forget_source("agent") == 3  # two names and a relation
    assert memory.graph.relations() == []


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
    memory.graph.relate("A\ufffeda \x1b", "works_at", "the mint\uffff")
    assert len(other.graph.load(memory.graph.export(), source="file").relations) == 1
