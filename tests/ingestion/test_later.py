from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import Extraction, HashingEmbedder, InvalidInput, Settings, TidalMemory

UNREAD = Settings(graph={"background": False})
SAID = "The billing service depends on PostgreSQL."


class Gate:
    """Reads nothing in any text, once it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        self.opened.wait()
        return [Extraction() for _ in texts]


def test_close_waits_for_queued_work(open_memory: Any) -> None:
    with open_memory(settings=Settings(tuning={"graph.quiet": 60})) as memory:
        memory.record(SAID)
        memory.scoped("user", "42").record(SAID)
        memory.close(timeout=60)
    with open_memory(settings=UNREAD) as again:
        assert again.graph.pending() == []
        assert again.scoped("user", "42").graph.pending() == []
        assert [relation.predicate for relation in again.graph.relations()] == ["depends_on"]


def test_close_leaves_queued_work_in_the_queue(open_memory: Any) -> None:
    with open_memory(settings=Settings(tuning={"graph.quiet": 60})) as memory:
        kept = memory.record(SAID)
    with open_memory(settings=UNREAD) as again:
        assert [item.episode for item in again.graph.pending()] == [kept.id]


def test_close_waits_no_longer_than_it_is_told(open_memory: Any) -> None:
    reader = Gate()
    memory = open_memory(graph_extractor=reader, settings=Settings(tuning={"graph.quiet": 0.0}))
    kept = memory.record(SAID)
    closing = threading.Thread(target=memory.close, kwargs={"timeout": 0.01})
    closing.start()
    closing.join()
    reader.opened.set()
    with open_memory(settings=UNREAD) as again:
        assert [item.episode for item in again.graph.pending()] == [kept.id]


def test_without_a_background_closing_does_not_wait(open_memory: Any) -> None:
    memory = open_memory(settings=UNREAD)
    kept = memory.record(SAID)
    memory.close(timeout=1e6)
    with open_memory(settings=UNREAD) as again:
        assert [item.episode for item in again.graph.pending()] == [kept.id]


@pytest.mark.parametrize("timeout", [-1, "soon", None, True, float("nan")])
def test_a_timeout_is_a_number_of_seconds(memory: TidalMemory, timeout: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.close(timeout=timeout)


def test_opening_one_scope_resumes_the_work_of_all(tmp_path: Path) -> None:
    path, scopes = tmp_path / "agent.db", [("user", "1"), ("user", "2")]
    with TidalMemory(path, embedder=HashingEmbedder(), settings=UNREAD) as memory:
        for scope in scopes:
            memory.scoped(*scope).record(SAID)
    with TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(tuning={"graph.quiet": 0.0})) as memory:
        memory.close(timeout=60)
    with TidalMemory(path, embedder=HashingEmbedder(), settings=UNREAD) as memory:
        for scope in scopes:
            assert memory.scoped(*scope).graph.pending() == []
            assert len(memory.scoped(*scope).graph.relations()) == 1
