"""Indexing on the thread of the open memory, and in other processes."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import SAID, Opened, dependencies, threads
from tests.reading import Hangs, Reader
from tests.tuned import tuned
from tests.waiting import PATIENCE, eventually
from tidal_plugins import Closed, Settings
from tidal_plugins.testing import NOON, FrozenClock


def test_what_is_recorded_is_read_in_the_background(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"graph.quiet": 0.01}))
    other = memory.scoped("user", "42")
    memory.record(SAID)
    other.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending() and not other.graph.pending())
    assert eventually(lambda: bool(memory.recall(SAID, kinds={"fact"})))
    assert dependencies(memory) == [("billing", "storage")]
    assert dependencies(other) == [("storage", "disks")]


def test_nothing_is_read_while_something_is_recorded(open_memory: OpenMemory) -> None:
    """Not for a while, that is; closing with a timeout reads it all."""
    reader = Reader()
    memory = open_memory(graph_extractor=reader, settings=Settings(tuning={"graph.quiet": 3_600.0}))
    for number in range(20):
        memory.record(f"m{number} depends on n{number}")
    assert reader.texts == []
    memory.close(timeout=PATIENCE)
    assert len(reader.texts) == 20


def test_recording_does_not_wait_for_an_extractor_that_hangs(open_memory: OpenMemory) -> None:
    reader = Hangs()
    memory = open_memory(graph_extractor=reader, settings=Settings(tuning={"graph.quiet": 0.0}))
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
        memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"graph.quiet": 0.0}))
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
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"graph.quiet": 0.0}))
    memory.record(SAID)
    assert eventually(lambda: not memory.graph.pending())
    assert eventually(lambda: not threads())
    memory.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending())


def test_a_turn_that_failed_is_tried_again_in_the_background(open_memory: OpenMemory) -> None:
    def once(texts: object) -> None:
        reader.before = None
        raise ConnectionError

    reader = Reader(once)
    graph = {"quiet": 0.0, "retry": 0.05}
    memory = open_memory(graph_extractor=reader, settings=tuned(graph=graph), clock=lambda: datetime.now(UTC))
    memory.record(SAID)
    assert eventually(lambda: len(reader.texts) == 1)
    assert eventually(lambda: not memory.graph.pending())


def test_what_another_process_left_unread_is_taken_over_in_time(
    opened: Opened, open_memory: OpenMemory, clock: FrozenClock
) -> None:
    with opened() as memory:
        memory.record(SAID)
    reader = Reader()
    memory = open_memory(graph_extractor=reader, settings=Settings(tuning={"graph.quiet": 0.0, "graph.orphaned": 60.0}))
    memory.record("storage depends on disks")
    assert eventually(lambda: len(memory.graph.pending()) == 1)
    assert reader.texts == ["storage depends on disks"], "the other may be at it"
    clock.advance(seconds=61)
    memory.record("hello there")
    assert eventually(lambda: not memory.graph.pending())
    assert SAID in reader.texts


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_process_reads_what_it_records(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"graph.quiet": 0.0}))
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
    memory = open_memory(graph_extractor=Reader(), settings=Settings(tuning={"graph.quiet": 0.0}), clock=clock)
    memory.record(SAID)
    assert eventually(lambda: "ZeroDivisionError" in caplog.text)
    assert "what was said" not in caplog.text
    memory.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending())


def test_what_another_process_is_about_to_read_keeps_nobody_busy(open_memory: OpenMemory, clock: FrozenClock) -> None:
    asked: list[bool] = []

    def counting() -> datetime:
        asked.append(True)
        return clock()

    first = open_memory(settings=Settings(graph={"background": False}))
    first.record(SAID)
    open_memory(settings=Settings(tuning={"graph.quiet": 0.0, "graph.orphaned": 120.0}), clock=counting)

    def idle() -> bool:
        before = len(asked)
        time.sleep(0.2)
        return len(asked) == before

    assert eventually(lambda: bool(asked))
    assert eventually(idle)


def test_an_extractor_that_interrupts_does_not_end_the_background(open_memory: OpenMemory) -> None:
    class Interrupts:
        def extract_graph(self, texts: Any) -> Any:
            raise KeyboardInterrupt

    memory = open_memory(graph_extractor=Interrupts(), settings=Settings(tuning={"graph.quiet": 0.0}))
    memory.record(SAID)
    assert eventually(lambda: memory.graph.pending()[0].attempts == 1)
