"""What follows a write: stored with it, done once, tried again when it fails, and left alone by those who may not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.graph.scripted import Scripted
from tests.inside import storage_of
from tests.tuned import tuned
from tests.waiting import eventually
from tidal_plugins import EmbeddingError, HashingEmbedder, InvalidInput, ReadOnly, Settings, StorageError, TidalMemory
from tidal_plugins.background import KINDS
from tidal_plugins.jobs.handler import Handler, NotNow, next_at, run
from tidal_plugins.jobs.queue import Job, Jobs, JobTuning, enqueue, note, waiting
from tidal_plugins.jobs.throttle import Throttle
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import NOON, FrozenClock

BY_HAND = Settings(graph={"background": False})
HERE = ("default",)
SWIM = "job:swim"
"""A kind that nobody else does."""


class Swims(Handler[int]):
    """Does jobs, unless ``before`` raises."""

    kind = SWIM

    def __init__(self, jobs: Jobs, most: int = 4, claim: float = 60.0, patience: float = 0.0) -> None:
        self.jobs, self.done, self.asked = jobs, list[str](), list[list[str]]()
        self.before: Callable[[Sequence[Job]], object] = len
        self._given = most, claim, patience

    most = property(lambda self: self._given[0])  # type: ignore[assignment]
    claim = property(lambda self: self._given[1])  # type: ignore[assignment]
    patience = property(lambda self: self._given[2])  # type: ignore[assignment]

    def do(self, scope: Any, jobs: Sequence[Job]) -> int:
        self.asked.append([job.subject for job in jobs])
        self.before(jobs)
        with self.jobs.storage.transaction():
            still = self.jobs.finish(scope, SWIM, jobs)
            self.done += [job.subject for job in still]
        return len(still)


def queue(store: SQLiteStorage, clock: Callable[[], datetime], **weights: float) -> Jobs:
    """Return the jobs of a store as a worker of its own sees them."""
    return Jobs(store, tuned(jobs=weights)[JobTuning], clock, Throttle(0.0), lambda: [SWIM])


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with_jobs = SQLiteStorage(tmp_path / "jobs.db", durability="fast")
    yield with_jobs
    with_jobs.close()


def add(store: SQLiteStorage, *subjects: str, **more: Any) -> None:
    with store.transaction():
        enqueue(store, HERE, SWIM, dict.fromkeys(subjects), NOON, **more)
        note(store, HERE, NOON)


def left(jobs: Jobs) -> list[str]:
    return [job.subject for job in jobs.pending(HERE, SWIM)]


WAYS = {"link": "ingestion.uses.Linker", "supersede": "facts.invalidation.SupersessionFinder"}


@pytest.mark.parametrize("most", [1, 4, 64])
@pytest.mark.parametrize("claim", [0.0, 60.0])
def test_all_are_done_once_in_order(store: SQLiteStorage, clock: FrozenClock, most: int, claim: float) -> None:
    jobs, names = queue(store, clock), [f"{number:03}" for number in range(150)]
    add(store, *names)
    swims = Swims(jobs, most, claim)
    assert sum(run(jobs, swims, HERE).results) == 150
    assert swims.done == names
    assert max(map(len, swims.asked)) == most
    assert run(jobs, swims, HERE).results == left(jobs) == []


def test_what_fails_is_tried_again_later_and_with_fewer_others(store: SQLiteStorage, clock: FrozenClock) -> None:
    def drown(tried: Sequence[Job]) -> None:
        if any(job.subject == "c" for job in tried):
            raise ValueError("the password is hunter22hunter")

    jobs = queue(store, clock, retry=60.0, attempts=4)
    add(store, *"abcd")
    swims = Swims(jobs)
    swims.before = drown
    waits = []
    while at := next_at(jobs, swims, HERE):
        waits.append((at - clock()).total_seconds())
        clock.advance(seconds=waits[-1])
        run(jobs, swims, HERE)
    assert waits == [0, 60, 120, 240]
    assert [len(asked) for asked in swims.asked] == [4, 2, 2, 1, 1, 1]
    assert swims.done == ["a", "b", "d"]
    [given_up] = jobs.pending(HERE, SWIM)
    assert (given_up.subject, given_up.attempts, given_up.due, given_up.since) == ("c", 4, None, NOON)
    assert str(given_up.error).startswith("ValueError: the password is ")
    assert "hunter22hunter" not in str(given_up.error)
    jobs.settle(HERE)
    assert waiting(store) == [], "nothing will be due"
    swims.before = len
    assert run(jobs, swims, HERE).results == []
    assert run(jobs, swims, HERE, failed=True).results == [1]


def test_an_error_of_the_store_is_raised_and_is_no_fault_of_a_job(store: SQLiteStorage, clock: FrozenClock) -> None:
    def fail(tried: Sequence[Job]) -> None:
        raise StorageError("the disk is full")

    jobs, other = queue(store, clock), queue(store, clock)
    add(store, "a")
    swims = Swims(jobs)
    swims.before = fail
    with pytest.raises(StorageError, match="disk"):
        run(jobs, swims, HERE)
    assert [job.attempts for job in jobs.pending(HERE, SWIM)] == [0]
    assert run(other, Swims(other), HERE).results == [1], "it was given back"


def test_what_cannot_be_done_now_stays_as_it_is(store: SQLiteStorage, clock: FrozenClock) -> None:
    def refuse(tried: Sequence[Job]) -> None:
        raise NotNow

    jobs, other = queue(store, clock), queue(store, clock)
    add(store, *"abcdef")
    swims = Swims(jobs)
    swims.before = refuse
    done = run(jobs, swims, HERE)
    assert (done.results, done.failed, len(swims.asked)) == ([], 0, 1)
    assert sum(run(other, Swims(other), HERE).results) == 6


def test_what_another_worker_holds_is_passed_by(store: SQLiteStorage, clock: FrozenClock) -> None:
    jobs, other = queue(store, clock), queue(store, clock)
    add(store, *"abcd")
    meanwhile = Swims(other, most=2)
    swims = Swims(jobs, most=2)
    swims.before = lambda tried: run(other, meanwhile, HERE)
    run(jobs, swims, HERE)
    assert (swims.done, meanwhile.done) == (["a", "b"], ["c", "d"])


def test_who_waits_does_what_another_worker_leaves(store: SQLiteStorage, clock: FrozenClock) -> None:
    jobs, other = queue(store, clock), queue(store, clock)
    add(store, *"ab")
    held = other.claim(HERE, SWIM, list(other.pending(HERE, SWIM)), 60.0, 1)
    swims = Swims(jobs)
    swims.before = lambda tried: other.give_back(HERE, SWIM, held)
    run(jobs, swims, HERE, wait=True)
    assert swims.done == ["b", "a"]


def test_a_job_that_is_stored_anew_while_it_is_done_stays(store: SQLiteStorage, clock: FrozenClock) -> None:
    jobs = queue(store, clock)
    add(store, *"ab")
    swims = Swims(jobs)
    swims.before = lambda tried: len(swims.asked) == 1 and add(store, "a", replacing=["a"])
    assert run(jobs, swims, HERE).results == [1]
    assert (swims.done, left(jobs)) == (["b"], ["a"])
    assert run(jobs, swims, HERE).results == [1]


def test_a_few_wait_for_others_until_one_has_waited_long(store: SQLiteStorage, clock: FrozenClock) -> None:
    jobs = queue(store, clock)
    add(store, *"abcdef")
    swims = Swims(jobs, patience=300.0)
    run(jobs, swims, HERE, whole=False)
    assert swims.done == [*"abcd"]
    at = next_at(jobs, swims, HERE)
    assert at is not None
    assert (at - clock()).total_seconds() == 300
    clock.advance(seconds=300)
    run(jobs, swims, HERE, whole=False)
    assert swims.done == [*"abcdef"]


def test_a_text_that_cannot_be_embedded_is_put_back_alone_and_at_once(store: SQLiteStorage, clock: FrozenClock) -> None:
    class Embeds(Swims):
        spares = (EmbeddingError,)

    def embed(jobs: Sequence[Job]) -> None:
        if any(job.subject == "zero" for job in jobs):
            raise EmbeddingError("a vector that is zero", answered=True)

    jobs = queue(store, clock)
    add(store, "one", "zero", "two")
    handler = Embeds(jobs)
    handler.before = embed
    assert run(jobs, handler, HERE).failed == 1
    assert handler.done == ["one", "two"]
    [bad] = jobs.pending(HERE, SWIM)
    assert (bad.subject, bad.attempts, bad.error) == ("zero", 1, "EmbeddingError: a vector that is zero")


# every kind that a memory has


def fail(*_: object) -> int:
    raise ZeroDivisionError


class Failing(HashingEmbedder):
    """Raises ``away``, if that is given, and counts how often."""

    def __init__(self, away: BaseException | None = None) -> None:
        super().__init__()
        self.away, self.asked = away, 0

    def embed(self, texts: Sequence[str]) -> Any:
        if self.away is not None:
            self.asked += 1
            raise self.away
        return super().embed(texts)


def told(memory: TidalMemory) -> None:
    """Record turns that are followed by a job of each kind, but those of the index, which an adapter stores."""
    memory.graph.read_with(Scripted())
    memory.record("Our ferry leaves on 5 March. Anna Berg works at Acme.", "Noted.", id="one")
    memory.record("The ferry leaves on 6 March now, not on 5 March.", "Noted.", id="two")


def counts(memory: TidalMemory) -> dict[str, int]:
    return {kind: len(storage_of(memory).read_log(memory.scope, kind)) for kind in KINDS}


def test_a_turn_is_stored_with_its_jobs_which_hold_no_text(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=BY_HAND)
    told(memory)
    found = counts(memory)
    assert [found[kind] for kind in KINDS if found[kind]] == [2, 2, 2, 2, 2]
    lines = [line for kind in KINDS for line in storage_of(memory).read_log(memory.scope, kind)]
    assert "ferry" not in str(lines).lower()


def test_closing_with_time_does_the_jobs_of_all_kinds(open_memory: OpenMemory) -> None:
    with open_memory(settings=Settings(tuning={"jobs.quiet": 3_600.0})) as memory:
        told(memory)
        memory.close(timeout=120)
    again = open_memory(settings=BY_HAND)
    assert not any(counts(again).values())
    assert again.check().waiting == 0


def test_what_needs_no_embedder_is_done_while_it_is_away(open_memory: OpenMemory) -> None:
    with open_memory(settings=BY_HAND, embedder=Failing()) as memory:
        told(memory)
    embedder = Failing(EmbeddingError("away"))
    memory = open_memory(settings=Settings(tuning={"jobs.quiet": 0.0}), embedder=embedder)
    memory.graph.read_with(Scripted())
    memory.close(timeout=120)
    left = counts(open_memory(settings=BY_HAND, embedder=Failing()))
    assert {kind for kind, number in left.items() if number} == {"job:entries"}


@pytest.mark.parametrize("error", [SystemExit(1), asyncio.CancelledError()], ids=["exit", "cancelled"])
def test_no_error_of_an_embedder_ends_the_worker(
    open_memory: OpenMemory, clock: FrozenClock, error: BaseException
) -> None:
    with open_memory(settings=BY_HAND, embedder=Failing()) as memory:
        told(memory)
    clock.advance(seconds=121)  # what another process left is taken over
    embedder = Failing(error)
    memory = open_memory(settings=Settings(tuning={"jobs.quiet": 0.0}), embedder=embedder)
    memory.graph.read_with(Scripted())
    assert eventually(lambda: embedder.asked)
    embedder.away = None
    memory.close(timeout=10)
    assert not any(counts(open_memory(settings=BY_HAND, embedder=Failing())).values())


@pytest.mark.parametrize("options", [{"read_only": True}, {}], ids=["read only", "without a background"])
def test_who_may_not_leaves_jobs_alone(open_memory: OpenMemory, options: dict[str, Any]) -> None:
    with open_memory(settings=BY_HAND) as memory:
        told(memory)
        before = counts(memory)
    settings = Settings(tuning={"jobs.quiet": 0.0}) if options else BY_HAND
    with open_memory(settings=settings, **options) as reading:
        assert reading.recall("ferry")
        reading.close(timeout=1.0)
    assert counts(open_memory(settings=BY_HAND)) == before


def test_a_process_without_a_model_leaves_its_jobs_to_one_that_has_it(open_memory: OpenMemory) -> None:
    with open_memory(settings=BY_HAND) as memory:
        told(memory)
    with open_memory(settings=Settings(tuning={"jobs.quiet": 0.0})) as without:
        without.close(timeout=120)
    with open_memory(settings=BY_HAND) as memory:
        assert {kind for kind, number in counts(memory).items() if number} == {"job:model"}
        assert memory.check().waiting == 1
        memory.graph.read_with(Scripted())
        memory.graph.index_pending()
        assert not any(counts(memory).values())


def test_what_is_opened_for_reading_says_so_when_asked_to_work(open_memory: OpenMemory) -> None:
    with open_memory(settings=BY_HAND) as memory:
        told(memory)
    reading = open_memory(read_only=True)
    for ask in (reading.graph.index_pending, reading.associations.link_pending, reading.supersessions.find):
        with pytest.raises(ReadOnly):
            ask()


def test_recall_follows_what_changes_the_graph_by_hand(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=Settings(tuning={"jobs.quiet": 0.0}))
    here, there = memory.graph, memory.scoped("there")
    here.relate("Ana", "works_at", "the mint")
    here.relate("Bo", "lives_in", "Bern")
    there.graph.load(here.export(), source="a file")

    def shown() -> set[str]:
        return {entry.text for entry in there.entries.list(kinds={"fact"})}

    assert eventually(lambda: {"Ana works at the mint", "Bo lives in Bern"} <= shown())
    made = there.graph.merge("Ana", "Bo")
    assert eventually(lambda: "Ana lives in Bern" in shown())
    there.graph.undo(made)
    assert eventually(lambda: "Bo lives in Bern" in shown())


def test_erasing_a_turn_takes_its_jobs_along(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=BY_HAND)
    told(memory)
    memory.forget(*(memory.episodes.id_of(id_) for id_ in ("one", "two")))
    assert not any(counts(memory).values())


UNREAD = Settings(graph={"background": False})
SAID = "The billing service depends on PostgreSQL."


def test_close_waits_for_queued_work(open_memory: Any) -> None:
    with open_memory(settings=Settings(tuning={"jobs.quiet": 60})) as memory:
        memory.record(SAID)
        memory.scoped("user", "42").record(SAID)
        memory.close(timeout=60)
    with open_memory(settings=UNREAD) as again:
        assert again.graph.pending() == []
        assert again.scoped("user", "42").graph.pending() == []
        assert [relation.predicate for relation in again.graph.relations()] == ["depends_on"]


def test_close_leaves_queued_work_in_the_queue(open_memory: Any) -> None:
    with open_memory(settings=Settings(tuning={"jobs.quiet": 60})) as memory:
        kept = memory.record(SAID)
    with open_memory(settings=UNREAD) as again:
        assert [item.episode for item in again.graph.pending()] == [kept.id]


@pytest.mark.parametrize("timeout", [-1, "soon", None, True, float("nan")])
def test_a_timeout_is_a_number_of_seconds(memory: TidalMemory, timeout: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.close(timeout=timeout)


def test_opening_one_scope_resumes_the_work_of_all(tmp_path: Path) -> None:
    path, scopes = tmp_path / "agent.db", [("user", "1"), ("user", "2")]
    with TidalMemory(path, embedder=HashingEmbedder(), settings=UNREAD) as memory:
        for scope in scopes:
            memory.scoped(*scope).record(SAID)
    with TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(tuning={"jobs.quiet": 0.0})) as memory:
        memory.close(timeout=60)
    with TidalMemory(path, embedder=HashingEmbedder(), settings=UNREAD) as memory:
        for scope in scopes:
            assert memory.scoped(*scope).graph.pending() == []
            assert len(memory.scoped(*scope).graph.relations()) == 1


@pytest.mark.parametrize("way", ["link", "supersede"])
def test_asking_does_what_was_given_up_too(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    memory = open_memory(settings=BY_HAND)
    told(memory)
    ask = {"link": memory.associations.link_pending, "supersede": memory.supersessions.find}[way]
    with monkeypatch.context() as broken:
        broken.setattr(f"tidal_plugins.{WAYS[way]}.do", fail)
        for _ in range(BY_HAND[JobTuning].attempts + 1):
            assert ask() == 0
    assert counts(memory)[f"job:{way}"] == 2
    ask()
    assert counts(memory)[f"job:{way}"] == 0
