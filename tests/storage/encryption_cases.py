"""What holds for encrypted files, run by ``test_encryption.py`` with an SQLite that has ciphers."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tidal_plugins import Busy, HashingEmbedder, InvalidInput, StorageError, TidalMemory, list_backups, rekey, restore
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing.renewal import RenewalContract
from tidal_plugins.testing.transactions import TransactionContract

RAW = bytes(range(32))
SAID = "The harbour master keeps the oars in the blue shed."


def key():
    return RAW


def passphrase():
    return "nine slow herons cross the ford"


def other():
    return bytes(32)


def opened(path, key=key):
    return TidalMemory(path, key=key, embedder=HashingEmbedder())


def filled(path, key=key):
    with opened(path, key) as memory:
        memory.record(SAID, "Noted.")


def found(path, key=key):
    with opened(path, key) as memory:
        return memory.recall("harbour oars shed")[0].text


def plain_words(folder):
    """Return the files of a folder in which words of the memory can be read."""
    return [
        file.name for file in folder.iterdir() if any(word in file.read_bytes() for word in (b"harbour", b"SQLite"))
    ]


def test_the_code_of_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORY_KEY", RAW.hex())
    page = Path(__file__).parents[2].joinpath("docs", "tasks", "keep-and-forget.md").read_text(encoding="utf-8")
    [code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "rekey" in block]
    exec(compile(code, "keep-and-forget.md", "exec"), {})
    with TidalMemory("agent.db", key=passphrase) as memory:
        assert "Jonas" in memory.episodes.list()[0].messages[0].text


@pytest.mark.parametrize("key", [key, passphrase])
def test_what_was_written_is_found_with_the_key(tmp_path, key):
    filled(tmp_path / "memory.db", key)
    assert found(tmp_path / "memory.db", key) == SAID


def test_no_word_stands_in_any_file_while_it_is_open_or_after(tmp_path):
    with opened(tmp_path / "memory.db") as memory:
        memory.record(SAID, "Noted.")
        assert (tmp_path / "memory.db-wal").stat().st_size
        assert plain_words(tmp_path) == []
        memory.forget(memory.recall("harbour oars shed")[0].id)  # rewrites the file
        assert plain_words(tmp_path) == []
    assert plain_words(tmp_path) == []


@pytest.mark.parametrize("wrong", [other, passphrase, lambda: "another"])
def test_another_key_is_refused_and_changes_nothing(tmp_path, wrong):
    filled(tmp_path / "memory.db")
    before = (tmp_path / "memory.db").read_bytes()
    with pytest.raises(StorageError, match="cannot be read with this key"):
        opened(tmp_path / "memory.db", wrong)
    assert (tmp_path / "memory.db").read_bytes() == before
    assert found(tmp_path / "memory.db") == SAID


def test_without_a_key_it_is_no_database(tmp_path):
    filled(tmp_path / "memory.db")
    with pytest.raises(StorageError, match="key="):
        opened(tmp_path / "memory.db", None)


def test_a_plain_file_has_no_key(tmp_path):
    filled(tmp_path / "memory.db", None)
    with pytest.raises(StorageError, match="not encrypted"):
        opened(tmp_path / "memory.db")


@pytest.mark.parametrize("bad", [lambda: "", lambda: b"short", lambda: None, lambda: "raw:00", lambda: 1 / 0])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path, bad):
    with pytest.raises(StorageError) as error:
        opened(tmp_path / "memory.db", bad)
    assert "short" not in str(error.value)
    assert "raw:00" not in str(error.value)


def test_every_thread_and_the_background_use_the_key(tmp_path):
    with opened(tmp_path / "memory.db") as memory:
        threads = [threading.Thread(target=memory.record, args=(f"Note {n} on the oars.", "OK.")) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory.maintenance.run()
    with opened(tmp_path / "memory.db") as memory:
        assert len(memory.episodes.list(limit=20)) == 8


def test_an_encrypted_peer_without_its_key_is_reported(tmp_path):
    filled(tmp_path / "theirs.db")
    with TidalMemory(tmp_path / "ours.db", peers=[tmp_path / "theirs.db"], embedder=HashingEmbedder()) as ours:
        ours.record("We keep oars too.", "Fine.")
        recall = ours.recall("harbour oars shed")
    assert "encrypted" in str(recall.peers)


@pytest.mark.parametrize(("old", "new"), [(None, key), (key, other), (key, passphrase), (passphrase, None)])
def test_a_file_gets_another_key(tmp_path, old, new):
    filled(tmp_path / "memory.db", old)
    rekey(tmp_path / "memory.db", key=old, new_key=new)
    assert found(tmp_path / "memory.db", new) == SAID
    assert bool(plain_words(tmp_path)) == (new is None)
    with pytest.raises(StorageError):
        opened(tmp_path / "memory.db", old)


def test_a_file_that_is_open_keeps_its_key(tmp_path):
    with opened(tmp_path / "memory.db") as memory:
        memory.record(SAID, "Noted.")
        with pytest.raises(Busy, match="close"):
            rekey(tmp_path / "memory.db", key=key, new_key=other)
        memory.record("And the boat is green.", "Noted.")
    assert found(tmp_path / "memory.db") == SAID


HOLDS = """
import sys, time
from tidal_plugins import TidalMemory
from tidal_plugins import HashingEmbedder
memory = TidalMemory(sys.argv[1], key=lambda: bytes(range(32)), embedder=HashingEmbedder())
print("open", flush=True)
time.sleep(60)
"""


def test_a_file_that_another_process_has_open_keeps_its_key(tmp_path):
    filled(tmp_path / "memory.db")
    with subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path / "memory.db"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(Busy):
            rekey(tmp_path / "memory.db", key=key, new_key=other)
        holder.kill()
    assert found(tmp_path / "memory.db") == SAID
    rekey(tmp_path / "memory.db", key=key, new_key=other)
    assert found(tmp_path / "memory.db", other) == SAID


@pytest.mark.parametrize("arguments", [{}, {"key": "text"}, {"new_key": b"0" * 32}])
def test_a_change_of_keys_says_what_it_needs(tmp_path, arguments):
    filled(tmp_path / "memory.db")
    with pytest.raises(InvalidInput):
        rekey(tmp_path / "memory.db", **arguments)
    assert found(tmp_path / "memory.db") == SAID


def test_a_change_of_keys_needs_a_memory_and_its_key(tmp_path):
    with pytest.raises(StorageError, match="there is no file"):
        rekey(tmp_path / "none.db", new_key=key)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="is empty"):
        rekey(tmp_path / "empty.db", new_key=key)
    filled(tmp_path / "memory.db")
    with pytest.raises(StorageError, match="with this key"):
        rekey(tmp_path / "memory.db", key=other, new_key=passphrase)
    assert found(tmp_path / "memory.db") == SAID


CHANGES = """
import sys
from tidal_plugins import rekey
print("begins", flush=True)
rekey(sys.argv[1], key=lambda: bytes(range(32)), new_key=lambda: bytes(32))
"""


def test_a_process_that_is_killed_leaves_one_of_the_keys(tmp_path):
    with opened(tmp_path / "memory.db") as memory:
        memory.record(SAID, "Noted.")
        memory.remember([f"Plank {n} of the boat is made of oak. " * 200 for n in range(40)])
    now = key
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.05):
        if now is other:
            rekey(tmp_path / "memory.db", key=other, new_key=key)
        command = [sys.executable, "-c", CHANGES, str(tmp_path / "memory.db")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as changer:
            changer.stdout.readline()
            time.sleep(delay)
            changer.send_signal(signal.SIGKILL)
        try:
            assert found(tmp_path / "memory.db") == SAID
            now = key
        except StorageError:
            assert found(tmp_path / "memory.db", other) == SAID
            now = other


def test_an_altered_page_is_an_error_of_the_library_or_told_in_the_recall(tmp_path):
    filled(tmp_path / "memory.db")
    whole = (tmp_path / "memory.db").read_bytes()
    refused = 0
    for at in range(5_000, len(whole), len(whole) // 40):
        (tmp_path / "memory.db").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            with opened(tmp_path / "memory.db") as memory:
                recall = memory.recall("harbour oars shed")
        except StorageError:
            refused += 1
            continue
        assert recall.degraded or recall.dropped or recall[0].text == SAID
    assert refused


@pytest.mark.parametrize("key", [key, passphrase])
def test_a_backup_has_the_key_of_its_memory_and_comes_back(tmp_path, key):
    (tmp_path / "backups").mkdir()
    with opened(tmp_path / "memory.db", key) as memory:
        memory.record(SAID, "Noted.")
        backup = memory.backup(tmp_path / "backups" / "monday.db")
        memory.record("The oars are in the attic now.", "Noted.")
        assert plain_words(tmp_path / "backups") == []
    assert list_backups(tmp_path / "backups", key=key) == [backup]
    assert restore(backup, tmp_path / "memory.db", key=key, replace=True) == backup
    assert b"harbour" not in (tmp_path / "memory.db").read_bytes()
    with opened(tmp_path / "memory.db", key) as memory:
        assert memory.check().ok
        assert [episode.query for episode in memory.episodes.list()] == [SAID]
        assert memory.backup(tmp_path / "backups" / "monday.db", replace=True).rows["entries"] == backup.rows["entries"]
    assert [file.name for file in (tmp_path / "backups").iterdir()] == ["monday.db"]


def test_a_backup_with_another_key_is_passed_over_and_replaces_nothing(tmp_path):
    (tmp_path / "backups").mkdir()
    with opened(tmp_path / "memory.db") as memory:
        memory.record(SAID, "Noted.")
        backup = memory.backup(tmp_path / "backups" / "monday.db")
    for wrong, reason in ((other, "with this key"), (passphrase, "with this key"), (None, "key=")):
        assert list_backups(tmp_path / "backups", key=wrong) == []
        with pytest.raises(StorageError, match=reason):
            restore(backup, tmp_path / "memory.db", key=wrong, replace=True)
    assert found(tmp_path / "memory.db") == SAID
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backups", "memory.db"]


def test_a_damaged_encrypted_backup_replaces_nothing(tmp_path):
    with opened(tmp_path / "memory.db") as memory:
        memory.record(SAID, "Noted.")
        backup = memory.backup(tmp_path / "monday.db")
    whole = (tmp_path / "monday.db").read_bytes()
    (tmp_path / "monday.db").write_bytes(whole[:20_000] + bytes([whole[20_000] ^ 1]) + whole[20_001:])
    with pytest.raises(StorageError):
        restore(backup, tmp_path / "memory.db", key=key, replace=True)
    assert found(tmp_path / "memory.db") == SAID


@pytest.mark.parametrize("key", [key, passphrase])
def test_an_encrypted_memory_is_opened_for_reading(tmp_path, key):
    filled(tmp_path / "memory.db", key)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with TidalMemory(tmp_path / "memory.db", key=key, embedder=HashingEmbedder(), read_only=True) as memory:
        assert memory.recall("harbour oars shed")[0].text == SAID
        assert memory.check().ok
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    with pytest.raises(StorageError, match="with this key"):
        TidalMemory(tmp_path / "memory.db", key=other, embedder=HashingEmbedder(), read_only=True)


class TestEncryptedSQLite(TransactionContract, RenewalContract):
    """A sample of the contract: what depends on how the file is opened and rewritten."""

    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: SQLiteStorage(tmp_path / "memory.db", key=key)
