"""Files that are deleted, moved or replaced while they are open."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, StorageError, TidalMemory
from tidal_plugins.storage.shorthands import write_document

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")


def opened(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path / "agent.db") as memory:
        memory.record("the boiler is serviced in May", "Noted.")
    return tmp_path / "agent.db"


@pytest.fixture
def memory(path: Path) -> Iterator[TidalMemory]:
    with opened(path) as memory:
        yield memory


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for file in (path, path.with_name("agent.db-wal"), path.with_name("agent.db-shm")):
        file.unlink()


def replace(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def delete_log(path: Path) -> None:
    path.with_name("agent.db-wal").unlink()


def delete_index(path: Path) -> None:
    path.with_name("agent.db-shm").unlink()


@pytest.mark.parametrize("fault", [delete, delete_all, replace, delete_log, delete_index])
def test_nothing_is_acknowledged_into_a_file_that_is_not_at_its_path(
    memory: TidalMemory, path: Path, fault: Callable[[Path], None]
) -> None:
    fault(path)
    with pytest.raises(StorageError, match=r"agent\.db.* was (deleted or moved|replaced) while it was open"):
        memory.record("the spare key hangs in the shed", "Noted.")
    with pytest.raises(StorageError, match="while it was open"):
        memory.recall("boiler")
    with pytest.raises(StorageError, match="while it was open"):
        memory.forget("anything")


def test_no_empty_file_is_made_where_one_was_deleted(memory: TidalMemory, path: Path) -> None:
    delete_all(path)
    raised: list[BaseException] = []

    def record() -> None:
        try:
            memory.record("the spare key hangs in the shed", "Noted.")
        except StorageError as error:
            raised.append(error)

    thread = threading.Thread(target=record)  # it has no connection yet
    thread.start()
    thread.join()
    assert len(raised) == 1
    assert not path.exists()


def test_a_file_that_was_put_back_is_written_again(memory: TidalMemory, path: Path) -> None:
    path.rename(path.with_name("away.db"))
    with pytest.raises(StorageError, match="while it was open"):
        memory.record("the spare key hangs in the shed", "Noted.")
    path.with_name("away.db").rename(path)
    episode = memory.record("the spare key hangs in the shed", "Noted.")
    memory.close()
    with opened(path) as again:
        assert again.episodes[episode.id].query == episode.query


TAKING_THE_PLACE = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
with TidalMemory(sys.argv[1], embedder=HashingEmbedder()) as memory:
    memory.record("the spare key hangs in the shed", "Noted.")
    print("recorded", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
def test_closing_takes_no_log_of_the_file_that_took_the_place(memory: TidalMemory, path: Path) -> None:
    delete_all(path)
    log = path.with_name("agent.db-wal")
    with subprocess.Popen(
        [sys.executable, "-c", TAKING_THE_PLACE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "recorded\n"
        memory.close()
        assert log.exists()
        other.communicate("\n")
    assert other.returncode == 0
    with opened(path) as again:
        assert [episode.query for episode in again.episodes.list()] == ["the spare key hangs in the shed"]


def test_a_file_that_was_replaced_inside_a_transaction_acknowledges_nothing(memory: TidalMemory, path: Path) -> None:
    storage = memory._services.storage
    with pytest.raises(StorageError, match="while it was open"), storage.transaction():
        write_document(storage, ("default",), "notes", "note", 1)
        delete_all(path)
