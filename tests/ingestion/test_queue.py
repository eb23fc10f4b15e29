"""Episodes on their way into the graph: whatever happens to them there, they are in the store, and none is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.reading import Answers, Hangs, Reader, depends, module
from tidal_plugins import Closed, Forgotten, InvalidInput, NotFound, Settings, TidalMemory, ToolCall
from tidal_plugins.errors import StorageError
from tidal_plugins.graph import learning
from tidal_plugins.ingestion import learn
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.queue import ExtractionQueue
from tidal_plugins.model.graph import Extraction
from tidal_plugins.testing import NOON, FrozenClock
from tidal_plugins.tuning import GraphTuning, Tuning

SAID = "billing depends on storage"
SCOPE = ("default",)


@pytest.fixture
def opened(open_memory: OpenMemory) -> Callable[..., TidalMemory]:
    """Opens a memory that reads nothing by itself."""

    def open_(extractor: Any = None, name: str = "agent.db", timeout: float = 60.0, **graph: Any) -> TidalMemory:
        settings = Tuning(graph={"background": False, **graph}, models={"timeout": timeout})
        return open_memory(name, graph_extractor=extractor or Reader(), settings=settings)

    return open_


def queue(memory: TidalMemory, **settings: Any) -> ExtractionQueue:
    return ExtractionQueue(memory._services.storage, memory.scope, GraphTuning(**settings))


def dependencies(memory: TidalMemory) -> list[tuple[str, str]]:
    graph = memory.graph
    names = {entity.id: entity.name for entity in graph.entities()}
    return sorted((names[relation.subject], names[relation.object]) for relation in graph.relations())


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def threads(name: str = "tidal-background") -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


# in and out


def test_what_is_recorded_waits_until_it_is_read(opened: Callable[..., TidalMemory]) -> None:
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


def test_a_turn_that_was_rolled_back_is_not_queued(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    with pytest.raises(ZeroDivisionError), memory._services.storage.transaction():
        memory.record(SAID)
        assert len(memory.graph.pending()) == 1
        raise ZeroDivisionError
    assert memory.graph.pending() == memory.episodes.list() == []


def test_what_is_read_survives_reopening_and_so_does_what_is_not(opened: Callable[..., TidalMemory]) -> None:
    with opened() as memory:
        memory.record(SAID)
        memory.graph.index_pending()
        memory.record("storage depends on disks")
    with opened() as memory:
        assert len(memory.graph.pending()) == 1
        memory.graph.index_pending()
        assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_a_turn_recorded_again_is_read_once_and_one_that_grows_is_read_again(
    opened: Callable[..., TidalMemory],
) -> None:
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


def test_a_limit_leaves_the_rest_in_order(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    ids = [memory.record(f"m{n} depends on n{n}").id for n in range(5)]
    assert memory.graph.index_pending(2).episodes == 2
    assert [pending.episode for pending in memory.graph.pending()] == ids[2:]
    with pytest.raises(InvalidInput, match="limit"):
        memory.graph.index_pending(0)


def test_a_thousand_turns_are_read_through_pages_of_the_queue(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    with memory._services.storage.transaction():
        for number in range(1_000):
            queue(memory).add(f"gone{number}", NOON)
    assert len(memory.graph.pending()) == 1_000
    assert memory.graph.index_pending().episodes == 0, "there are no such episodes: they are taken out"
    assert memory.graph.pending() == []


def test_scopes_have_queues_of_their_own(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    other = memory.scoped("user", "42")
    memory.record(SAID)
    assert other.graph.pending() == []
    assert other.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(other) == []


def test_a_memory_without_a_graph_queues_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"enabled": False}))
    memory.record(SAID)
    assert memory.graph.pending() == memory.graph.entities() == []
    assert memory.graph.index_pending().episodes == 0
    assert not threads()


def test_consolidation_reads_what_is_pending(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    memory.record(SAID)
    report = memory.maintenance.run()
    assert (report.learned, report.errors) == (1, ())
    assert dependencies(memory) == [("billing", "storage")]


def test_what_tools_print_says_how_things_are_and_nothing_of_anybody(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    page = "I prefer tabs over spaces. We decided to use Kafka.\n\n```python\nimport requests\n```\n"
    memory.record("read it", "Done.", tools=[ToolCall("Read", {"path": "notes.md"}, result=page)])
    memory.graph.index_pending()
    assert not [entity for entity in memory.graph.entities() if entity.category != "technical"]


# whoever is too late writes nothing


def test_of_two_that_read_the_same_turn_one_writes(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    memory.record(SAID)
    late: list[Any] = []
    reader = Reader(lambda texts: late or late.append(1) or counts.append(other.graph.index_pending().episodes))
    counts: list[int] = []
    slow, other = opened(reader), opened()
    assert slow.graph.index_pending().episodes == 0
    assert counts == [1]
    [relation] = memory.graph.relations()
    assert len(memory.graph.evidence(relation)) == 1


def test_a_turn_that_grows_while_it_is_read_is_read_anew(opened: Callable[..., TidalMemory]) -> None:
    more = "storage depends on disks"
    reader = Reader(lambda texts: len(texts) == 1 and memory.record(SAID, more, id="t"))
    memory = opened(reader)
    memory.record(SAID, id="t")
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_a_message_that_is_forgotten_while_it_is_read_leaves_nothing(opened: Callable[..., TidalMemory]) -> None:
    memory = opened(Reader(lambda texts: len(texts) == 2 and memory.forget(episode.entries[0])))
    episode = memory.record("secretive depends on hidden", SAID)
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(memory) == [("billing", "storage")]
    with pytest.raises(NotFound):
        memory.graph.entity("secretive")


def test_a_forgotten_turn_leaves_the_queue(opened: Callable[..., TidalMemory]) -> None:
    reader = Reader()
    memory = opened(reader)
    memory.forget(memory.record(SAID).id)
    assert memory.graph.pending() == []
    memory.graph.index_pending()
    assert reader.texts == []


# extractors that behave badly


def failing(texts: object) -> None:
    raise RuntimeError(f"no answer for {texts}" + "!" * 10_000)


def test_a_turn_that_cannot_be_read_is_tried_again_later_and_later(
    opened: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
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


def test_a_turn_that_could_not_be_read_leaves_the_queue_when_it_is(
    opened: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    reader = Reader(failing)
    memory = opened(reader)
    memory.record(SAID)
    memory.record("storage depends on disks")
    assert memory.graph.index_pending().failed == 2
    reader.before = None
    assert memory.graph.index_pending(failed=True).episodes == 2
    assert memory.graph.pending() == []
    assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_one_turn_that_cannot_be_read_does_not_keep_the_others(opened: Callable[..., TidalMemory]) -> None:
    def picky(texts: Any) -> None:
        if "poison" in texts[0]:
            raise MemoryError

    memory = opened(Reader(picky))
    poison = memory.record("poison depends on hatred")
    memory.record(SAID)
    done = memory.graph.index_pending()
    assert (done.episodes, done.failed) == (1, 1)
    assert [pending.episode for pending in memory.graph.pending()] == [poison.id]


def test_an_extractor_that_hangs_is_given_up(opened: Callable[..., TidalMemory]) -> None:
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
def test_an_answer_that_is_none_is_an_error_in_the_queue(
    opened: Callable[..., TidalMemory], answer: object, error: str
) -> None:
    memory = opened(Answers(answer))
    episode = memory.record(SAID)
    assert memory.graph.index_pending().failed == 1
    [pending] = memory.graph.pending()
    assert pending.error
    assert pending.error.startswith("ExtractionError: ")
    assert error in pending.error
    assert memory.episodes[episode.id] == episode
    assert memory.graph.entities() == []


def test_what_a_text_does_not_say_is_dropped_and_counted(opened: Callable[..., TidalMemory]) -> None:
    elsewhere = depends(module("billing", 700), module("storage", 800), 700, 810)
    memory = opened(Answers([elsewhere]))
    memory.record(SAID)
    done = memory.graph.index_pending()
    assert (done.episodes, done.mentions, done.assertions, done.dropped) == (1, 2, 1, 3)
    assert memory.graph.entities() == memory.graph.pending() == []


def test_relations_may_run_in_circles(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    memory.record("one depends on two and two depends on one and one depends on one")
    assert memory.graph.index_pending().episodes == 1
    assert {near.entity.name for near in memory.graph.impact("one")} <= {"one", "two"}


def test_something_that_reads_nothing_is_no_extractor(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidInput, match="extract_graph"):
        open_memory(graph_extractor=object())


def test_an_error_says_nothing_of_the_text_in_the_log(
    opened: Callable[..., TidalMemory], caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(Reader(failing))
    memory.record("my password depends on swordfish")
    memory.graph.index_pending()
    assert "RuntimeError" in caplog.text
    assert "swordfish" not in caplog.text


# recall


def test_recall_finds_what_the_graph_says_where_facts_are_asked_for(
    opened: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = opened()
    episodes = []
    for number in range(5):
        episodes.append(memory.record(f"{SAID}, as said in talk {number}").id)
        clock.advance(hours=1)
    memory.graph.index_pending()
    hits = memory.recall("what does billing depend on?", kinds={"fact"})
    cited = " ".join(f"[ep:{id_}]" for id_ in episodes[:3])
    assert f"billing depends on storage {cited}" in [hit.text for hit in hits]
    top = next(hit for hit in hits if "relation" in hit.entry.metadata)
    assert top.why.keyword_rank
    assert top.why.vector_rank
    assert top.entry.metadata["episodes"] == episodes[:3]
    relation = memory.graph.relation(top.entry.metadata["relation"])
    assert len(memory.graph.evidence(relation)) == 5
    assert {hit.entry.kind for hit in memory.recall("what does billing depend on?")} == {"conversation"}
    assert not {hit.id for hit in memory.whisper("what does billing depend on?").hits} & {hit.id for hit in hits}


def test_an_entry_is_left_as_it_is_where_it_would_say_the_same(
    opened: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = opened()
    first = memory.record(SAID)
    assert memory.graph.index_pending().facts == 3
    before = memory.recall(SAID, kinds={"fact"})
    clock.advance(hours=1)
    memory.record(SAID)
    assert memory.graph.index_pending().facts == 0
    after = memory.recall(SAID, kinds={"fact"})
    assert [hit.entry for hit in after] == [hit.entry for hit in before]
    assert all(hit.entry.metadata["episodes"] == [first.id] for hit in after)


def test_what_a_new_turn_contradicts_is_found_no_more(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    memory.record("I live in Berlin.")
    memory.graph.index_pending()
    clock.advance(days=30)
    memory.record("I live in Lisbon.")
    memory.graph.index_pending()
    found = [hit.text for hit in memory.recall("where does the user live?", kinds={"fact"})]
    relations = [text for text in found if "live" in text]
    assert len(relations) == 1
    assert "Lisbon" in relations[0]


def test_forgetting_takes_what_the_graph_says_along(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    first, second = memory.record(SAID), memory.record(f"yes, {SAID}")
    memory.graph.index_pending()
    [hit] = [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]
    memory.forget(first.id)
    memory.graph.index_pending()
    [again] = [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]
    assert again.id == hit.id
    assert again.text == f"{SAID} [ep:{second.id}]"
    memory.forget(second.id)
    memory.graph.index_pending()
    assert not memory.recall(SAID, kinds={"fact"})
    assert memory.graph.entities() == []


def test_a_fact_that_was_forgotten_is_not_written_again(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    memory.record(SAID)
    memory.graph.index_pending()
    [hit] = [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]
    memory.forget(hit.id)
    with pytest.raises(Forgotten):
        memory.get(hit.id)
    memory.graph.index_pending()
    assert not [h for h in memory.recall(SAID, kinds={"fact"}) if "relation" in h.entry.metadata]


def test_a_merge_renames_what_recall_finds(opened: Callable[..., TidalMemory]) -> None:
    memory = opened()
    memory.record("invoices depends on storage")
    memory.record(SAID)
    memory.graph.index_pending()
    merge = memory.graph.merge("billing", "invoices")
    memory.graph.index_pending()
    found = {hit.text.split(" [")[0] for hit in memory.recall("what depends on storage", kinds={"fact"})}
    assert SAID in found
    assert "invoices depends on storage" not in found
    memory.graph.undo(merge)
    memory.graph.index_pending()
    found = {hit.text.split(" [")[0] for hit in memory.recall("what depends on storage", kinds={"fact"})}
    assert {SAID, "invoices depends on storage"} <= found


def test_what_the_graph_says_is_no_near_duplicate_of_what_was_said(opened: Callable[..., TidalMemory]) -> None:
    from tidal_plugins.ingestion.repeats import NEAR
    from tidal_plugins.storage.base import WhereLinks

    memory = opened()
    memory.record(SAID)
    memory.graph.index_pending()
    memory.record(f"{SAID}!")
    links = memory._services.storage.links(memory.scope, WhereLinks(kinds=[NEAR]))
    assert {memory.get(link.target).kind for link in links} == {"conversation"}


# in the background


def test_what_is_recorded_is_read_in_the_background(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Tuning(graph={"quiet": 0.01}))
    other = memory.scoped("user", "42")
    memory.record(SAID)
    other.record("storage depends on disks")
    assert eventually(lambda: not memory.graph.pending() and not other.graph.pending())
    assert eventually(lambda: bool(memory.recall(SAID, kinds={"fact"})))
    assert dependencies(memory) == [("billing", "storage")]
    assert dependencies(other) == [("storage", "disks")]


def test_nothing_is_read_while_something_is_recorded(open_memory: OpenMemory) -> None:
    """Not for a while, that is."""
    reader = Reader()
    memory = open_memory(graph_extractor=reader, settings=Tuning(graph={"quiet": 0.3}))
    for number in range(20):
        memory.record(f"m{number} depends on n{number}")
        time.sleep(0.01)
    assert reader.texts == []
    assert eventually(lambda: len(reader.texts) == 20)


def test_recording_does_not_wait_for_an_extractor_that_hangs(open_memory: OpenMemory) -> None:
    reader = Hangs()
    memory = open_memory(graph_extractor=reader, settings=Tuning(graph={"quiet": 0.0}))
    memory.record(SAID)
    assert reader.asked.wait(10)
    before = time.monotonic()
    for number in range(10):
        memory.record(f"m{number} depends on n{number}")
    assert memory.recall(SAID)
    assert time.monotonic() - before < 5
    memory.close()
    assert eventually(lambda: not threads(), 2)
    reader.go.set()


def test_closing_ends_the_thread_and_leaves_the_rest_for_the_next_time(open_memory: OpenMemory) -> None:
    for _ in range(5):
        memory = open_memory(graph_extractor=Reader(), settings=Tuning(graph={"quiet": 0.0}))
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
    memory = open_memory(graph_extractor=Reader(), settings=Tuning(graph={"quiet": 0.0}))
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
    from tidal_plugins.model.clock import utc_now

    memory = open_memory(graph_extractor=reader, settings=Tuning(graph=graph), clock=utc_now)
    memory.record(SAID)
    assert eventually(lambda: len(reader.texts) == 1)
    assert eventually(lambda: not memory.graph.pending())


def test_what_another_process_left_unread_is_taken_over_in_time(
    opened: Callable[..., TidalMemory], open_memory: OpenMemory, clock: FrozenClock
) -> None:
    with opened() as memory:
        memory.record(SAID)
    reader = Reader()
    memory = open_memory(graph_extractor=reader, settings=Tuning(graph={"quiet": 0.0, "orphaned": 60.0}))
    memory.record("storage depends on disks")
    assert eventually(lambda: len(memory.graph.pending()) == 1)
    assert reader.texts == ["storage depends on disks"], "the other may be at it"
    clock.advance(seconds=61)
    assert memory.graph
    assert eventually(lambda: not memory.graph.pending())
    assert reader.texts == ["storage depends on disks", SAID]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_process_reads_what_it_records(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Tuning(graph={"quiet": 0.0}))
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


def test_work_that_fails_does_not_end_the_background(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def work(scope: Any, going: Callable[[], bool]) -> timedelta | None:
        if scope == ("bad",):
            raise ZeroDivisionError("what was said")
        done.set()
        return None

    background = Background(work, 0.0)
    background.call(("bad",))
    background.call(("good",))
    assert done.wait(5)
    assert background.stop()
    assert "ZeroDivisionError" in caplog.text
    assert "what was said" not in caplog.text


# mends of the review


class Quotes:
    """Says in its error what it was given."""

    def extract_graph(self, texts: Any) -> Any:
        raise ValueError(f"cannot read {texts!r}")


def test_an_error_that_quotes_a_message_goes_when_that_is_forgotten(opened: Callable[..., TidalMemory]) -> None:
    memory = opened(Quotes())
    episode = memory.record("my token is zanzibar77", "Noted, thanks.")
    memory.graph.index_pending()
    assert "zanzibar77" in str(memory.graph.pending()[0].error)
    memory.forget(episode.entries[0])
    [pending] = memory.graph.pending()
    assert (pending.episode, pending.attempts, pending.error) == (episode.id, 0, None)


def test_a_clock_that_goes_back_holds_nothing_up(opened: Callable[..., TidalMemory], clock: FrozenClock) -> None:
    memory = opened()
    memory.record(SAID)
    clock.advance(days=-400)
    assert memory.graph.index_pending().episodes == 1


def test_what_another_process_is_about_to_read_keeps_nobody_busy(open_memory: OpenMemory) -> None:
    first = open_memory(settings=Settings(graph={"background": False}))
    first.record(SAID)
    second = open_memory(settings=Tuning(graph={"background": False, "orphaned": 120.0}))
    later = second._services.learner(second.scope).later()
    assert later is not None
    assert later > timedelta(seconds=119)


def test_an_extractor_that_interrupts_does_not_end_the_background(open_memory: OpenMemory) -> None:
    class Interrupts:
        def extract_graph(self, texts: Any) -> Any:
            raise KeyboardInterrupt

    memory = open_memory(graph_extractor=Interrupts(), settings=Tuning(graph={"quiet": 0.0}))
    memory.record(SAID)
    assert eventually(lambda: memory.graph.pending()[0].attempts == 1)


# much at once


CHAIN = " and ".join(f"m{n} depends on m{n + 1}" for n in range(60))


def whole(memory: TidalMemory) -> list[tuple[str, int]]:
    graph = memory.graph
    relations = graph.relations()
    said = graph.sentences(relations)
    mentions = [(entity.name, len(graph.mentions(entity.id))) for entity in graph.entities()]
    return sorted([*mentions, *((said[one.id], len(graph.evidence(one))) for one in relations)])


def parts(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], object]) -> list[int]:
    """Calls ``before`` inside the transaction that writes a part; returns the sizes of those that were begun."""
    sizes: list[int] = []

    def take_in(storage: Any, scope: Any, part: Any, *rest: Any) -> Any:
        sizes.append(sum(map(len, part)))
        before(len(sizes))
        return learning.take_in(storage, scope, part, *rest)

    monkeypatch.setattr(learn, "take_in", take_in)
    return sizes


def test_a_turn_that_says_much_is_written_in_short_transactions(
    opened: Callable[..., TidalMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = opened(name="one.db", slice=1_000), opened(name="other.db", slice=10)
    for memory in (one, other):
        memory.record(CHAIN, "m7 depends on m8 and " + CHAIN)
    one.graph.index_pending()
    sizes = parts(monkeypatch, lambda number: None)
    done = other.graph.index_pending()
    assert (done.episodes, done.assertions) == (1, 121)
    assert max(sizes) == 10
    assert len(sizes) > 20
    assert whole(other) == whole(one)
    assert other.graph.pending() == []


def test_another_process_records_between_two_parts(
    opened: Callable[..., TidalMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = opened(slice=10), opened()
    memory.record(CHAIN)
    recorded: list[int] = []
    thread = threading.Thread(target=lambda: recorded.append(len(other.record("hello there").id)))
    sizes = parts(monkeypatch, lambda number: number == 2 and thread.start())
    monkeypatch.setattr(Background, "rest", lambda self, seconds: thread.ident is None or not thread.join(10))
    memory.graph.index_pending(1)
    assert recorded
    assert len(sizes) > 10


@pytest.mark.parametrize("last", [False, True])
def test_a_turn_whose_writing_ends_half_way_is_written_whole_the_next_time(
    opened: Callable[..., TidalMemory], monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    memory, reference = opened(slice=10), opened(name="reference.db", slice=10)
    memory.record(CHAIN, SAID)
    reference.record(CHAIN, SAID)
    with monkeypatch.context() as patched:
        every = parts(patched, lambda number: None)
        reference.graph.index_pending()

    def stop(number: int) -> None:
        if number == (len(every) if last else 5):
            raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        parts(patched, stop)
        with pytest.raises(StorageError):
            memory.graph.index_pending()
    assert [pending.attempts for pending in memory.graph.pending()] == [0]
    assert memory.graph.entities()
    assert memory.graph.index_pending().episodes == 1
    assert memory.graph.pending() == []
    assert whole(memory) == whole(reference)


def test_a_turn_that_is_forgotten_while_it_is_written_leaves_nothing(
    opened: Callable[..., TidalMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = opened(slice=10), opened()
    episode = memory.record(CHAIN)
    monkeypatch.setattr(Background, "rest", lambda self, seconds: other.forget(episode.id) >= 0)
    assert memory.graph.index_pending().episodes == 0
    assert memory.graph.entities() == memory.graph.relations() == memory.graph.pending() == []


def test_closing_ends_the_writing_between_two_parts(
    opened: Callable[..., TidalMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(slice=10)
    memory.record(CHAIN)
    monkeypatch.setattr(Background, "rest", lambda self, seconds: False)
    with pytest.raises(Closed, match="stays queued"):
        memory.graph.index_pending()
    assert len(memory.graph.pending()) == 1
