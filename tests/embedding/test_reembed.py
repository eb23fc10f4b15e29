"""Re-embedding a store while it is in use."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.journeys.conftest import ENVIRONMENT
from tests.waiting import PATIENCE
from tidal_plugins import (
    Conflict,
    EmbedderMismatch,
    EmbeddingEmotion,
    EmbeddingError,
    Exchange,
    HashingEmbedder,
    Message,
    Note,
    TidalMemory,
)
from tidal_plugins.testing import FrozenClock

OLD, NEW = HashingEmbedder(32), HashingEmbedder(64)
WORDS = "jazz piano bread tea train Oslo bridge garden winter paint".split()


def fill(memory: TidalMemory, notes: int = 30) -> None:
    """Record turns, notes, a long document, a fact, and turns of another scope."""
    exchanges = [Exchange((Message("user", f"I like {word}", speaker="Ann"),), "s", word) for word in WORDS]
    memory.record_many(exchanges)
    memory.remember([Note(f"{WORDS[n % 10]} is number {n}", source="list.md", tags=["ops"]) for n in range(notes)])
    memory.remember("\n".join(f"# About {word}\n\n{f'The {word} matters. ' * 80}" for word in WORDS), source="doc.md")
    memory.facts["bridge"] = "up"
    memory.scoped("other").remember([Note(f"{word} elsewhere") for word in WORDS])
    memory.maintenance.run()


def answers(memory: TidalMemory) -> Any:
    """Return all that searches find, with the scores."""
    return [
        [(hit.entry.text, hit.passage, pytest.approx(hit.score, abs=1e-4)) for hit in view.recall(word, limit=20)]
        for view in (memory, memory.scoped("other"))
        for word in WORDS
    ]


class Counting(HashingEmbedder):
    """Calls ``before`` ahead of every batch, with the number of batches before it."""

    def __init__(self, dimensions: int = 64, before: Callable[[int], None] = lambda _: None) -> None:
        super().__init__(dimensions)
        self.batches, self.texts, self.before = 0, 0, before

    def embed(self, texts: Sequence[str]) -> Any:
        self.before(self.batches)
        self.batches += 1
        self.texts += len(texts)
        return super().embed(texts)


class Reading(HashingEmbedder):
    """Reads the vectors of ``OLD``, and makes them by way of ``writes``."""

    id = "small"
    reads = (OLD.id,)

    def __init__(self, writes: Any = None) -> None:
        super().__init__(32)
        self.writes = writes

    def writer_for(self, id: str) -> Any:
        if isinstance(self.writes, Exception):
            raise self.writes
        return self.writes


def test_a_store_ends_as_if_the_new_embedder_had_written_it(open_memory: OpenMemory) -> None:
    memory, fresh = open_memory("old.db", embedder=OLD), open_memory("fresh.db", embedder=NEW)
    fill(memory)
    fill(fresh)
    before = answers(memory)
    assert before != answers(fresh)
    count = memory.reembed(NEW)
    assert count > 80
    assert answers(memory) == answers(fresh)
    assert answers(open_memory("old.db", embedder=NEW)) == answers(fresh)
    assert memory.recall("I like tea")[0].entry.text == "I like tea"
    memory.record("a new turn about glass", "Noted.", thread="s")
    memory.scoped("other").remember("glass elsewhere")
    for one in (memory, open_memory("old.db", embedder=NEW)):
        assert "glass" in one.recall("a new turn about glass")[0].entry.text
        assert one.scoped("other").recall("glass elsewhere")[0].entry.text == "glass elsewhere"


def test_the_same_embedder_has_nothing_to_do_and_another_tells_how_far_it_is(open_memory: OpenMemory) -> None:
    """Meanwhile searches find the old vectors."""
    memory = open_memory(embedder=OLD)
    assert open_memory("empty.db", embedder=OLD).reembed(NEW) == 0
    fill(memory, notes=300)
    with pytest.raises(Exception, match="embedder"):
        memory.reembed(json)  # type: ignore[arg-type]
    assert memory.reembed(HashingEmbedder(32)) == 0
    before = answers(memory)
    told: list[tuple[int, int]] = []

    def progress(done: int, of: int) -> None:
        told.append((done, of))
        assert done == of or answers(memory) == before

    count = asyncio.run(memory.areembed(NEW, progress=progress))
    assert told == sorted(told)
    assert {of for _, of in told} == {count}
    assert (told[0][0], told[-1][0]) == (0, count)
    assert len(told) > 2
    assert memory.reembed(NEW) == 0


def test_what_is_recorded_and_forgotten_meanwhile_is_right(open_memory: OpenMemory) -> None:
    memory, other = open_memory(embedder=OLD), open_memory(embedder=OLD)
    fill(memory, notes=250)
    secret = memory.remember("the secret is 4711 indeed")

    def meanwhile(done: int, of: int) -> None:
        if done < of:
            other.remember(f"glass after {done}")
            memory.record(f"I like glass {done}", thread="s")
            memory.forget(secret.id)

    memory.reembed(NEW, progress=meanwhile)
    found = {hit.entry.text for hit in memory.recall("glass", limit=50)}
    assert {"glass after 0", "I like glass 0", "glass after 200"} <= found
    assert "the secret is 4711 indeed" not in {hit.entry.text for hit in memory.recall("secret 4711", limit=50)}
    assert all(hit.why.vector_rank for hit in memory.recall("I like glass 0") if hit.entry.text == "I like glass 0")


@pytest.mark.slow
def test_a_thread_that_records_all_the_time_loses_nothing_and_meets_no_error(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=OLD)
    fill(memory, notes=250)
    begun, stop, written, errors = threading.Event(), threading.Event(), list[str](), list[BaseException]()

    def write() -> None:
        try:
            while not stop.is_set():
                word = f"glass{len(written)}"
                memory.record(f"I like {word}", "Noted.", thread="t")
                memory.whisper(f"what about {word}?")
                memory.recall(f"{word} in 2025 before the move")
                written.append(word)
                begun.set()
        except BaseException as error:
            errors.append(error)
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(PATIENCE)
        for embedder in (NEW, OLD, NEW):
            memory.reembed(embedder)
    finally:
        stop.set()
        thread.join()
    assert not errors
    for word in written:
        [hit] = [hit for hit in memory.recall(f"I like {word}", limit=50) if hit.entry.text == f"I like {word}"]
        assert hit.why.vector_rank == 1, "its vector is the new embedder's"


@pytest.mark.slow
def test_another_process_that_records_meanwhile_loses_nothing(open_memory: OpenMemory, tmp_path: Path) -> None:
    code = """
