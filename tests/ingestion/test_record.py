"""Recording: episodes, entries and moods in detail; imports, ids and binary data."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import apsw
import pytest

from tidal_plugins import Affect, Exchange, HashingEmbedder, Message, NotFound, Settings, TidalMemory, ToolCall
from tidal_plugins.model.exchange import Imported
from tidal_plugins.testing import NOON, FrozenClock


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([Message("user", "Hello."), Message("assistant", "Hi.")], "Hello. → Hi."),
        ([Message("user", "Hello.")], "Hello."),
        ([Message("assistant", "Good\n\nmorning.")], "Good morning."),
        ([Message("tool", "output")], ""),
        (
            [Message("user", "Go."), Message("assistant", "", tool_calls=(ToolCall("a"), ToolCall("b"), ToolCall("a"))),
             Message("assistant", "Done.")],
            "Go. → [a, b] Done.",
        ),
        ([Message("user", "Go."), Message("assistant", "", tool_calls=(ToolCall("a"),))], "Go. → [a]"),
    ],
)  # fmt: skip
def test_a_summary_tells_question_tools_and_answer(memory: TidalMemory, messages: list[Message], expected: str) -> None:
    assert memory.record(messages=messages).summary == expected


def test_entries_know_who_said_them_where_and_when(memory: TidalMemory) -> None:
    at = NOON - timedelta(days=2)
    said = (Message("user", "jazz", "m1", "Ann", at=at + timedelta(hours=1)), Message("assistant", "yes", "m2"))
    kept = memory.record(messages=said, thread="s", occurred_at=at, metadata={"lang": "en"})
    user, agent = (memory.get(id_) for id_ in kept.entries)
    assert (user.kind, user.speaker, user.role, user.channel) == ("conversation", "Ann", "user", "user")
    assert (agent.speaker, agent.role, agent.channel, agent.position) == (None, "assistant", "agent", 1)
    assert (user.occurred_at, agent.occurred_at) == (at + timedelta(hours=1), at + timedelta(microseconds=1))
    assert user.recorded_at == agent.recorded_at == NOON
    assert user.episode == agent.episode == kept.id
    assert user.citation == kept.citation
    assert user.metadata == {"lang": "en", "message": "m1"}


def test_an_entry_holds_the_mood_after_its_exchange(memory: TidalMemory) -> None:
    kept = memory.record("I love this wonderful, great day!!!", "So do I, it is lovely! " * 20)
    assert memory.affect.state().valence > 0.1
    assert {memory.get(id_).affect for id_ in kept.entries} == {memory.affect.state()}


def test_what_is_known_is_not_embedded_again(open_memory: Any) -> None:
    embedder = Counted()
    memory = open_memory(embedder=embedder)
    turn = Exchange((Message("user", "hello there", "m1"),))
    memory.record_many([turn] * 3)
    assert embedder.calls == [["hello there"]]  # one text for the summary and for the message
    memory.record_many([turn])
    memory.remember("a note")
    memory.remember("a note")
    assert [text for call in embedder.calls for text in call] == ["hello there", "a note"]


def test_a_bulk_import_walks_through_the_moods(memory: TidalMemory, clock: FrozenClock) -> None:
    glad, sad = "I love this wonderful, great day!!!", "I hate this horrible, terrible day!!!"
    year = [NOON - timedelta(days=365), NOON - timedelta(days=364)]
    memory.record_many(
        [
            Exchange((Message("user", text), Message("assistant", text * 12)), "old", None, at)
            for text, at in zip((glad, sad), year, strict=True)
        ]
    )
    moods = [memory.get(kept.entries[0]).affect for kept in memory.episodes.list()]
    assert moods[0]
    assert moods[1]
    assert moods[0].valence > 0.2
    assert moods[1].valence < -0.2
    assert memory.affect.state().intensity < 1e-6
    assert memory.affect.state() != Affect(1.0)


def test_half_lives_beyond_any_calendar_are_as_good_as_for_ever(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"decay.warm": 1e12, "decay.cold": 1e300}))
    [id_] = memory.record("My cat is Mia").entries
    assert memory.get(id_).tier.cold_at.year == 9999
    assert memory.recall("cat")[0].id == id_


# imports: streamed, in batches that stay

BATCH = 50


def exchanges(count: int) -> Iterator[Exchange]:
    for number in range(count):
        said = (Message("user", f"Is buoy {number} lit?"), Message("assistant", f"Buoy {number} is lit."))
        yield Exchange(said, f"watch {number // 100}", str(number))


class Counted(HashingEmbedder):
    """Keeps the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__(32)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        return super().embed(texts)


