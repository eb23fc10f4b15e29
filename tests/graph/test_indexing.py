"""Episodes on their way into the graph: whatever happens to them there, they are in the store, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OpenMemory
from tests.graph.indexing import SAID, Opened, dependencies, watched
from tests.reading import Reader
from tidal_plugins import Exchange, InvalidInput, Message, NotFound, Settings, ToolCall
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


def test_what_is_read_survives_reopening_and_so_does_what_is_not(opened: Opened) -> None:
    with opened() as memory:
        memory.record(SAID)
        memory.graph.index_pending()
        memory.record("storage depends on disks")
    with opened() as memory:
        assert len(memory.graph.pending()) == 1
        memory.graph.index_pending()
        assert dependencies(memory) == [("billing", "storage"), ("storage", "disks")]


def test_a_turn_recorded_again_is_read_once_and_one_that_grows_is_read_again(
    opened: Opened,
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


def test_a_limit_leaves_the_rest_in_order(opened: Opened) -> None:
    memory = opened()
    ids = [memory.record(f"m{n} depends on n{n}").id for n in range(5)]
    assert memory.graph.index_pending(2).episodes == 2
    assert [pending.episode for pending in memory.graph.pending()] == ids[2:]
    with pytest.raises(InvalidInput, match="limit"):
        memory.graph.index_pending(0)


def test_many_turns_are_read_through_pages_of_the_queue(opened: Opened) -> None:
    memory = opened()
    memory.record_many(Exchange((Message("user", f"m{n} depends on n{n}"),)) for n in range(150))
    assert len(memory.graph.pending()) == 150
    assert memory.graph.index_pending().episodes == 150
    assert memory.graph.pending() == []


def test_scopes_have_queues_of_their_own(opened: Opened) -> None:
    memory = opened()
    other = memory.scoped("user", "42")
    memory.record(SAID)
    assert other.graph.pending() == []
    assert other.graph.index_pending().episodes == 0
    assert memory.graph.index_pending().episodes == 1
    assert dependencies(other) == []


def test_a_memory_without_a_graph_queues_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(graph={"enabled": False, "supersession": False}))
    memory.record(SAID)
    assert memory.graph.pending() == memory.graph.entities() == []
    assert memory.graph.index_pending().episodes == 0


def test_consolidation_reads_what_is_pending(opened: Opened) -> None:
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


def test_of_two_that_read_the_same_turn_one_writes(opened: Opened, clock: FrozenClock) -> None:
    def read_by_another() -> None:
        clock.advance(hours=1)  # the claim has ended
        counts.append(other.graph.index_pending().episodes)

    memory = opened()
    memory.record(SAID)
    counts: list[int] = []
    slow, other = opened(Reader(lambda texts: counts or read_by_another())), opened()
    assert slow.graph.index_pending().episodes == 0
    assert counts == [1]
    [relation] = memory.graph.relations()
    assert len(memory.graph.evidence(relation)) == 1


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


def test_a_forgotten_turn_leaves_the_queue(opened: Opened) -> None:
    reader = Reader()
    memory = opened(reader)
    memory.forget(memory.record(SAID).id)
    assert memory.graph.pending() == []
    memory.graph.index_pending()
    assert reader.texts == []