import sys
from tidal_plugins import EmbedderMismatch, HashingEmbedder, TidalMemory
with TidalMemory(sys.argv[1], embedder=HashingEmbedder(32)) as memory:
    try:
        for number in range(10_000):
            memory.remember(f"glass number {number}")
            print(number, flush=True)
    except EmbedderMismatch as error:
        print("mismatch", flush=True)
"""
    memory = TidalMemory(tmp_path / "agent.db", embedder=OLD)
    fill(memory, notes=250)
    run = [sys.executable, "-W", "error", "-c", code, memory.path]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout
        first = process.stdout.readline()
        memory.reembed(NEW)
        said = [first, *process.stdout]
    assert said[-1] == "mismatch\n"
    texts = {hit.entry.text for hit in memory.recall("glass number", limit=1000, kinds={"kb"})}
    assert {f"glass number {number.strip()}" for number in said[:-1]} <= texts
    memory.close()


def test_a_memory_with_another_embedder_notices_and_can_take_the_store_over(open_memory: OpenMemory) -> None:
    memory, other = open_memory(embedder=OLD), open_memory(embedder=OLD)
    fill(memory)
    assert other.recall("tea")
    memory.reembed(NEW)
    for use in (
        lambda: other.recall("tea"),
        lambda: other.whisper("where is the tea?"),
        lambda: other.record("tea again", thread="s"),
        lambda: other.remember("tea again"),
    ):
        with pytest.raises(EmbedderMismatch, match="reembed"):
            use()
    assert len(memory.episodes.list()) == len(WORDS)
    other.reembed(OLD)
    assert other.recall("tea")
    wrong = open_memory(embedder=NEW)
    with pytest.raises(EmbedderMismatch):
        wrong.recall("tea")
    assert memory.recall("tea"), "it knows both"
    assert wrong.reembed(HashingEmbedder(16)) > 0
    assert wrong.recall("I like tea")[0].entry.text == "I like tea"


def test_an_embedder_that_fails_loses_nothing_and_goes_on_where_it_was(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=OLD)
    fill(memory, notes=300)
    before = answers(memory)

    def fail(batches: int) -> None:
        if batches == 2:  # one was a trial
            raise TimeoutError("too slow")

    with pytest.raises(EmbeddingError, match="too slow"):
        memory.reembed(Counting(before=fail))
    assert answers(memory) == before
    memory.remember("glass meanwhile")
    told: list[int] = []
    count = memory.reembed(NEW, progress=lambda done, of: told.append(done))
    assert told[0] == told[-1] - count > 0
    assert memory.recall("glass meanwhile")[0].entry.text == "glass meanwhile"


def test_two_calls_at_once_do_no_harm(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory, other = open_memory(embedder=OLD), open_memory(embedder=OLD)
    fill(memory, notes=300)
    counts: list[int] = []

    def also(done: int, of: int) -> None:
        if not counts:
            counts.append(0)
            clock.advance(hours=1)  # what the first one has claimed is anybody's by now
            counts[0] = other.reembed(HashingEmbedder(64))

    memory.reembed(NEW, progress=also)
    assert counts[0] > 300
    assert answers(memory) == answers(other) == answers(open_memory(embedder=NEW))


def test_a_call_with_another_embedder_ends_the_earlier_one(open_memory: OpenMemory) -> None:
    memory, other = open_memory(embedder=OLD), open_memory(embedder=OLD)
    fill(memory, notes=300)
    with pytest.raises(Conflict, match="hashing-v1-16"):
        memory.reembed(NEW, progress=lambda done, of: other.reembed(HashingEmbedder(16)) and None)
    assert other.recall("tea")


def test_an_embedder_may_read_the_vectors_of_another(open_memory: OpenMemory) -> None:
    fill(open_memory(embedder=OLD))
    memory, plain = open_memory(embedder=Reading(OLD)), open_memory(embedder=OLD)
    assert answers(memory) == answers(plain)
    assert memory.whisper("do I like tea and bread?").ids == plain.whisper("do I like tea and bread?").ids
    memory.remember("glass number 1")
    assert plain.recall("glass number 1")[0].entry.text == "glass number 1", "the store stays as it was"
    assert memory.reembed(Reading(OLD)) > 0
    with pytest.raises(EmbedderMismatch):
        plain.recall("glass number 1")
    assert memory.recall("glass number 1")[0].entry.text == "glass number 1"
    other = open_memory("handle.db", embedder=Reading(OLD))
    memory = open_memory("handle.db", embedder=HashingEmbedder(16))
    fill(memory)
    memory.reembed(OLD)
    assert answers(other) == answers(memory), "another handle whose embedder reads the new vectors goes on"


@pytest.mark.parametrize("writes", [None, NEW, EmbeddingError("no weights here")], ids=["none", "another", "away"])
def test_an_embedder_that_only_reads_says_what_to_do_about_a_write(open_memory: OpenMemory, writes: Any) -> None:
    fill(open_memory(embedder=OLD))
    memory = open_memory(embedder=Reading(writes))
    expected = EmbeddingError if isinstance(writes, Exception) else EmbedderMismatch
    for _ in range(2):
        with pytest.raises(expected, match=r"hashing-v1-32.*small.*reembed"):
            memory.remember("glass number 1")
        assert memory.recall("I like tea")[0].entry.text == "I like tea"


def test_a_peer_is_read_by_whichever_embedder_may(open_memory: OpenMemory, tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "peer.db", embedder=OLD) as peer:
        fill(peer)
        small = Reading(OLD)
        memory = open_memory("own.db", embedder=small, peers=[peer.path])
        memory.remember("tea is mine")
        assert {hit.origin for hit in memory.recall("I like tea", limit=30)} >= {"peer"}
        peer.reembed(NEW)
        found = memory.recall("I like tea", limit=30)
        assert [(one.name, "EmbedderMismatch" in (one.error or "")) for one in found.peers] == [("peer", True)]
        memory.reembed(NEW)
        found = memory.recall("I like tea", limit=30)
        assert {hit.origin for hit in found} >= {"peer"}
        assert not [one for one in found.peers if one.error]


def test_weights_of_emotion_for_the_old_embedder_are_refused_first(open_memory: OpenMemory, minilm: Any) -> None:
    memory = open_memory(embedder=minilm, emotion=EmbeddingEmotion(minilm))
    memory.remember("hello")
    with pytest.raises(EmbedderMismatch, match="emotion"):
        memory.reembed(NEW)
    assert memory.recall("hello")


def test_the_default_reader_of_emotion_follows(open_memory: OpenMemory, minilm: Any) -> None:
    memory, plain = open_memory(embedder=minilm), open_memory("plain.db", embedder=NEW)
    memory.record("I am so sad about the train", thread="s")
    memory.reembed(NEW)
    for one in (memory, plain):
        one.record("I hate it! This is terrible!", thread="s")
    last = [one.recall("I hate it! This is terrible!", limit=1)[0].entry.affect for one in (memory, plain)]
    assert [affect and affect.emotions for affect in last] == [None, None], "a lexicon names none"
