from __future__ import annotations

from typing import Any

import pytest

from tidal_plugins import NotFound, TidalMemory

TURN: dict[str, Any] = {"user": "I play jazz piano", "agent": "Nice.", "thread": "monday", "id": "1"}


@pytest.fixture
def peer(open_memory: Any) -> TidalMemory:
    opened: TidalMemory = open_memory("peer.db")
    return opened


def ids(memory: TidalMemory) -> list[str]:
    turn = memory.record(**TURN)
    return [turn.id, *turn.entries, memory.remember("A scale has eight notes.").id]


def test_two_stores_never_share_an_id(memory: TidalMemory, peer: TidalMemory) -> None:
    assert not set(ids(memory)) & set(ids(peer))


def test_ids_of_one_store_begin_alike_and_stay(memory: TidalMemory, open_memory: Any) -> None:
    known = ids(memory)
    assert len({id_[:2] for id_ in known}) == 1
    assert {len(id_) for id_ in known} == {13}
    memory.close()
    again = open_memory()
    assert ids(again) == known
    assert again.episodes.id_of("1", thread="monday") == known[0]


def test_entries_of_facts_and_of_the_graph_differ_too(memory: TidalMemory, peer: TidalMemory) -> None:
    found = []
    for one in (memory, peer):
        one.facts["favourite colour"] = "green"
        one.record("The billing service depends on PostgreSQL.")
        one.graph.index_pending()
        found.append({hit.id for hit in one.recall("favourite colour, billing service, PostgreSQL", kinds={"fact"})})
    assert len(found[0]) > 1
    assert not found[0] & found[1]


def test_an_id_of_another_store_is_named_as_such(memory: TidalMemory, open_memory: Any) -> None:
    peers = [open_memory(f"peer {number}.db") for number in range(4)]  # one in 1,024 has the same mark by chance
    peer = next(peer for peer in peers if ids(peer)[0][:2] != ids(memory)[0][:2])
    for id_ in ids(peer):
        with pytest.raises(NotFound, match="another store"):
            memory.get(f"[ep:{id_}]")
    with pytest.raises(NotFound) as caught:
        memory.get("nothing")
    assert "another store" not in str(caught.value)
