"""Backups of a store in use, and the way back."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tests.inside import raw
from tidal_plugins import (
    Busy,
    Conflict,
    Corrupt,
    HashingEmbedder,
    InvalidInput,
    StorageError,
    TidalMemory,
    list_backups,
    restore,
)
from tidal_plugins.testing import FrozenClock


def open_memory(path: Path | str, clock: FrozenClock | None = None) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), clock=clock or FrozenClock())


def damage(path: Path) -> None:
    connection = raw(path)
    connection.execute("UPDATE entries SET text = 'forged'")
    connection.close()


def test_a_backup_holds_the_moment_and_comes_back(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_memory(tmp_path / "agent.db", clock) as memory:
        memory.record("The spare key is with Jonas.", "Noted.")
        first = memory.backup(tmp_path / "monday.db")
        clock.advance(days=1)
        memory.record("The spare key is with Carla now.", "Noted.")
        second = memory.backup(tmp_path / "tuesday.db")
    assert list_backups(tmp_path) == [second, first]
    assert second.at - first.at == timedelta(days=1)
    assert first.source == str(tmp_path / "agent.db")
    assert restore(first, tmp_path / "agent.db", replace=True) == first
    with open_memory(tmp_path / "agent.db") as memory:
        assert len(memory.episodes.list()) == 1
        assert memory.check().ok
    assert list_backups(tmp_path) == [second, first], "what was restored is a memory, and no backup"
    assert {path.name for path in tmp_path.iterdir()} == {"agent.db", "monday.db", "tuesday.db"}


def test_a_backup_is_whole_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_memory(path) as memory, open_memory(path) as other:
        done = threading.Event()

        def write() -> None:
            for number in range(40):
                other.record(f"Turn {number} of the other.", "Noted.")
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        made = [memory.backup(tmp_path / f"{number}.db") for number in range(3)]
        writer.join()
        assert done.is_set(), "no backup held a writer up"
        assert all(backup.rows["entries"] <= memory.check().rows["entries"] for backup in made)
    with open_memory(tmp_path / "2.db") as copy:
        assert copy.check().ok


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    with open_memory(tmp_path / "agent.db") as memory:
        memory.remember("The ladder is in the shed.")
        backup = memory.backup(tmp_path / "copy.db")
        with pytest.raises(Conflict, match="replace=True"):
            memory.backup(tmp_path / "copy.db")
        assert memory.backup(tmp_path / "copy.db", replace=True).rows == backup.rows
        with pytest.raises(InvalidInput, match="the memory itself"):
            memory.backup(tmp_path / "agent.db", replace=True)
    with pytest.raises(Conflict, match="replace=True"):
        restore(backup, tmp_path / "agent.db")


def test_a_backup_is_not_restored_onto_itself(tmp_path: Path) -> None:
    with open_memory(tmp_path / "agent.db") as memory:
        memory.record("The crane is green.")
        backup = memory.backup(tmp_path / "monday.db")
    with pytest.raises(InvalidInput, match="the backup itself"):
        restore(backup, tmp_path / "monday.db", replace=True)
    assert list_backups(tmp_path) == [backup]


def test_a_backup_takes_the_place_of_no_log_no_hard_link_and_no_pipe(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_memory(path) as memory:
        memory.record("The crane is green.")
        (tmp_path / "same.db").hardlink_to(path)
        backup = memory.backup(tmp_path / "monday.db")
        for ending in ("-wal", "-shm", "-journal"):
            with pytest.raises(InvalidInput, match="belongs to"):
                memory.backup(f"{path}{ending}", replace=True)
            with pytest.raises(InvalidInput, match="belongs to"):
                restore(backup, f"{path}{ending}", replace=True)
        with pytest.raises(InvalidInput, match="the memory itself"):
            memory.backup(tmp_path / "same.db", replace=True)
        if hasattr(os, "mkfifo"):  # not on Windows
            os.mkfifo(tmp_path / "pipe")
            with pytest.raises(InvalidInput, match="pipe"):
                memory.backup(tmp_path / "pipe", replace=True)
        assert memory.record("The crane is blue.")
    with open_memory(path) as memory:
        assert len(memory.episodes.list()) == 2


def test_a_link_to_a_memory_or_a_backup_stays_a_link(tmp_path: Path) -> None:
    with open_memory(tmp_path / "agent.db") as memory:
        memory.record("The crane is green.")
        for name in ("agent", "backup"):
            (tmp_path / f"{name}-link.db").symlink_to(tmp_path / f"{name}.db")
        backup = memory.backup(tmp_path / "backup-link.db", replace=True)
        memory.record("The crane is blue.")
    restore(backup, tmp_path / "agent-link.db", replace=True)
    assert all((tmp_path / f"{name}-link.db").is_symlink() for name in ("agent", "backup"))
    with open_memory(tmp_path / "agent.db") as memory:
        assert len(memory.episodes.list()) == 1


def test_a_memory_that_is_open_is_not_replaced(tmp_path: Path) -> None:
    with open_memory(tmp_path / "agent.db") as memory:
        memory.remember("The ladder is in the shed.")
        backup = memory.backup(tmp_path / "copy.db")
        with pytest.raises(Busy, match="close"):
            restore(backup, tmp_path / "agent.db", replace=True)
        memory.remember("The rake is in the shed.")
    restore(backup, tmp_path / "agent.db", replace=True)


def test_a_damaged_backup_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        for number in range(60):
            memory.remember(f"Berth {number} is free until the autumn.")
        made = memory.backup(tmp_path / "copy.db")
    whole, told = Path(made.path).read_bytes(), []
    for at in range(4096, len(whole), 5 * 4096):
        Path(made.path).write_bytes(whole[: at + 2000] + bytes(2000) + whole[at + 4000 :])
        try:
            restore(made.path, tmp_path / "new.db", replace=True)
        except Corrupt as error:
            told.append(str(error))
            assert {path.name for path in tmp_path.iterdir()} <= {"memory.db", "copy.db", "new.db"}
    assert any("nothing was restored" in one for one in told)
    assert [one for one in told if "copy.db is damaged" not in one] == []


def test_a_damaged_memory_is_backed_up_only_when_told_so_and_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_memory(path) as memory:
        memory.remember("The ladder is in the shed.")
        good = memory.backup(tmp_path / "good.db")
        damage(path)
        with pytest.raises(Corrupt, match="damaged=True"):
            memory.backup(tmp_path / "bad.db")
        assert not (tmp_path / "bad.db").exists()
        bad = memory.backup(tmp_path / "bad.db", damaged=True)
    with pytest.raises(Corrupt):
        restore(bad, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    path.write_bytes(b"no database at all, but long enough to be read as a header of one" * 40)
    restore(good, path, replace=True)
    with open_memory(path) as memory:
        assert memory.recall("ladder")


def test_what_is_no_backup_is_told_and_passed_over(tmp_path: Path) -> None:
    with open_memory(tmp_path / "agent.db") as memory:
        memory.remember("The ladder is in the shed.")
    (tmp_path / "notes.txt").write_text("nothing")
    assert list_backups(tmp_path) == []
    for path in ("agent.db", "notes.txt", "missing.db"):
        with pytest.raises(StorageError):
            restore(tmp_path / path, tmp_path / "new.db")
    with pytest.raises(InvalidInput):
        list_backups(tmp_path / "nowhere")
