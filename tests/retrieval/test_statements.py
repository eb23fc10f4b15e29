"""How many SQL statements a recall and a whisper take, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tidal_plugins import HashingEmbedder, Settings, TidalMemory

MOST = 6
FRAME = ("BEGIN", "ROLLBACK", "COMMIT")
"""Statements that read nothing: the two ends of a snapshot."""

TOPICS = ["the ferry to Oslo", "the harbour lantern", "a net for mackerel", "the tide table", "an old brass bell"]


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the statements of every connection that is opened inside."""
    said: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        if not sql.startswith(FRAME):
            said.append(sql)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(watch)
    try:
        yield said
    finally:
        apsw.connection_hooks.remove(watch)


@pytest.mark.parametrize("links", [False, True])
def test_a_recall_and_a_whisper_take_few_statements(tmp_path: Path, links: bool) -> None:
    settings = Settings(graph={"background": False})
    with counted() as said, TidalMemory(tmp_path / "a.db", embedder=HashingEmbedder(), settings=settings) as memory:
        for number in range(60):
            memory.record(f"We spoke of {TOPICS[number % 5]}, number {number}.", "I see.", thread=f"t{number // 10}")
        if links:
            memory.record("My ferry leaves at 9:00.", "Noted.", thread="ferry")
            memory.record("My ferry now leaves at 10:30.", "Noted.", thread="ferry")
        memory.recall("What about the bell?")
        memory.whisper("Where is the bell of the harbour?")
        for call in (memory.recall, memory.whisper):
            for question in ("When does the ferry leave for Oslo?", "Who lit the lantern?", "Is there a mackerel net?"):
                said.clear()
                call(question)
                assert len(said) <= MOST, (call.__name__, said)


def test_what_others_write_is_seen_at_once(tmp_path: Path) -> None:
    path, embedder = tmp_path / "a.db", HashingEmbedder()
    with TidalMemory(path, embedder=embedder) as memory, TidalMemory(path, embedder=embedder) as other:
        for number in range(4):
            assert len(memory.recall(f"lighthouse {number}")) == number
            kept = other.record(f"The lighthouse {number} is dark.", thread="coast")
            assert memory.recall(f"lighthouse {number}").ids[0] in kept.entries
        other.forget(*memory.recall("lighthouse").ids)
        assert not memory.recall("lighthouse").ids
