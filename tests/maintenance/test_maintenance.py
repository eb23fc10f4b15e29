"""Consolidation in the background: it goes on, it ends, and it does not cross a fork."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.waiting import PATIENCE
from tidal_plugins import Closed, InvalidInput, TidalMemory
from tidal_plugins.maintenance.thread import Maintenance

SOON = timedelta(milliseconds=1)
LATER = timedelta(hours=1)


class Rounds:
    """Counts rounds; ``then`` is what each does."""

    def __init__(self, then: Callable[[], object] | None = None) -> None:
        self.then, self.count, self.enough = then, 0, threading.Semaphore(0)

    def __call__(self) -> None:
        self.count += 1
        self.enough.release()
        if self.then:
            self.then()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.enough.acquire(timeout=PATIENCE)


@pytest.fixture
def maintain() -> Iterator[Callable[..., Maintenance]]:
    made: list[Maintenance] = []

    def make(work: Callable[[], object], interval: timedelta = SOON) -> Maintenance:
        made.append(Maintenance(work, interval))
        return made[-1]

    yield make
    for maintenance in made:
        assert maintenance.stop(PATIENCE)


def ended(maintenance: Maintenance) -> bool:
    for thread in threading.enumerate():
        if thread.name == "tidal-maintenance":
            thread.join(PATIENCE)
    return not maintenance.running


def test_it_works_at_once_and_then_every_so_often(maintain: Any) -> None:
    rounds = Rounds()
    maintenance = maintain(rounds)
    assert not maintenance.running
    maintenance.start()
    rounds.wait(3)
    assert maintenance.running
    assert maintenance.stop(PATIENCE)
    assert not maintenance.running


def test_an_error_is_logged_without_its_text_and_the_next_round_comes(
    maintain: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("a secret of the user")

    rounds = Rounds(fail)
    with caplog.at_level(logging.INFO):
        maintenance = maintain(rounds)
        maintenance.start()
        rounds.wait(3)
        assert maintenance.stop(PATIENCE)
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_child_process_has_none_until_it_starts_one(maintain: Any) -> None:
    rounds = Rounds()
    works = [rounds]
    maintenance = maintain(lambda: works[-1]())
    maintenance.start()
    rounds.wait(1)
    pid = os.fork()
    if not pid:
        try:
            assert not maintenance.running
            assert maintenance.stop()
            own = Rounds()
            works.append(own)
            maintenance.start()
            own.wait(2)
            assert maintenance.stop(PATIENCE)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert maintenance.running


@pytest.mark.parametrize("interval", [timedelta(0), timedelta(seconds=-1), timedelta(days=1000), 60, None])
def test_an_interval_is_a_span_of_time(interval: Any) -> None:
    with pytest.raises(InvalidInput, match="interval"):
        Maintenance(lambda: None, interval)


def test_it_does_not_start_on_a_closed_memory_and_closing_ends_it(memory: TidalMemory) -> None:
    first = memory.maintenance.start(LATER)
    assert first.stop(PATIENCE)
    second = memory.maintenance.start(LATER)
    memory.close()
    with pytest.raises(Closed):
        memory.maintenance.start(LATER)
    assert second.stop(PATIENCE)


def test_between_rounds_it_can_be_stopped_at_once_and_started_again_but_only_once_at_a_time(maintain: Any) -> None:
    rounds = Rounds()
    maintenance = maintain(rounds, LATER)
    for _ in range(2):
        maintenance.start()
        maintenance.start()
        rounds.wait(1)
        [thread] = [thread for thread in threading.enumerate() if thread.name == "tidal-maintenance"]
        assert thread.daemon, "it does not keep the process alive"
        assert maintenance.stop(PATIENCE)
    assert rounds.count == 2
