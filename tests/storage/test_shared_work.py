"""Several processes share the work that waits in one store: none of it is done twice, and none is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.reading import Reader
from tests.storage.test_postgres_kills import QUIET, Writer
from tidal_plugins import Exchange, HashingEmbedder, Message, TidalMemory

pytestmark = pytest.mark.slow

TURNS = 40


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new memory is, in a file and on a server."""
    return str(tmp_path / "agent.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def workers() -> Iterator[ExitStack]:
    """Yield a stack on which started processes are put, to be ended."""
    with ExitStack() as stack:
        yield stack


def opened(place: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> TidalMemory:
    return TidalMemory(place, embedder=HashingEmbedder(), graph_extractor=Reader(), settings=QUIET, clock=clock)


def filled(place: str) -> list[str]:
    """Record turns, and return their texts."""
    texts = [f"m{turn} depends on n{turn}" for turn in range(TURNS)]
    with opened(place) as memory:
        memory.record_many(Exchange((Message("user", text),)) for text in texts)
        assert len(memory.graph.pending()) == TURNS
    return texts


def started(workers: ExitStack, work: str, place: str, *names: str) -> list[Writer]:
    """Start processes, and wait until each has begun with work that none of the others has."""
    processes = [Writer(work, place, name) for name in names]
    for process in processes:
        workers.callback(process.end)
    for process in processes:
        process.hear()
    return processes


def ends(process: Writer, word: str) -> int:
    """Wait until a process says a word with a number, and return the number."""
    while not (line := process.hear()).startswith(word):
        pass
    return int(line.split()[1])


def dependencies(memory: TidalMemory) -> int:
    return sum(relation.predicate == "depends_on" for relation in memory.graph.relations())


@pytest.mark.parametrize("number", [2, 4])
def test_workers_of_one_queue_read_every_turn_once(workers: ExitStack, place: str, number: int) -> None:
    texts = filled(place)
    processes = started(workers, "index", place, *map(str, range(number)))
    for process in processes:
        process.tell("go on")
    for process in processes:
        assert ends(process, "left") == 0, "one that has ended has waited for the others"
    said = [line for process in processes for line in process.said if "depends" in line]
    assert Counter(said) == Counter(texts)
    with opened(place) as memory:
        assert dependencies(memory) == TURNS
        assert "m7 depends on n7" in memory.recall("m7 depends on n7", kinds=["fact"])[0].text


def test_another_worker_reads_at_once_what_one_held_that_was_killed_on_the_same_machine(
    workers: ExitStack, place: str
) -> None:
    texts = filled(place)
    killed, other = started(workers, "index", place, "killed", "other")
    killed.end()
    other.tell("go on")
    assert ends(other, "left") == 0
    assert sorted(line for line in other.said if "depends" in line) == sorted(texts)


def test_another_machine_reads_what_one_held_when_its_claim_has_ended(workers: ExitStack, place: str) -> None:
    texts = filled(place)
    [killed] = started(workers, "index", place, "elsewhere")
    killed.end()
    with opened(place) as memory:
        assert memory.graph.index_pending(2 * TURNS).episodes == TURNS - 1
        assert len(memory.graph.pending()) == 1
    with opened(place, lambda: datetime.now(UTC) + timedelta(hours=1)) as memory:
        assert memory.graph.index_pending().episodes == 1
        assert dependencies(memory) == len(texts)


EMBEDDED = HashingEmbedder(32)


def with_passages(place: str) -> int:
    """Record turns, and return how many passages they have: more than three processes embed at a time."""
    with opened(place) as memory:
        memory.record_many(Exchange((Message("user", f"The berth of ship {number}."),)) for number in range(350))
        return memory.reembed(HashingEmbedder(16))


@pytest.mark.parametrize("number", [2, 3])
def test_processes_that_reembed_share_the_passages(workers: ExitStack, place: str, number: int) -> None:
    passages = with_passages(place)
    processes = started(workers, "embed", place, *map(str, range(number)))
    for process in processes:
        process.tell("go on")
    shares = [ends(process, "embedded") for process in processes]
    assert sum(shares) == passages > 600
    assert all(shares)
    assert [process.end() for process in processes] == [""] * number
    with TidalMemory(place, embedder=EMBEDDED, settings=QUIET) as memory:
        assert memory.recall("The berth of ship 7.", limit=1)[0].text == "The berth of ship 7."
        assert memory.check().ok
        assert memory.reembed(EMBEDDED) == 0


def test_another_process_embeds_what_one_held_that_was_killed(workers: ExitStack, place: str) -> None:
    passages = with_passages(place)
    killed, other = started(workers, "embed", place, "killed", "other")
    killed.end()
    other.tell("go on")
    assert ends(other, "embedded") == passages
    with TidalMemory(place, embedder=EMBEDDED, settings=QUIET) as memory:
        assert memory.recall("The berth of ship 7.", limit=1)[0].text == "The berth of ship 7."
