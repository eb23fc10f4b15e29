"""A presence that several processes step, and that is killed between any two writes."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.inside import dying, storage_of
from tests.presence.conftest import DEBT, Days
from tests.presence.worker import DUE, opened
from tidal_plugins import Settings, TidalMemory
from tidal_plugins.errors import Busy
from tidal_plugins.storage.base import Document
from tidal_plugins.testing import FrozenClock

WORKER = Path(__file__).with_name("worker.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a store whose presence has something to say from ``DUE`` on."""
    path = tmp_path / "base.db"
    clock = FrozenClock()
    with opened(path, clock) as memory:
        memory.presence.allow(zone="UTC")
        memory.record(DEBT, "Noted.", thread="talk")
        memory.presence.step()
    return path


@pytest.mark.slow
def test_two_processes_that_step_at_once_queue_one_message_and_take_it_once(base: Path, tmp_path: Path) -> None:
    workers = [started("together", base, tmp_path / "meeting") for _ in range(2)]
    taken = [line for worker in workers for line in worker.communicate(timeout=300)[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(taken) == 1
    with opened(base, FrozenClock(DUE)) as memory:
        assert [one.id for one in memory.presence.messages()] == taken


def test_a_step_that_others_outrun_every_time_goes_through_in_the_end(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = Settings(storage={"busy_timeout": 0.1}, graph={"background": False})
    with opened(base, FrozenClock(DUE)) as memory, TidalMemory(base, settings=hurried) as other:
        storage, outran = storage_of(memory), 0
        read = storage.documents

        def outrun(
            scope: tuple[str, ...], collection: str, keys: list[str] | None = None, **options: Any
        ) -> list[Document]:
            """Read, and let another memory store the presence anew behind it, unless the store is held."""
            nonlocal outran
            found = read(scope, collection, keys, **options)
            if keys == ["state"]:
                with suppress(Busy):
                    storage_of(other).write_documents(scope, collection, {"state": found[0].value})
                    outran += 1
            return found

        monkeypatch.setattr(storage, "documents", outrun)
        assert memory.presence.step().message
        monkeypatch.undo()
        message = memory.presence.take()
        assert [one.id for one in memory.presence.messages()] == [message and message.id]
    assert outran == 4


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_between_any_two_writes_it_goes_on_and_says_nothing_twice(base: Path, tmp_path: Path) -> None:
    killer = started("killed", tmp_path)
    runs = int(killer.communicate(timeout=500)[0])
    assert killer.returncode == 0
    assert runs > 10
    for number in range(1, runs + 1):
        path = tmp_path / f"{number}.db"
        delivered = path.with_suffix(".said")
        said = delivered.read_text().splitlines() if delivered.exists() else []
        clock = FrozenClock(DUE + timedelta(hours=2))
        with opened(path, clock) as memory:
            assert memory.check().ok
            for _ in range(4):  # three days on
                memory.presence.step(holder="parent")
                if message := memory.presence.take():
                    said.append(message.text)
                clock.advance(hours=18)
            kept = memory.presence.messages()
            assert memory.presence.state().ticks > 4_000
        assert len(said) <= 1, f"said twice, killed before statement {number}"
        assert len(kept) == 1
        assert kept[0].status in ("answered", "ignored")
        if not said:
            assert kept[0].taken_at, "what was never taken was never said"


@pytest.mark.parametrize("after", range(4))
def test_cut_off_before_a_commit_it_goes_on_and_says_nothing_twice(days: Days, after: int) -> None:
    days.say(DEBT)
    days.clock.set(DUE)
    said = []
    with dying(days.memory, after):
        days.memory.presence.step(holder="one")
        said.append(days.memory.presence.take())
    said += days.pass_by(days=3)
    assert len([one for one in said if one]) == 1
    assert len(days.memory.presence.messages()) == 1
    assert days.memory.check().ok
