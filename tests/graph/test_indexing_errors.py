"""Extractors that behave badly: their errors are kept in the queue, and no episode is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import SAID, Opened, dependencies
from tests.reading import Answers, Hangs, Reader, depends, module
from tidal_plugins import Extraction, InvalidInput, Settings
from tidal_plugins.testing import NOON, FrozenClock


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


def test_a_turn_that_could_not_be_read_leaves_the_queue_when_it_is(opened: Opened, clock: FrozenClock) -> None:
    reader = Reader(failing)
    memory = opened(reader)
    memory.record(SAID)
    memory.record("storage depends on disks")
    assert memory.graph.index_pending().failed == 2
    reader.before = None
    assert memory.graph.index_pending(failed=True).episodes == 2
    assert memory.graph.pending() == []
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


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


def test_what_a_text_does_not_say_is_dropped_and_counted(opened: Opened) -> None:
    elsewhere = depends(module("billing", 700), module("storage", 800), 700, 810)
    memory = opened(Answers([elsewhere]))
    memory.record(SAID)
    done = memory.graph.index_pending()
    assert (done.episodes, done.mentions, done.assertions, done.dropped) == (1, 2, 1, 3)
    assert memory.graph.entities() == memory.graph.pending() == []


def test_relations_may_run_in_circles(opened: Opened) -> None:
    memory = opened()
    memory.record("one depends on two and two depends on one and one depends on one")
    assert memory.graph.index_pending().episodes == 1
    assert {near.entity.name for near in memory.graph.impact("one")} <= {"one", "two"}


def test_something_that_reads_nothing_is_no_extractor(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidInput, match="extract_graph"):
        open_memory(graph_extractor=object())


def test_an_error_says_nothing_of_the_text_in_the_log(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    memory = opened(Reader(failing))
    memory.record("my password depends on swordfish")
    memory.graph.index_pending()
    assert "RuntimeError" in caplog.text
    assert "swordfish" not in caplog.text


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


def test_a_clock_that_goes_back_holds_nothing_up(opened: Opened, clock: FrozenClock) -> None:
    memory = opened()
    memory.record(SAID)
    clock.advance(days=-400)
    assert memory.graph.index_pending().episodes == 1


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
