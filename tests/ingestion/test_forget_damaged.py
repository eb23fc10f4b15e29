"""Damaged rows are forgotten with their bytes, and no log tells what is stored."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import apsw
import pytest

from tidal_plugins import Corrupt, Forgotten, HashingEmbedder, Settings, TidalMemory

TEXT = "The alarm of the boathouse is set by Marguerite."


def opened(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))


def sql(path: Path, statement: str, *bindings: Any) -> None:
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement, bindings)
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with opened(path) as memory:
        memory.record("The tide turns at four.", "At four, noted.", thread="quay", id="tide")
        memory.record(TEXT, "Good to know.", thread="boats", id="alarm")
        memory.remember("Marguerite has the spare oars.", source="oars.md")
    return path


def episode(path: Path) -> Any:
    with opened(path) as memory:
        return memory.episodes[memory.episodes.id_of("alarm", thread="boats")]


def held(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in path.parent.glob("agent.db*"))


@pytest.mark.parametrize("text", ["text || '?'", "CAST(x'ff' || text AS TEXT)"], ids=["altered", "no text"])
def test_a_damaged_entry_that_is_named_goes_with_its_bytes(path: Path, text: str) -> None:
    turn = episode(path)
    sql(path, f"UPDATE entries SET text = {text} WHERE id = ?", turn.entries[0])
    with opened(path) as memory:
        with pytest.raises(Corrupt):
            memory.get(turn.entries[0])
        receipt = memory.forget(turn.entries[0])
        assert (receipt.count, receipt.shelves["damaged"], receipt.complete) == (1, 1, True)
        assert receipt.ids == (turn.entries[0],)
        assert receipt.blanked == (turn.id,)
        assert [message.text for message in memory.episodes[turn.id].messages] == ["[forgotten]", "Good to know."]
        with pytest.raises(Forgotten):
            memory.get(turn.entries[0])
        assert memory.check().lost == ()
    assert b"boathouse" not in held(path)
    assert b"spare oars" in held(path)


def test_a_damaged_episode_takes_along_what_was_said_in_it(path: Path) -> None:
    turn = episode(path)
    sql(path, "UPDATE entries SET metadata = metadata || ' ' WHERE id = ?", turn.id)
    with opened(path) as memory:
        receipt = memory.forget(f"ep:{turn.id}")
        assert set(receipt.ids) == {turn.id, *turn.entries}
        assert [episode.thread for episode in memory.episodes.list()] == ["quay"]
    assert b"boathouse" not in held(path)


def test_a_damaged_message_goes_with_its_episode_and_its_thread(path: Path) -> None:
    turn = episode(path)
    sql(path, "UPDATE entries SET importance = 9 WHERE id = ?", turn.entries[0])
    with opened(path) as memory:
        receipt = memory.forget(thread="boats")
        assert set(receipt.ids) == {turn.id, *turn.entries}
    assert b"boathouse" not in held(path)


def test_a_damaged_document_goes_by_its_source(path: Path) -> None:
    sql(path, "UPDATE entries SET importance = 9 WHERE source = 'oars.md'")
    with opened(path) as memory:
        assert memory.forget(source="oars.md").count == 1
    assert b"spare oars" not in held(path)
    assert b"boathouse" in held(path)


def test_no_log_tells_the_name_of_a_damaged_row(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(path) as memory:
        memory.facts["Marguerite"] = "harbour master"
    sql(path, "UPDATE documents SET value = replace(value, 'master', 'mister') WHERE value LIKE '%harbour%'")
    with caplog.at_level(logging.INFO), opened(path) as memory:
        with pytest.raises(Corrupt):
            memory.facts["Marguerite"]
        memory.record("Marguerite is the harbour pilot.", "Noted.")
    assert "a row of documents is damaged" in caplog.text
    assert "marguerite" not in caplog.text.lower()
