"""Episodes on their way into the graph: whatever happens to them there, they are in the store, and none is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import SAID, Opened, Watched, dependencies, threads, watched
from tests.reading import Answers, Hangs, Reader, module
from tests.waiting import PATIENCE, eventually
from tidal_plugins import Closed, Extraction, HashingEmbedder, InvalidInput, NotFound, Settings, TidalMemory, ToolCall
from tidal_plugins.errors import StorageError
from tidal_plugins.testing import NOON, FrozenClock

# in and out


def test_what_is_recorded_waits_until_it_is_read(opened: Opened) -> None:
    memory = opened()
    episode = memory.record(SAID, "Noted.")
    [pending] = memory.graph.pending()
    assert (pending.episode, pending.since, pending.attempts, pending.error) == (episode.id, NOON, 0, None)
    assert dependencies(memory) == []
    done = memory.graph.index_pending()
    assert (done.episodes, done.failed, done.mentions, done.assertions, done.dropped) == (1, 0, 2, 1, 0)
    assert memory.graph.pending() == []
    assert dependencies(memory) == [("billing", "storage")]
    [relation] = memory.graph.relations()
    [evidence] = memory.graph.evidence(relation)
    assert (evidence.episode, evidence.quote, evidence.entry) == (episode.id, SAID, episode.entries[0])


def test_a_turn_that_was_rolled_back_is_not_queued(open_memory: OpenMemory, tmp_path: Path) -> None:
    storage = watched(tmp_path / "agent.db")
    memory = open_memory(storage=storage, settings=Settings(graph={"background": False}))
    with pytest.raises(ZeroDivisionError), storage.transaction():
        memory.record(SAID)
        assert len(memory.graph.pending()) == 1
        raise ZeroDivisionError
    assert memory.graph.pending() == memory.episodes.list() == []


def test_a_turn_recorded_again_is_read_once_and_one_that_grows_is_read_again(opened: Opened) -> None:
    reader = Reader()
    memory = opened(reader)
    memory.record(SAID, id="t")
    memory.record(SAID, id="t")
    memory.graph.index_pending()
    memory.record(SAID, id="t")
    assert memory.graph.index_pending().episodes == 0
    memory.record(SAID, "and storage depends on disks", id="t")
    assert memory.graph.index_pending().episodes == 1
    assert reader.texts == [SAID, SAID, "and storage depends on disks"]
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]
    [relation] = memory.graph.relations(subject="billing")
    assert len(memory.graph.evidence(relation)) == 1


def test_a_limit_leaves_the_rest_in_order(opened: Opened) -> None:
    memory = opened()
    ids = [memory.record(f"m{n} depends on n{n}").id for n in range(5)]
    assert memory.graph.index_pending(2).episodes == 2
    assert [pending.episode for pending in memory.graph.pending()] == ids[2:]
    with pytest.raises(InvalidInput, match="limit"):
        memory.graph.index_pending(0)


def test_what_tools_print_says_how_things_are_and_nothing_of_anybody(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    page = "I prefer tabs over spaces. We decided to use Kafka.\n\n```python\nimport requests\n```\n"
    memory.record("read it", "Done.", tools=[ToolCall("Read", {"path": "notes.md"}, result=page)])
    memory.graph.index_pending()
    assert not [entity for entity in memory.graph.entities() if entity.category != "technical"]


# whoever is too late writes nothing


def test_a_turn_that_grows_while_it_is_read_is_read_anew(opened: Opened) -> None:
    more = "storage depends on disks"
    reader = Reader(lambda texts: len(texts) == 1 and memory.record(SAID, more, id="t"))
    memory = opened(reader)
    memory.record(SAID, id="t")
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_a_message_that_is_forgotten_while_it_is_read_leaves_nothing(opened: Opened) -> None:
    memory = opened(Reader(lambda texts: len(texts) == 2 and memory.forget(episode.entries[0])))
    episode = memory.record("secretive depends on hidden", SAID)
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(memory) == [("billing", "storage")]
    with pytest.raises(NotFound):
        memory.graph.entity("secretive")


def test_what_is_recorded_is_read_in_the_background(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"jobs.quiet": 0.01}))
    other = memory.scoped("user", "42")
    memory.record(SAID)
    other.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending() and not other.graph.pending())
    assert eventually(lambda: bool(memory.recall(SAID, kinds={"fact"})))
    assert dependencies(memory) == [("billing", "storage")]
    assert dependencies(other) == [("storage", "disks")]


def test_recording_does_not_wait_for_an_extractor_that_hangs(open_memory: OpenMemory) -> None:
    reader = Hangs()
    memory = open_memory(graph_extractor=reader, settings=Settings(tuning={"jobs.quiet": 0.0}))
    memory.record(SAID)
    assert reader.asked.wait(PATIENCE)
    for number in range(10):
        memory.record(f"m{number} depends on n{number}")
    assert memory.recall(SAID)
    memory.close()
    assert eventually(lambda: not threads())
    reader.go.set()


def test_closing_ends_the_thread_and_leaves_the_rest_for_the_next_time(open_memory: OpenMemory) -> None:
    for _ in range(5):
        memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"jobs.quiet": 0.0}))
        for number in range(20):
            memory.record(f"m{number} depends on n{number}", id=f"t{number}")
        memory.close()
        assert not threads()
        with pytest.raises(Closed):
            memory.graph.index_pending()
    memory = open_memory(graph_extractor=Reader(), settings=Settings(graph={"background": False}))
    memory.graph.index_pending()
    assert len(dependencies(memory)) == 20


def test_a_thread_without_work_ends(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"jobs.quiet": 0.0}))
    memory.record(SAID)
    assert eventually(lambda: not memory.graph.pending())
    assert eventually(lambda: not threads())
    memory.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_process_reads_what_it_records(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"jobs.quiet": 0.0}))
    memory.record(SAID)
    child = os.fork()
    if not child:
        memory.record("storage depends on disks", id="child")
        id_ = memory.episodes.id_of("child")
        done = eventually(lambda: id_ not in {pending.episode for pending in memory.graph.pending()})
        memory.close()
        os._exit(0 if done else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert eventually(lambda: not memory.graph.pending())
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_work_that_fails_does_not_end_the_background(open_memory: OpenMemory, caplog: pytest.LogCaptureFixture) -> None:
    def clock() -> datetime:
        if threads() == [threading.current_thread()] and not failed:
            failed.append(True)
            raise ZeroDivisionError("what was said")
        return NOON

    failed: list[bool] = []
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"jobs.quiet": 0.0}), clock=clock)
    memory.record(SAID)
    assert eventually(lambda: "ZeroDivisionError" in caplog.text)
    assert "what was said" not in caplog.text
    memory.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending())


def failing(texts: object) -> None:
    raise RuntimeError(f"no answer for {texts}" + "!" * 10_000)


def test_a_turn_that_cannot_be_read_is_tried_again_later_and_later(opened: Opened, clock: FrozenClock) -> None:
    memory = opened(Reader(failing), attempts=4, retry=60.0, retry_cap=100.0)
    episode = memory.record(SAID, "Noted.")
    waits = []
    for attempt in (1, 2, 3):
        done = memory.graph.index_pending()
        assert (done.episodes, done.failed) == (0, 1)
        assert memory.graph.index_pending().failed == 0, "it is not due"
        [pending] = memory.graph.pending()
        assert (pending.attempts, pending.since) == (attempt, NOON)
        assert pending.error
        assert pending.error.startswith("RuntimeError: no answer for")
        assert len(pending.error) == 500
        assert pending.next_at
        waits.append((pending.next_at - clock()).total_seconds())
        clock.advance(seconds=waits[-1])
    assert waits == [60, 100, 100]
    assert memory.graph.index_pending().failed == 1
    assert memory.graph.pending()[0].next_at is None, "it waits to be asked for"
    clock.advance(days=400)
    assert memory.graph.index_pending().failed == 0
    assert memory.graph.index_pending(failed=True).failed == 1
    assert memory.episodes[episode.id] == episode


def test_one_turn_that_cannot_be_read_does_not_keep_the_others(opened: Opened) -> None:
    def picky(texts: Any) -> None:
        if "poison" in texts[0]:
            raise MemoryError

    memory = opened(Reader(picky))
    poison = memory.record("poison depends on hatred")
    memory.record(SAID)
    done = memory.graph.index_pending()
    assert (done.episodes, done.failed) == (1, 1)
    assert [pending.episode for pending in memory.graph.pending()] == [poison.id]


def test_an_extractor_that_hangs_is_given_up(opened: Opened) -> None:
    reader = Hangs()
    memory = opened(reader, timeout=0.05)
    memory.record(SAID)
    assert memory.graph.index_pending().failed == 1
    assert memory.graph.pending()[0].error == "TimeoutError: no answer within 0.05 s"
    reader.go.set()


FAR = 10**6


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, "must return a list of Extractions"),
        ("text", "must return a list of Extractions"),
        ([], "one Extraction a text: 1, not 0"),
        ([Extraction(), Extraction()], "one Extraction a text: 1, not 2"),
        ([{"mentions": []}], "must return a list of Extractions"),
        ([Extraction((module("x", 0),) * FAR)], "1,000,000 things"),
        ([Extraction((module("x" * 5 * FAR, 0),))], "5,000,000 characters"),
    ],
    ids=["none", "text", "too few", "too many", "dictionary", "a million", "megabytes"],
)
def test_an_answer_that_is_none_is_an_error_in_the_queue(opened: Opened, answer: object, error: str) -> None:
    memory = opened(Answers(answer))
    episode = memory.record(SAID)
    assert memory.graph.index_pending().failed == 1
    [pending] = memory.graph.pending()
    assert pending.error
    assert pending.error.startswith("ComponentError: ")
    assert error in pending.error
    assert memory.episodes[episode.id] == episode
    assert memory.graph.entities() == []


def test_something_that_reads_nothing_is_no_extractor(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidInput, match="extract_graph"):
        open_memory(graph_extractor=object())


class Quotes:
    """Says in its error what it was given."""

    def extract_graph(self, texts: Any) -> Any:
        raise ValueError(f"cannot read {texts!r}")


def test_an_error_that_quotes_a_message_goes_when_that_is_forgotten(opened: Opened) -> None:
    memory = opened(Quotes())
    episode = memory.record("my token is zanzibar77", "Noted, thanks.")
    memory.graph.index_pending()
    assert "zanzibar77" in str(memory.graph.pending()[0].error)
    memory.forget(episode.entries[0])
    [pending] = memory.graph.pending()
    assert (pending.episode, pending.attempts, pending.error) == (episode.id, 0, None)


def test_without_the_extra_talk_gives_no_relations_and_pending_says_why(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    missing = Settings(graph={"background": False, "language_model": "no_such_model"})
    memory = open_memory(settings=missing)
    memory.record("I live in Porto. `quote_fare` is in `fares.py`.", "Noted.")
    (first, second) = memory.graph.pending()
    assert (first.episode, second.attempts) == ("", 0)
    assert "no_such_model" in str(first.error)
    memory.graph.index_pending()
    memory.record("I like tea.", "Noted.")
    memory.graph.index_pending()
    assert memory.graph.relations(predicate="lives_in") == memory.graph.relations(predicate="likes") == []
    assert memory.graph.entity("quote_fare").name == "quote_fare"
    assert [one.episode for one in memory.graph.pending()] == [""]
    assert sum("no_such_model" in line.getMessage() for line in caplog.records) == 1


CHAIN = " and ".join(f"m{n} depends on m{n + 1}" for n in range(60))
SLICE = 10

Watch = Callable[..., tuple[TidalMemory, Watched]]


@pytest.fixture
def watch(tmp_path: Path, clock: FrozenClock) -> Iterator[Watch]:
    """Opens a memory that writes a few things at a time, and its storage."""
    opened: list[TidalMemory] = []

    def open_(name: str = "agent.db", slice: int = SLICE) -> tuple[TidalMemory, Watched]:
        storage = watched(tmp_path / name)
        settings = Settings(graph={"background": False}, tuning={"graph.slice": slice})
        options = {"embedder": HashingEmbedder(), "graph_extractor": Reader(), "clock": clock}
        opened.append(TidalMemory(storage=storage, settings=settings, **options))
        return opened[-1], storage

    yield open_
    for memory in opened:
        memory.close()


def whole(memory: TidalMemory) -> list[tuple[str, int]]:
    graph = memory.graph
    relations = graph.relations()
    said = graph.sentences(relations)
    mentions = [(entity.name, len(graph.mentions(entity.id))) for entity in graph.entities()]
    return sorted([*mentions, *((said[one.id], len(graph.evidence(one))) for one in relations)])


def test_a_turn_that_says_much_is_written_in_short_transactions(watch: Watch) -> None:
    (one, few), (other, many) = watch("one.db", 1_000), watch("other.db")
    for memory, storage in ((one, few), (other, many)):
        memory.record(CHAIN, "m7 depends on m8 and " + CHAIN)
        storage.watch()
        done = memory.graph.index_pending()
        assert (done.episodes, done.assertions) == (1, 121)
    assert many.count > few.count + 20
    assert whole(other) == whole(one)
    assert other.graph.pending() == []


@pytest.mark.parametrize("last", [False, True])
def test_a_turn_whose_writing_ends_half_way_is_written_whole_the_next_time(watch: Watch, last: bool) -> None:
    (memory, storage), (reference, counted) = watch(), watch("reference.db")
    memory.record(CHAIN, SAID)
    reference.record(CHAIN, SAID)
    parts: list[int] = []
    counted.watch(lambda number: reference.graph.pending() and parts.append(number))
    reference.graph.index_pending()

    def stop(number: int) -> None:
        if number == parts[-1 if last else len(parts) // 2]:
            raise StorageError("the disk is full")

    storage.watch(stop)
    with pytest.raises(StorageError):
        memory.graph.index_pending()
    assert [pending.attempts for pending in memory.graph.pending()] == [0]
    assert memory.graph.entities()
    storage.watch()
    assert memory.graph.index_pending().episodes == 1
    assert memory.graph.pending() == []
    assert whole(memory) == whole(reference)


def test_a_turn_that_is_forgotten_while_it_is_written_leaves_nothing(watch: Watch) -> None:
    (memory, storage), (other, _) = watch(), watch()
    episode = memory.record(CHAIN)
    storage.watch(lambda number: number == 3 and other.forget(episode.id))
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.entities() == memory.graph.relations() == memory.graph.pending() == []


def test_a_memory_without_a_graph_queues_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"enabled": False, "supersession": False}))
    memory.record(SAID)
    assert memory.graph.pending() == memory.graph.entities() == []
    assert memory.graph.index_pending().episodes == 0