@pytest.fixture
def embedder() -> Counted:
    return Counted()


@pytest.fixture
def batched(open_memory: Any, embedder: Counted) -> TidalMemory:
    opened: TidalMemory = open_memory(
        settings=Settings(graph={"background": False}, tuning={"ingestion.batch": BATCH}), embedder=embedder
    )
    return opened


def test_a_generator_is_read_one_batch_ahead_of_what_is_stored(batched: TidalMemory) -> None:
    read, stored = 0, 0
    ahead: list[int] = []

    def given() -> Iterator[Exchange]:
        nonlocal read
        for exchange in exchanges(1_000):
            read += 1
            ahead.append(read - stored)
            yield exchange

    def note(done: int, of: int | None) -> None:
        nonlocal stored
        assert of is None
        stored = done

    assert batched.record_many(given(), progress=note) == Imported(exchanges=1_000, new=1_000)
    assert max(ahead) == BATCH + 1
    turns = [episode.turn for episode in batched.episodes.list(thread="watch 3")]
    assert (len(batched.episodes.list()), turns) == (1_000, list(range(1, 101)))


def test_what_was_stored_before_a_generator_failed_stays_and_is_only_read_again(
    batched: TidalMemory, embedder: Counted
) -> None:
    def failing() -> Iterator[Exchange]:
        yield from exchanges(120)
        raise OSError("the export is cut off")

    with pytest.raises(OSError, match="cut off"):
        batched.record_many(failing())
    assert len(batched.episodes.list()) == 2 * BATCH
    before = len(embedder.calls)
    assert batched.record_many(exchanges(100)) == Imported(exchanges=100)
    assert len(embedder.calls) == before
    assert batched.record_many(exchanges(120)) == Imported(exchanges=120, new=20)


# binary data inside long texts: it is kept, and not embedded

IMAGE = base64.b64encode(bytes(range(256)) * 500).decode()
CAPTION = "The wooden boat needs new caulking before spring."


def test_an_image_inside_a_document_is_kept_and_not_embedded(tmp_path: Any) -> None:
    embedder = Counted()
    with TidalMemory(tmp_path / "agent.db", embedder=embedder) as memory:
        text = f"{CAPTION}\n\n{IMAGE}\n\nThe ferry to the island leaves at noon."
        entry = memory.remember(text, source="boat.md")
        assert memory.get(entry.id).text == text
        assert not any(IMAGE[at : at + 50] in text for call in embedder.calls for text in call for at in (100, -100))
        assert CAPTION in memory.recall("When does the boat need caulking?").hits[0].passage
        assert "ferry" in memory.recall("When does the ferry leave?").hits[0].passage


# ids

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


def test_an_id_of_another_store_is_named_as_such(memory: TidalMemory, open_memory: Any) -> None:
    peers = [open_memory(f"peer {number}.db") for number in range(4)]  # one in 1,024 has the same mark by chance
    peer = next(peer for peer in peers if ids(peer)[0][:2] != ids(memory)[0][:2])
    for id_ in ids(peer):
        with pytest.raises(NotFound, match="another store"):
            memory.get(f"[ep:{id_}]")
    with pytest.raises(NotFound) as caught:
        memory.get("nothing")
    assert "another store" not in str(caught.value)


# the statements of SQL that recording takes: few, and as many in a large store as in a small one

MOST = 45
"""Statements of one turn of two texts, each row of a table counted as one."""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Note the statements of this thread on every connection that is opened inside."""
    seen, own = list[str](), threading.get_ident()

    def note(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        if threading.get_ident() == own:
            seen.append(sql)
        return True

    def trace(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, trace])
    yield seen
