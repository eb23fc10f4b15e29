"""Reading a file of somebody else's, and writing it from the same process."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import (
    Busy,
    Closed,
    HashingEmbedder,
    NotADatabase,
    Note,
    ReadOnly,
    StorageError,
    TidalMemory,
)
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.doors import Doors
from tidal_plugins.storage.migrations import MIGRATIONS
from tidal_plugins.storage.visits import VisitedStorage

SCOPE = ("default",)
ALL = Where()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with TidalMemory(tmp_path / "other.db", embedder=HashingEmbedder()) as memory:
        memory.remember([Note(f"jazz piano {n}") for n in range(3)])
    return tmp_path / "other.db"


def count(storage: VisitedStorage) -> int:
    return storage.visit(lambda: storage.count(SCOPE, ALL))


def test_a_visit_reads_and_cannot_write(path: Path) -> None:
    storage = VisitedStorage(path)
    assert count(storage) == 3
    with pytest.raises(ReadOnly):
        storage.visit(lambda: storage.write_meta("name", "value"))
    with pytest.raises(Closed, match="inside a visit"):
        storage.count(SCOPE, ALL)
    assert sorted(file.name for file in path.parent.iterdir()) == ["other.db"]


def test_a_file_of_an_older_version_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = [*MIGRATIONS, "the next one"]
    monkeypatch.setattr("tidal_plugins.storage.visits.MIGRATIONS", later)
    with pytest.raises(StorageError, match=f"this library reads {len(later)}; open it once with"):
        count(VisitedStorage(path))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("open_here", [True, False])
def test_behind_a_link_the_log_of_the_file_itself_is_read(path: Path, tmp_path: Path, open_here: bool) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "other.db"
    link.symlink_to(path)
    storage = VisitedStorage(link)
    with TidalMemory(path, embedder=HashingEmbedder()) as memory:
        memory.remember("one more")
        left = path.read_bytes(), path.with_name("other.db-wal").read_bytes()
        if open_here:
            assert count(storage) == 4
    if not open_here:
        for file, content in zip((path, path.with_name("other.db-wal")), left, strict=True):
            file.write_bytes(content)
        assert count(storage) == 4
    assert [file.name for file in link.parent.iterdir()] == ["other.db"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_no_memory_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    storage, raised = VisitedStorage(tmp_path / "pipe.db"), []

    def read() -> None:
        try:
            count(storage)
        except NotADatabase as error:
            raised.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert len(raised) == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(path: Path) -> None:
    storage = VisitedStorage(path)
    seen: list[int] = []

    def read() -> int:
        seen.append(storage.count(SCOPE, ALL))
        if len(seen) == 1:
            path.touch()
        return seen[-1]

    assert storage.visit(read) == 3
    assert seen == [3, 3]


def test_a_file_that_keeps_changing_is_given_up(path: Path) -> None:
    storage = VisitedStorage(path)
    clock = iter(range(100))

    def read() -> None:
        os.utime(path, (next(clock), next(clock)))

    with pytest.raises(Busy, match="whenever it was read"):
        storage.visit(read)


def test_an_error_of_a_file_that_stands_still_is_the_callers(path: Path) -> None:
    storage, calls = VisitedStorage(path), []

    def read() -> None:
        calls.append(1)
        raise StorageError("broken")

    with pytest.raises(StorageError, match="broken"):
        storage.visit(read)
    assert calls == [1]


def test_who_opens_a_file_for_writing_waits_for_the_visit(path: Path) -> None:
    storage = VisitedStorage(path)
    inside, leave, order = threading.Event(), threading.Event(), []

    def visit() -> None:
        def read() -> None:
            inside.set()
            leave.wait(10)
            order.append("read")

        storage.visit(read)

    def write() -> None:
        with TidalMemory(path, embedder=HashingEmbedder()) as memory:
            order.append("opened")
            memory.remember("one more")

    threads = [threading.Thread(target=visit), threading.Thread(target=write)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    threads[1].join(0.2)
    assert order == []
    leave.set()
    for thread in threads:
        thread.join(30)
    assert order == ["read", "opened"]
    assert count(storage) == 4


def test_threads_may_read_and_write_one_file_at_once(path: Path) -> None:
    stop, errors, counts = threading.Event(), [], []
    storages = [VisitedStorage(path), VisitedStorage(path)]

    def read(storage: VisitedStorage) -> None:
        try:
            while not stop.is_set():
                counts.append(count(storage))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=[storage]) for storage in storages]
    for thread in threads:
        thread.start()
    for n in range(8):
        with TidalMemory(path, embedder=HashingEmbedder()) as memory:
            memory.remember(f"bread {n}")
    stop.set()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert count(storages[0]) == 11
    assert set(counts) <= set(range(3, 12))


def test_a_door_lets_one_purpose_through_at_a_time(tmp_path: Path) -> None:
    doors, file = Doors(), str(tmp_path / "a.db")
    with doors.visiting(file, 0) as alone, doors.visiting(file, 0):
        assert alone
        with pytest.raises(Busy), doors.opening(file, doors, 0):
            pass
        with doors.opening(str(tmp_path / "b.db"), doors, 0):
            pass
    with doors.opening(file, doors, 0), pytest.raises(Busy), doors.visiting(file, 0):
        pass
    link = tmp_path / "link.db"
    Path(file).touch()
    link.symlink_to(file)
    with doors.visiting(str(link), 0) as alone:
        assert not alone, "the file is open for writing under its other name"
    doors.closed(file, doors)
    with doors.visiting(file, 0) as alone:
        assert alone


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_goes_through_doors_that_were_closed_when_it_was_made(path: Path) -> None:
    storage = VisitedStorage(path)

    def read() -> Any:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with TidalMemory(path, embedder=HashingEmbedder()) as memory:
                    status = 0 if len(memory.recall("jazz piano")) == 3 else 2
            finally:
                os._exit(status)
        return os.waitpid(child, 0)[1]

    assert storage.visit(read) == 0
