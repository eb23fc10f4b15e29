"""Reading a file of somebody else's, and writing it from the same process."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.inside import raw
from tests.waiting import PATIENCE
from tidal_plugins import Busy, HashingEmbedder, Note, StorageError, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.sqlite import ReadOnlySQLite

SCOPE = ("default",)
ALL = Where()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with TidalMemory(tmp_path / "other.db", embedder=HashingEmbedder()) as memory:
        memory.remember([Note(f"jazz piano {n}") for n in range(3)])
    return tmp_path / "other.db"


def count(storage: ReadOnlySQLite) -> int:
    return storage.while_open(lambda: len(storage.find(SCOPE, ALL)))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("open_here", [True, False])
def test_behind_a_link_the_log_of_the_file_itself_is_read(path: Path, tmp_path: Path, open_here: bool) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "other.db"
    link.symlink_to(path)
    storage = ReadOnlySQLite(link)
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
    storage, raised = ReadOnlySQLite(tmp_path / "pipe.db"), []

    def read() -> None:
        try:
            count(storage)
        except StorageError as error:
            raised.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert len(raised) == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(path: Path) -> None:
    storage = ReadOnlySQLite(path)
    seen: list[int] = []

    def read() -> int:
        seen.append(len(storage.find(SCOPE, ALL)))
        if len(seen) == 1:
            path.touch()
        return seen[-1]

    assert storage.while_open(read) == 3
    assert seen == [3, 3]


def test_a_file_that_keeps_changing_is_given_up(path: Path) -> None:
    storage = ReadOnlySQLite(path)
    clock = iter(range(100))

    def read() -> None:
        os.utime(path, (next(clock), next(clock)))

    with pytest.raises(Busy, match="whenever it was read"):
        storage.while_open(read)


def test_opening_for_writing_waits_for_the_reader(path: Path) -> None:
    storage = ReadOnlySQLite(path)
    inside, leave, order = threading.Event(), threading.Event(), []

    def read_slowly() -> None:
        def read() -> None:
            inside.set()
            leave.wait(PATIENCE)
            order.append("read")

        storage.while_open(read)

    def write() -> None:
        with TidalMemory(path, embedder=HashingEmbedder()) as memory:
            order.append("opened")
            memory.remember("one more")

    threads = [threading.Thread(target=read_slowly), threading.Thread(target=write)]
    threads[0].start()
    assert inside.wait(PATIENCE)
    threads[1].start()
    threads[1].join(0.2)
    assert order == []
    leave.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["read", "opened"]
    assert count(storage) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_holds_none_of_the_locks_of_its_parent(path: Path) -> None:
    storage = ReadOnlySQLite(path)
    ends = []

    def read() -> None:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with TidalMemory(path, embedder=HashingEmbedder()) as memory:
                    status = 0 if len(memory.recall("jazz piano")) == 3 else 2
            finally:
                os._exit(status)
        ends.append(os.waitpid(child, 0)[1])

    with suppress(Busy):  # the child may have changed the file that its parent was reading
        storage.while_open(read)
    assert set(ends) == {0}


def test_a_file_of_an_older_version_is_not_read(path: Path) -> None:
    connection = raw(path)
    connection.pragma("user_version", 1)
    connection.close()
    with pytest.raises(StorageError, match="has schema version 1, this library reads"):
        count(ReadOnlySQLite(path))
