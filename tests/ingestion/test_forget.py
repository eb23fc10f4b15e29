"""Forgetting while others write, and forgetting what is damaged."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.inside import raw
from tidal_plugins import Corrupt, Forgotten, HashingEmbedder, Message, NotFound, Settings, Statement, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import NOON, FrozenClock


class Pausing(HashingEmbedder):
    """Lets a test act between the reading and the writing of an operation."""

    def __init__(self) -> None:
        super().__init__()
        self.act: Any = None

    def embed(self, texts: Any) -> Any:
        act, self.act = self.act, None
        if act:
            act()
        return super().embed(texts)


def test_a_turn_that_grows_meanwhile_is_blanked_as_it_then_is(open_memory: Any) -> None:
    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    asked = Message("user", "my pin is 4711", id="u")
    episode = other.record(messages=[asked, Message("assistant", "One moment.", id="a")])
    embedder.act = lambda: other.record(messages=[asked, Message("assistant", "There.", id="b")], id="u")
    assert memory.forget(episode.entries[0]).count == 1
    assert [m.text for m in memory.episodes[episode.id].messages] == ["[forgotten]", "One moment.", "There."]


def test_an_episode_that_grows_meanwhile_goes_whole(open_memory: Any) -> None:
    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    asked = Message("user", "my pin is 4711", id="u")
    episode = other.record(messages=[asked])
    note = other.record(
        messages=[Message("user", "x", id="v"), Message("assistant", "blanked, so that texts are embedded", id="w")]
    )
    embedder.act = lambda: other.record(messages=[asked, Message("assistant", "There.", id="b")])
    assert memory.forget(episode.id, note.entries[0]).count == 4
    assert [kept.id for kept in memory.episodes.list()] == [note.id]
    assert not [hit for hit in memory.recall("There. pin 4711") if hit.entry.episode == episode.id]


def test_a_turn_forgotten_while_it_is_recorded_again_stays_forgotten(open_memory: Any) -> None:
    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    asked = Message("user", "my pin is 4711", id="u")
    episode = other.record(messages=[asked])
    embedder.act = lambda: other.forget(episode.id)
    memory.record(messages=[asked, Message("assistant", "There.", id="b")])
    with pytest.raises(NotFound):
        memory.episodes[episode.id]
    assert memory.episodes.list() == []


def test_forgetting_and_recording_at_once_leaves_no_entry_without_its_episode(memory: TidalMemory) -> None:
    start = threading.Barrier(2)

    def write() -> None:
        start.wait()
        for n in range(40):
            memory.record(f"turn {n}", "ok", thread="s", id=str(n))

    def wipe() -> None:
        start.wait()
        for _ in range(8):
            memory.forget(thread="s")

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write), pool.submit(wipe)]:
            done.result()
    kept = {episode.id: set(episode.entries) for episode in memory.episodes.list()}
    for hit in memory.recall("turn ok", limit=200):
        assert hit.entry.episode
        assert hit.id in kept[hit.entry.episode]


def test_bytes_that_a_reader_holds_are_reported_and_go_when_the_memory_is_closed(
    open_memory: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(settings=Settings(storage={"busy_timeout": 0.1}, graph={"background": False}))
    episode = memory.record("my pin is xylophone", "ok")
    reader = SQLiteStorage(tmp_path / "agent.db")
    with reader.snapshot():
        assert len(reader.find(memory.scope, Where())) == 3
        receipt = memory.forget(episode.id)
    assert (receipt.count, receipt.complete) == (3, False)
    assert "reader" in receipt.remains[0]
    assert "reader" in caplog.text
    assert "xylophone" not in caplog.text
    reader.close()
    memory.close()
    assert not [file for file in tmp_path.iterdir() if b"xylophone" in file.read_bytes()]


def test_what_takes_the_place_of_a_repeated_text_is_as_warm(memory: TidalMemory, clock: FrozenClock) -> None:
    first, second = (memory.record("The red kettle is broken.", id=id_).entries[0] for id_ in "ab")
    clock.advance(hours=5)
    memory.record("The red kettle is broken.", id="c")
    tier = memory.get(first).tier
    assert tier != memory.get(second).tier
    memory.forget(first)
    assert memory.get(second).tier == tier


@pytest.mark.parametrize("versions", [0, 9])
def test_what_a_model_carries_on_from_text_to_text_goes_with_its_source(
    open_memory: Any, clock: FrozenClock, versions: int
) -> None:
    class CarryingOn:
        def summarise(self, sources: Any, *, purpose: Any, previous: Any = (), max_tokens: int) -> Any:
            said = [*(item.text for item in previous), *(m.text for source in sources for m in source.messages)]
            return [Statement(" ".join(said), (sources[-1].id,))]

    memory = open_memory(summariser=CarryingOn(), settings=Settings(tuning={"dossier.versions": versions}))
    first = memory.remember("The harbour pin is xylophone.", valid_until=NOON + timedelta(hours=1))
    memory.dossiers.refresh("harbour")
    for n in range(3):
        clock.advance(hours=1)
        memory.remember(f"The harbour has news {n}.")
        assert "xylophone" in str(memory.dossiers.refresh("harbour", force=True))
    memory.forget(first.id)
    assert "xylophone" not in str(memory.dossiers.list())


def test_a_fact_s_citation_is_no_speaker(open_memory: Any) -> None:
    class Listening:
        def summarise(self, sources: Any, *, purpose: Any, previous: Any = (), max_tokens: int) -> Any:
            heard.extend(message.text for source in sources for message in source.messages)
            return [Statement("The bridge is down.", (sources[0].id,))]

    heard: list[str] = []
    memory = open_memory(summariser=Listening())
    memory.facts["bridge"] = "up"
    memory.record("The bridge is down.")
    memory.facts.resolve(memory.facts.conflicts()[0].id, "claim")
    memory.facts.set("bridge toll", "none", source="handbook.md")
    memory.dossiers.refresh("bridge")
    assert {"2026-03-01: bridge: down", "2026-03-01: handbook.md: bridge toll: none"} <= set(heard)


# damaged rows are forgotten with their bytes, and no log tells what is stored


TEXT = "The alarm of the boathouse is set by Marguerite."


def opened(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))


def sql(path: Path, statement: str, *bindings: Any) -> None:
    connection = raw(path)
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
