"""Recall finds what the graph knows, where facts are asked for."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import SAID, Opened
from tidal_plugins import Forgotten, Settings
from tidal_plugins.testing import FrozenClock


def test_recall_finds_what_the_graph_says_where_facts_are_asked_for(opened: Opened, clock: FrozenClock) -> None:
    memory = opened()
    episodes = []
    for number in range(5):
        episodes.append(memory.record(f"{SAID}, as said in talk {number}").id)
        clock.advance(hours=1)
    memory.graph.index_pending()
    hits = memory.recall("what does billing depend on?", kinds={"fact"})
    cited = " ".join(f"[ep:{id_}]" for id_ in episodes[:3])
    assert f"billing depends on storage {cited}" in [hit.text for hit in hits]
    top = next(hit for hit in hits if "relation" in hit.entry.metadata)
    assert top.why.keyword_rank
    assert top.why.vector_rank
    assert top.entry.metadata["episodes"] == episodes[:3]
    relation = memory.graph.relation(top.entry.metadata["relation"])
    assert len(memory.graph.evidence(relation)) == 5
    assert {hit.entry.kind for hit in memory.recall("what does billing depend on?")} == {"conversation"}
    assert not {hit.id for hit in memory.whisper("what does billing depend on?").hits} & {hit.id for hit in hits}


def test_what_a_new_turn_contradicts_is_found_no_more(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    memory.record("I live in Berlin.")
    memory.graph.index_pending()
    clock.advance(days=30)
    memory.record("I live in Lisbon.")
    memory.graph.index_pending()
    found = [hit.text for hit in memory.recall("where does the user live?", kinds={"fact"})]
    relations = [text for text in found if "live" in text]
    assert len(relations) == 1
    assert "Lisbon" in relations[0]


def test_a_merge_renames_what_recall_finds(opened: Opened) -> None:
    memory = opened()
    memory.record("invoices depends on storage")
    memory.record(SAID)
    memory.graph.index_pending()
    merge = memory.graph.merge("billing", "invoices")
    memory.graph.index_pending()
    found = {hit.text.split(" [")[0] for hit in memory.recall("what depends on storage", kinds={"fact"})}
    assert SAID in found
    assert "invoices depends on storage" not in found
    memory.graph.undo(merge)
    memory.graph.index_pending()
    found = {hit.text.split(" [")[0] for hit in memory.recall("what depends on storage", kinds={"fact"})}
    assert {SAID, "invoices depends on storage"} <= found


def test_a_fact_that_was_forgotten_is_not_written_again(opened: Opened) -> None:
    memory = opened()
    memory.record(SAID)
    memory.graph.index_pending()
    [hit] = [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]
    memory.forget(hit.id)
    with pytest.raises(Forgotten):
        memory.get(hit.id)
    memory.graph.index_pending()
    assert not [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]
