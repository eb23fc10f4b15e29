"""The SQLite engine: the contract, and what is its own: files, processes, faults."""

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside import raw
from tidal_plugins.errors import Corrupt, DiskFull, QueryTimeout, StorageError
from tidal_plugins.storage.base import ALL_LINKS, Line, Passage, Record, Storage
from tidal_plugins.storage.columns import cache, pieces
from tidal_plugins.storage.columns.binary import as_stored
from tidal_plugins.storage.damage import noticed, whole
from tidal_plugins.storage.rows import unit_vector
from tidal_plugins.storage.shorthands import passage_vectors, write_document
from tidal_plugins.storage.sqlite import SQLiteStorage, log_mark, opening
from tidal_plugins.testing import ALL, FULL, HERE, NOON, entry, link, record
from tidal_plugins.testing.columns import ColumnsContract
from tidal_plugins.testing.renewal import RenewalContract
from tidal_plugins.testing.search import SearchContract
from tidal_plugins.testing.store import StoreContract
from tidal_plugins.testing.transactions import TransactionContract

WORKER = Path(__file__).with_name("worker.py")


class TestSQLite(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], Storage]:
        return lambda: SQLiteStorage(tmp_path / "memory.db")


class TestSQLiteByCodes(SearchContract, ColumnsContract, RenewalContract, TransactionContract):
    """What is searched, where codes choose what is compared, and columns are saved after every few rows."""

    @pytest.fixture(autouse=True)
    def few_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (cache, pieces):
            monkeypatch.setattr(module, "SIZE", 3)

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], Storage]:
        return lambda: SQLiteStorage(tmp_path / "memory.db", exact_vectors_up_to=2)


