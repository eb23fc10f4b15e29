"""A log that a reader keeps from beginning anew: it is told, with who reads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.storage.sqlite import engine, log_mark

READER = """
import sys
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.storage.base import Where
storage = SQLiteStorage(sys.argv[1])
with storage.snapshot():
    storage.find(("default",), Where(), limit=1)
    print("reading", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TidalMemory:
    """A memory with a log that is long from 200 kB on."""
    monkeypatch.setattr(log_mark, "FULL", 25)
    monkeypatch.setattr(log_mark, "OUTGROWN", 50)
    monkeypatch.setattr(log_mark, "READERS", 0.0)
    monkeypatch.setattr(engine, "WAL_BYTES", 200_000)
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        memory.remember("The quay is closed on Mondays.")
        yield memory


def write(memory: TidalMemory) -> None:
    for number in range(60):
        memory.remember(f"Crate {number} is on the quay. " * 10)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "has grown to" in record.getMessage()]


def test_a_thread_that_goes_on_reading_is_named(memory: TidalMemory, caplog: pytest.LogCaptureFixture) -> None:
    reads, end = threading.Event(), threading.Event()

    def read() -> None:
        with memory._services.storage.snapshot():
            memory.entries.list()
            reads.set()
            end.wait()

    thread = threading.Thread(target=read, name="slow-report")
    thread.start()
    try:
        reads.wait()
        write(memory)
        assert "thread slow-report of this process" in memory.stats().log_readers[0]
    finally:
        end.set()
        thread.join()
    warned = told(caplog)
    assert warned
    assert "slow-report" in warned[0]
    assert len(warned) < 8  # once for each doubling
    assert memory.stats().log_readers == ()
    caplog.clear()
    write(memory)
    assert told(caplog) == []


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which processes hold locks")
def test_a_process_that_goes_on_reading_is_named(memory: TidalMemory, caplog: pytest.LogCaptureFixture) -> None:
    command = [sys.executable, "-c", READER, str(memory.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        assert reader.stdout.readline() == "reading\n"
        write(memory)
        assert memory.stats().log_readers == (f"process {reader.pid}",)
        reader.stdin.close()
    assert any(f"process {reader.pid}" in line for line in told(caplog))
    assert f"process {os.getpid()}" not in caplog.text
