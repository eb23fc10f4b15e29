"""``memory://``: a new store each time, in a temporary file that goes when it is closed, or after a crash."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tidal_plugins import HashingEmbedder, StorageError, TidalMemory, restore
from tidal_plugins.storage.sqlite import TemporarySQLite
from tidal_plugins.storage.sqlite.engine import FILE, FOLDER
from tidal_plugins.testing import ALL, HERE, ids, record
from tidal_plugins.testing.contract import in_thread


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the temporary directory."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def opened(*path: object, **options: object) -> TidalMemory:
    return TidalMemory(*(path or ("memory://",)), embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]


def left_behind(folder: Path, name: str = "a", *files: str) -> Path:
    """Return a folder as a process that was killed leaves it."""
    left = folder / f"{FOLDER}{name}"
    left.mkdir(0o700)
    for file in files or (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        (left / file).touch()
    return left


def test_each_opening_is_an_empty_store_that_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened() as one, opened() as other:
        one.record("I play jazz piano.", "Noted.")
        assert "jazz" in one.recall("piano")[0].text
        assert len(other.recall("piano")) == 0
        assert one.path.startswith("memory://")
        assert one.path != other.path
        assert [each.stat().st_mode & 0o777 for each in folder.iterdir()] == [0o700, 0o700]
    assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == [folder]


def test_it_is_checked_measured_and_backed_up_like_a_file(folder: Path, tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("The ladder is in the shed.")
        assert memory.check(repair=True).ok
        assert memory.check().rows["entries"] == 1
        assert memory.stats().file_bytes > 0
        memory.backup(tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "restored.db")
    with opened(tmp_path / "restored.db") as memory:
        assert memory.recall("ladder")[0].text == "The ladder is in the shed."


def test_nothing_is_synced_and_readers_hold_up_no_writer(folder: Path) -> None:
    store = TemporarySQLite()
    assert [store._db.get().pragma(name) for name in ("synchronous", "journal_mode")] == [0, "wal"]
    with store._db.unsynced():
        assert store._db.get().pragma("synchronous") == 0
    with store.snapshot():
        assert store.find(HERE, ALL) == []
        in_thread(lambda: store.put(HERE, [record("a")]))
        assert store.find(HERE, ALL) == []
    assert ids(store.find(HERE, ALL)) == ["a"]
    store.close()


def test_what_a_killed_process_left_is_removed_by_the_next_opening(folder: Path) -> None:
    left, unfinished = left_behind(folder), left_behind(folder, "b", FILE)
    with opened():
        assert not left.exists()
        assert not unfinished.exists()


def test_what_is_in_use_or_is_none_of_ours_stays(folder: Path, tmp_path: Path) -> None:
    strange = left_behind(folder, "strange", "thesis.tex")
    (folder / f"{FOLDER}file").write_text("a file")
    (folder / f"{FOLDER}link").symlink_to(left_behind(tmp_path))
    (folder / "other").mkdir()
    before = sorted(folder.iterdir())
    with opened() as first:
        first.remember("The ladder is in the shed.")
        with opened():
            assert first.check().ok
    assert sorted(folder.iterdir()) == before
    assert (strange / "thesis.tex").exists()
    assert (tmp_path / f"{FOLDER}a" / FILE).exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_folders_of_other_users_stay(folder: Path) -> None:
    left = left_behind(folder)
    os.chown(left, 65534, 65534)
    with opened():
        assert (left / FILE).exists()


def test_without_a_temporary_directory_it_says_what_to_do(folder: Path) -> None:
    folder.rmdir()
    with pytest.raises(StorageError, match="TMPDIR"):
        opened()


PROGRAM = """
import os, sys
from tidal_plugins.storage.shorthands import read_meta, write_meta
from tidal_plugins.storage.sqlite import TemporarySQLite

store = TemporarySQLite()
if sys.argv[1] == "fork":
    pid = os.fork()
    if not pid:
        write_meta(store, "said", "by the child")
        store.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert read_meta(store, "said") == "by the child"
    print(os.listdir(os.environ["TMPDIR"]) != [], flush=True)
    store.close()
print("open", flush=True)
if sys.argv[1] == "wait":
    input()
"""


def process(*words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stdin=pipe, stdout=pipe, text=True)


@pytest.mark.slow
def test_the_store_of_another_process_stays_until_that_is_killed(folder: Path) -> None:
    other = process("wait")
    assert other.stdout
    assert other.stdout.readline() == "open\n"
    [theirs] = folder.iterdir()
    with opened():
        assert (theirs / FILE).exists()
    other.send_signal(signal.SIGKILL)
    other.communicate(timeout=PATIENCE)
    assert theirs.exists()
    with opened():
        assert not theirs.exists()


@pytest.mark.slow
def test_a_process_that_ends_while_turns_are_indexed_says_nothing_of_it(folder: Path) -> None:
    program = (
        "from tidal_plugins import HashingEmbedder, TidalMemory\n"
        "memory = TidalMemory('memory://', embedder=HashingEmbedder())\n"
        "for number in range(30): memory.record(f'I like tea number {number}.', 'Noted.')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_shares_the_store_and_does_not_remove_it(folder: Path) -> None:
    assert process("fork").communicate(timeout=PATIENCE)[0] == "True\nopen\n"
    assert list(folder.iterdir()) == []