class Process:
    """A worker process: ``call`` a command of ``worker.py``, or ``send`` it now and ``receive`` its answer later."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(WORKER)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def send(self, *command: Any) -> None:
        assert self._process.stdin
        print(json.dumps(command), file=self._process.stdin, flush=True)

    def receive(self) -> Any:
        assert self._process.stdout
        answer = json.loads(self._process.stdout.readline())
        return answer.get("value", answer.get("error"))

    def call(self, *command: Any) -> Any:
        self.send(*command)
        return self.receive()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def process() -> Iterator[Process]:
    process = Process()
    yield process
    process.end()


@pytest.fixture
def second_process() -> Iterator[Process]:
    process = Process()
    yield process
    process.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStorage]:
    store = SQLiteStorage(path, busy_timeout=5)
    yield store
    store.close()


def vector_of(name: str) -> np.ndarray:
    return np.array(random.Random(name).choices([-1.0, -0.5, 0.5, 1.0], k=24), np.float32)


def agreed_ids(path: Path) -> set[str]:
    """The ids in the file, after checking that its rows, passages, keywords and vectors agree."""
    connection = raw(path)
    rows = lambda sql: connection.execute(sql).fetchall()  # noqa: E731
    assert rows("PRAGMA integrity_check") == [("ok",)]
    assert rows("PRAGMA foreign_key_check") == []
    connection.execute("INSERT INTO keywords (keywords) VALUES ('integrity-check')")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, keywords, instance)")
    assert rows("SELECT key FROM passages ORDER BY key") == rows("SELECT DISTINCT doc FROM words ORDER BY doc")
    assert rows("SELECT rowid FROM keywords EXCEPT SELECT key FROM passages") == []
    assert rows("SELECT DISTINCT (SELECT count(*) FROM passages WHERE entry = e.key) FROM entries e") in ([], [(2,)])
    assert rows("SELECT DISTINCT length(vector) FROM vectors") in ([], [(2 * 24,)])
    found = {row[0] for row in rows("SELECT id FROM entries")}
    connection.close()
    return found


# opening


@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("fast", 1)])
def test_the_file_is_in_wal_mode_and_synced_as_asked(path: Path, durability: Any, level: int) -> None:
    store = SQLiteStorage(path, durability=durability)
    connection = store._db.get()
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == level
    names = ("foreign_keys", "secure_delete", "trusted_schema", "journal_size_limit")
    assert [connection.pragma(name) for name in names] == [1, 1, 0, opening.WAL_BYTES]
    store.close()


def test_opening_again_changes_nothing(path: Path) -> None:
    SQLiteStorage(path).close()
    before = path.read_bytes()
    SQLiteStorage(path).close()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_a_relative_path_stays_the_same_file_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SQLiteStorage("memory.db")
    monkeypatch.chdir("elsewhere")
    thread = threading.Thread(target=store.put, args=(HERE, [record("a")]))  # opens a connection
    thread.start()
    thread.join()
    assert len(store.find(HERE, ALL)) == 1
    store.close()
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("mark", ["CREATE TABLE theirs (x)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"])
def test_the_file_of_another_program_is_refused_and_left_as_it_is(path: Path, journal: str, mark: str) -> None:
    foreign = sqlite3.connect(path)
    foreign.execute(f"PRAGMA journal_mode = {journal}")
    foreign.execute("VACUUM")
    foreign.execute(mark)
    foreign.commit()
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="of another program"):
        SQLiteStorage(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


@pytest.mark.parametrize(("version", "remedy"), [(99, "upgrade"), (1, "new file")])
def test_a_file_of_another_version_is_refused_and_left_as_it_is(path: Path, version: int, remedy: str) -> None:
    SQLiteStorage(path).close()
    connection = raw(path)
    connection.pragma("user_version", version)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=f"has schema version {version}, this library reads .*{remedy}"):
        SQLiteStorage(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"Dear diary,\n" * 400, b"xy", bytes(range(256)) * 20, b"SQLite format 3\0" + b"x" * 5000],
    ids=["text", "two bytes", "bytes", "header only"],
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageError):
        SQLiteStorage(path)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a directory"):
        SQLiteStorage(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="file permissions of POSIX")
@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "error"),
    [(0o444, 0o755, "ReadOnly"), (0o666, 0o555, "ReadOnly"), (None, 0o555, "ReadOnly"), (0o666, 0o000, "ReadOnly")],
)
def test_what_may_not_be_written_is_refused(
    process: Process, file_mode: int | None, folder_mode: int, error: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path: it is closed to other users
        outer, inner = Path(folder), Path(folder, "inner")
        outer.chmod(0o755)
        inner.mkdir()
        if file_mode is not None:
            SQLiteStorage(inner / "memory.db").close()
            (inner / "memory.db").chmod(file_mode)
        inner.chmod(folder_mode)
        assert process.call("as_nobody", str(outer / "warm.db"), str(inner / "memory.db")) == error
        inner.chmod(0o755)


# connections


def test_files_are_let_go_when_the_store_is_closed(path: Path) -> None:
    store = SQLiteStorage(path)
    threads = [threading.Thread(target=store.put, args=(HERE, [record(str(i))])) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]
    if Path("/proc/self/fd").exists():
        assert path not in [link.resolve() for link in Path("/proc/self/fd").iterdir()]


def test_a_long_query_stops_at_its_deadline(path: Path) -> None:
    store = SQLiteStorage(path, query_deadline=0.0)
    store.put(HERE, [record(str(i), "same words here") for i in range(3000)])
    with pytest.raises(QueryTimeout):
        store.matching(HERE, ["same", "words", "here"], 10, ALL)
    assert len(store.find(HERE, ALL)) == 3000
    store.close()


def test_columns_of_scopes_beyond_the_budget_are_dropped_and_read_again(path: Path) -> None:
    store, frugal = SQLiteStorage(path), SQLiteStorage(path, exact_vectors_up_to=100, column_cache_bytes=200_000)
    for scope, count in ((HERE, 300), (("there",), 60), (("yonder",), 60)):
        store.put(scope, [record(f"{i}", vector=vector_of(str(i)), scope=scope) for i in range(count)])
        for _ in range(2):
            found, expected = (handle.nearest(scope, vector_of("q"), 50, ALL) for handle in (frugal, store))
            assert [match.score for match in found] == pytest.approx([match.score for match in expected], abs=1e-5)
    assert frugal._held.nbytes <= 200_000
    store.close()
    frugal.close()


# faults


def test_a_full_disk_is_told_and_leaves_nothing_half_written(store: SQLiteStorage, path: Path) -> None:
    def batch(name: str) -> list[Record]:
        passages = [Passage(0, 4, f"{name}x", vector_of(name)), Passage(0, 4, "shared", vector_of("shared"))]
        return [Record(entry(f"{name}-{i}", "text " * 50), passages) for i in range(50)]

    store.put(HERE, batch("first"))
    connection = store._db.get()
    pages = connection.pragma("page_count")
    for spare in range(20):
        connection.pragma("max_page_count", pages + spare)
        with pytest.raises(StorageError), store.transaction():
            store.put(HERE, batch("second"))
            with suppress(DiskFull):
                store.put(HERE, batch("third"))
            store.put(HERE, batch("fourth"))
        assert len(store.find(HERE, ALL)) == len(store.matching(HERE, ["firstx"], 99, ALL)) == 50
    connection.pragma("max_page_count", 1_000_000)
    assert len(store.put(HERE, batch("second"))) == 50
    assert len(store.nearest(HERE, vector_of("second"), 999, ALL)) == 100
    assert len(agreed_ids(path)) == 100


@pytest.mark.parametrize(
    "change",
    [
        "text = text || '!'",
        "trust = 0.1",
        "tags = '[\"x\"]'",
        "scope = (SELECT key FROM scopes WHERE path = '[\"there\"]')",
        "checksum = x'00'",
    ],
)
def test_a_changed_row_is_told_and_names_the_entry(store: SQLiteStorage, path: Path, change: str) -> None:
    store.put(HERE, [Record(FULL), record("other")])
    store.put(("there",), [record("there", scope=("there",))])
    connection = raw(path)
    connection.execute(f"UPDATE entries SET {change} WHERE id = 'full'")
    connection.close()
    scope = ("there",) if change.startswith("scope") else HERE
    for read in (lambda: store.get(scope, ["full", "other"]), lambda: [one.id for one in store.find(scope, ALL)]):
        with noticed() as damaged:
            assert "full" not in read()
        assert ("entries", "full") in damaged
        with pytest.raises(Corrupt) as caught, whole():
            read()
        assert caught.value.entry == "full"
    assert list(store.get(HERE, ["full", "other"])) == ["other"]


@pytest.mark.parametrize("damage", ["zeroblob(96)", "zeroblob(95)", "x'0000c07f' || zeroblob(92)", "randomblob(96)"])
def test_a_changed_vector_is_told(store: SQLiteStorage, path: Path, damage: str) -> None:
    store.put(HERE, [record(str(i), vector=vector_of(str(i))) for i in range(5)])
    connection = raw(path)
    connection.execute(f"UPDATE vectors SET vector = CAST({damage} AS BLOB) WHERE passage = 3")
    connection.close()
    for _ in range(2):  # a second search has the vectors in memory
        with noticed() as damaged:
            assert {match.id for match in store.nearest(HERE, vector_of("q"), 5, ALL)} == {"0", "1", "3", "4"}
        assert [row.table for row in damaged] == ["vectors"]
    with noticed() as damaged, store.transaction():
        assert {span.id for span in passage_vectors(store, HERE, list("01234")).spans} == {"0", "1", "3", "4"}
    assert [row.table for row in damaged] == ["vectors"]


@pytest.mark.parametrize("seed", [1, 7, 17])  # here secure_delete alone leaves copies
def test_erased_text_and_vectors_leave_no_bytes_behind(path: Path, seed: int) -> None:
    store = SQLiteStorage(path)
    dice = random.Random(seed)
    names = [f"sekret{''.join(dice.choices('bcdfghjklmnpqrstvwxz', k=12))}q" for _ in range(400)]
    for start in range(0, 400, 40):
        batch = names[start : start + 40]
        long = [name + " filler" * dice.randrange(400) for name in batch]
        store.put(HERE, [record(n, t, vector_of(n), tags=(n,)) for n, t in zip(batch, long, strict=True)])
    gone = set(dice.sample(names, 250))
    for name in names[:50]:
        store.put(HERE, [record(name, "replaced", vector_of("replaced"))], replace=True)
    store.erase(HERE, gone - set(names[:100]))
    store.erase(HERE, gone)
    assert store.scrub()
    kept = set(names) - gone - set(names[:50])
    vocabulary = raw(path)
    assert list(vocabulary.execute("SELECT passage FROM signs ORDER BY passage")) == list(
        vocabulary.execute("SELECT key FROM passages ORDER BY key")
    )
    vocabulary.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, keywords, row)")
    terms = {re.sub(r"^s\d+x", "", row[0]) for row in vocabulary.execute("SELECT term FROM words")}
    vocabulary.close()
    assert {term for term in terms if term.startswith("sekret")} == kept
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    store.close()
    on_disk += b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [name for name in gone if name.encode() in on_disk] == []
    stored = {name: as_stored([unit_vector(vector_of(name))])[0][0] for name in names}
    assert [name for name in gone if stored[name] in on_disk] == []
    assert all(stored[name] in on_disk for name in kept)


# processes


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_writes_while_the_parent_goes_on_closes_and_opens(path: Path, process: Process) -> None:
    process.call("open", str(path))
    assert process.call("fork", "child", "parent", 40) == 0
    process.call("close")
    expected = {"before", *(f"child-{i}" for i in range(40)), *(f"parent-{i}" for i in range(20))}
    assert agreed_ids(path) == expected | {f"parent-again-{i}" for i in range(20)}


@pytest.mark.slow
def test_two_processes_may_open_a_new_file_at_once(tmp_path: Path, process: Process, second_process: Process) -> None:
    for worker in (process, second_process):
        worker.call("open", str(tmp_path / "warm.db"))
    for turn in range(20):
        for worker in (process, second_process):
            worker.send("open", str(tmp_path / f"{turn}.db"), str(tmp_path / f"start {turn}"))
        assert [process.receive(), second_process.receive()] == ["open", "open"]
        assert [process.call("put", "a"), second_process.call("put", "b")] == [["a"], ["b"]]
        assert agreed_ids(tmp_path / f"{turn}.db") == {"a", "b"}


@pytest.mark.slow
def test_a_process_that_stays_as_a_reader_sees_one_state_and_stops_no_writer(
    path: Path, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, pages in {"LONG": 25, "FULL": 50, "STEP": 50}.items():
        monkeypatch.setattr(log_mark, name, pages)
    with closing(SQLiteStorage(path, busy_timeout=0.1)) as store:
        store.put(HERE, [record("gone", vector=vector_of("gone"))])
        process.call("open", str(path))
        assert process.call("hold") == ["gone"]
        names = [f"e{number:02}" for number in range(30)]
        for name in names:
            store.put(HERE, [record(name, "a shelf " * 1000, vector_of(name))])
        store.erase(HERE, ["gone"])
        assert store.measures().log_bytes > 50 * 4096, "the reader needs what the log begins with"
        assert not store.scrub()
        assert process.call("found") == ["gone"]
        assert process.call("release") == names
        assert store.scrub()


@pytest.mark.parametrize("read_first", [False, True])
def test_a_scope_that_was_rolled_back_is_written_anew(tmp_path: Path, read_first: bool) -> None:
    """Its key is remembered only where it is in the file for good: else another scope may get it."""
    with closing(SQLiteStorage(tmp_path / "memory.db")) as store:
        one, other = ("one",), ("other",)
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.put_links(one, [link("x", "a", "b")])
            assert not read_first or len(store.links(one, ALL_LINKS)) == 1
            raise ZeroDivisionError
        assert store.links(one, ALL_LINKS) == []
        store.put_links(other, [link("y", "c", "d")])
        assert store.links(one, ALL_LINKS) == [], "not what has the key that it would have had"
        store.put_links(one, [link("x", "a", "b")])
        assert [found.source for found in store.links(one, ALL_LINKS)] == ["a"]
        assert [found.source for found in store.links(other, ALL_LINKS)] == ["c"]
    with closing(SQLiteStorage(tmp_path / "memory.db")) as store:
        assert [[found.source for found in store.links(scope, ALL_LINKS)] for scope in (one, other)] == [["a"], ["c"]]


def test_links_lines_and_versions_that_went_leave_no_bytes_behind(store: SQLiteStorage, path: Path) -> None:
    names = [f"sekret{i:03}q" for i in range(200)]
    store.put(HERE, [record(name) for name in names])
    store.put_links(HERE, [link(n, n, "x", metadata={"text": n * 30}) for n in names])
    store.append_log(HERE, "log", [Line(n, NOON, n * 30) for n in names])
    for name in names:
        write_document(store, HERE, "facts", name, name * 30, keep=1)
        write_document(store, HERE, "facts", name, None, keep=1)
    store.erase(HERE, names[:150])
    store.erase_documents(HERE, "facts", names[:150])
    assert store.scrub()
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [name for name in names if name.encode() in on_disk] == names[150:]
