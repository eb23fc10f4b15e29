"""Columns that are saved in the file, and codes: searches find what an exact search over the rows finds."""

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.inside import raw
from tests.waiting import eventually
from tidal_plugins import HashingEmbedder, TidalMemory, Tier
from tidal_plugins.storage.base import Match, Span, Storage, Where
from tidal_plugins.storage.columns import cache
from tidal_plugins.storage.columns import pieces as packing
from tidal_plugins.storage.columns.tables import PASSAGE
from tidal_plugins.storage.damage import noticed
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.storage.sql import search as background
from tidal_plugins.storage.sqlite import ReadOnlySQLite, SQLiteStorage
from tidal_plugins.storage.sqlite import search as seeking
from tidal_plugins.storage.sqlite.search import ScopeSource
from tidal_plugins.testing import ALL, HERE, NOON, ids, record

HOUR = timedelta(hours=1)
ONES = np.ones(70, np.float32)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be so small that a few entries fill some, and searches read columns at once."""
    for module in (cache, packing):
        monkeypatch.setattr(module, "SIZE", 4)
    monkeypatch.setattr(seeking, "ASKED", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def by_codes(path: Path) -> SQLiteStorage:
    return SQLiteStorage(path, exact_vectors_up_to=2)


def fill(store: Storage, names: list[str]) -> None:
    random = Random(",".join(names))
    store.put(
        HERE,
        [
            record(
                name,
                f"text {name}",
                [random.gauss(0, 1) for _ in range(70)],
                speaker=random.choice(("Ann", "Bo")),
                thread=random.choice(("s1", "s2")),
                occurred_at=NOON + random.randint(0, 9) * HOUR,
                tier=Tier(1.0, NOON, 72.0, NOON + random.randint(1, 9) * HOUR, NOON + 20 * HOUR),
            )
            for name in names
        ],
    )


def fill_slowly(store: Storage) -> None:
    """Store 24 entries, four at a time, with time for the background after each."""
    for first in range(0, 24, 4):
        fill(store, [f"e{first + each}" for each in range(4)])
        for thread in threading.enumerate():
            if thread.name == "tidal-columns":
                thread.join()


class File:
    """A file, and what stands in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, **options: Any) -> Storage:
        return SQLiteStorage(self.path, **options)

    def nearest_to_reader(self) -> list[Match]:
        reader = ReadOnlySQLite(self.path, exact_vectors_up_to=2)
        with closing(reader):
            return reader.while_open(lambda: reader.nearest(HERE, ONES, 99, ALL))

    def pieces(self) -> int:
        return pieces(self.path)

    def holds(self, text: bytes) -> bool:
        return text in self.path.read_bytes()


class Database:
    """A PostgreSQL database, and what stands in it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, **options: Any) -> Storage:
        from tidal_plugins.storage.postgres import PostgresStorage

        return PostgresStorage(self.url, partitions=2, **options)

    def nearest_to_reader(self) -> list[Match]:
        with closing(self.open(exact_vectors_up_to=2, read_only=True)) as reader:
            return reader.nearest(HERE, ONES, 99, ALL)

    def pieces(self) -> int:
        return self.number("SELECT count(*) FROM tidal_columns")

    def holds(self, text: bytes) -> bool:
        return self.number("SELECT count(*) FROM tidal_columns WHERE position(%s::bytea IN columns) > 0", text) > 0

    def number(self, sql: str, *parameters: Any) -> int:
        import psycopg

        with psycopg.connect(self.url) as connection:
            return int(connection.execute(sql, parameters).fetchone()[0])  # type: ignore[index]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, path: Path) -> Iterator[File | Database]:
    """Yield a place for a store of each engine."""
    if request.param == "sqlite":
        yield File(path)
        return
    pytest.importorskip("psycopg")
    databases = request.getfixturevalue("postgres")
    url = databases.new()
    yield Database(url)
    databases.drop(url)


def searched(place: File | Database) -> list[str]:
    """Search in a store that is opened and closed, as a new process does."""
    with closing(place.open(exact_vectors_up_to=2)) as store:
        return ids(store.nearest(HERE, ONES, 99, ALL))


def search(path: Path) -> list[str]:
    return searched(File(path))


def pieces(path: Path) -> int:
    with closing(raw(path)) as connection:
        connection.set_busy_timeout(60_000)
        return int(connection.execute("SELECT count(*) FROM saved_pieces").get)


def held(store: Storage) -> list[tuple[Span, int]]:
    """Return the passages that columns hold of each entry, and how many they count."""
    with store.snapshot():
        columns = store.columns(HERE)
        rows = columns.rows(ids(store.find(HERE, ALL)))
        spans = [columns.vectors(rows[place : place + 1]).spans for place in range(len(rows))]
        return [(span, int(columns.arrays.count[row])) for row, some in zip(rows, spans, strict=True) for span in some]


def wheres() -> st.SearchStrategy[Where]:
    return st.builds(
        Where,
        speakers=st.sampled_from((None, ["Ann"])),
        threads=st.sampled_from((None, ["s1"], ["s1", "s2"])),
        since=st.sampled_from((None, NOON + 3 * HOUR)),
        active_at=st.sampled_from((None, NOON + HOUR, NOON + 30 * HOUR)),
        exclude=st.sampled_from(((), ["e1", "e2"])),
        due_by=st.sampled_from((None, NOON + 5 * HOUR)),
    )


CHANGES = st.lists(st.sampled_from(("put", "erase", "tier", "replace", "reopen", "search")), min_size=3, max_size=14)


def change(store: Storage, what: str, step: int, seed: str) -> None:
    """Change a store at random, the same way for the same seed."""
    random, known = Random(seed), ids(store.find(HERE, ALL))
    if what == "put":
        fill(store, [f"n{step}-{number}" for number in range(random.randint(1, 6))])
    elif what == "erase" and known:
        store.erase(HERE, random.sample(known, min(2, len(known))))
    elif what == "tier" and known:
        tier = Tier(random.random(), NOON, 72.0, NOON + 2 * HOUR, NOON + 3 * HOUR)
        set_tiers(store, HERE, dict.fromkeys(random.sample(known, min(3, len(known))), tier))
    elif what == "replace" and known:
        vector = [random.gauss(0, 1) for _ in range(70)]
        store.put(HERE, [record(random.choice(known), "other words", vector)], replace=True)


def found(store: Storage, seed: int, where: Where) -> list[list[Match]]:
    queries = np.random.default_rng(seed).standard_normal((3, 70)).astype(np.float32)
    return [*(store.nearest(HERE, query, 7, where) for query in queries), store.matching(HERE, ["text"], 7, where)]


def serve(path: Path, calls: Connection) -> None:
    """Change and search a store in a process of its own, as it is told."""
    for module in (cache, packing):
        module.SIZE = 4
    with closing(by_codes(path)) as store:
        for function, *arguments in iter(calls.recv, None):
            calls.send(function(store, *arguments))


@pytest.fixture(scope="module")
def others() -> Iterator[Callable[[Path], Connection]]:
    """Return a function that starts a process with a store of its own, and ends the one before."""
    running: list[tuple[BaseProcess, Connection]] = []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])

    def end() -> None:
        for process, calls in running:
            calls.send(None)
            process.join()
        running.clear()

    def start(path: Path) -> Connection:
        end()
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(path, there), daemon=True)
        process.start()
        running.append((process, here))
        return here

    yield start
    end()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=CHANGES, where=wheres(), seed=st.integers(0, 999))
def test_codes_and_saved_columns_find_what_an_exact_search_finds_in_two_processes(
    tmp_path_factory: pytest.TempPathFactory,
    others: Callable[[Path], Connection],
    changes: list[str],
    where: Where,
    seed: int,
) -> None:
    path, random = tmp_path_factory.mktemp("store") / "memory.db", Random(seed)
    exact, approximate = SQLiteStorage(path), by_codes(path)
    fill(exact, [f"e{number}" for number in range(12)])
    other = others(path)
    for step, what in enumerate([*changes, "search", "reopen", "search"]):
        writer = random.choice((exact, approximate, None))
        if what == "reopen":
            approximate.close()
            approximate = by_codes(path)
        elif what == "search":
            expected = found(exact, seed, where)
            other.send((found, seed, where))
            assert found(approximate, seed, where) == expected
            assert other.recv() == expected
            assert held(approximate) == held(exact)
        elif writer is None:
            other.send((change, what, step, f"{seed} {step}"))
            other.recv()
        else:
            change(writer, what, step, f"{seed} {step}")
    exact.close()
    approximate.close()


# what both engines do


def test_a_search_saves_columns_and_the_next_store_reads_them(place: File | Database) -> None:
    with closing(place.open()) as store:
        fill(store, [f"e{number}" for number in range(11)])
    assert not place.pieces()
    found = searched(place)
    assert len(found) == 11
    assert place.pieces() == 2, "what fills no piece is read as rows"
    assert searched(place) == found


def test_a_forget_deletes_the_pieces_that_hold_what_is_forgotten(place: File | Database) -> None:
    with closing(place.open(exact_vectors_up_to=2)) as store:
        fill(store, [f"name-of-{number}-" for number in range(12)])
    found = searched(place)
    assert place.holds(b"name-of-5-")
    with closing(place.open(exact_vectors_up_to=2)) as store:
        store.erase(HERE, ["name-of-5-"])
    assert (place.pieces(), place.holds(b"name-of-5-")) == (2, False)
    found.remove("name-of-5-")
    assert searched(place) == searched(place) == found
    with closing(place.open(exact_vectors_up_to=2)) as store:
        store.erase(HERE, None)
    assert (place.pieces(), searched(place)) == (0, [])


def test_columns_are_saved_while_entries_are_stored_and_nobody_searches(
    place: File | Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "SIZE", 4)
    with closing(place.open(exact_vectors_up_to=2)) as store:
        fill_slowly(store)
    assert place.pieces() >= 4
    with closing(place.open()) as exact:
        everything = ids(exact.nearest(HERE, ONES, 99, ALL))
    assert searched(place) == everything
    assert len(everything) == 24


def test_a_store_that_is_read_only_saves_nothing(place: File | Database) -> None:
    with closing(place.open()) as store:
        fill(store, [f"e{number}" for number in range(12)])
    assert len(place.nearest_to_reader()) == 12
    assert place.pieces() == 0


# what only files do


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE saved_pieces SET columns = zeroblob(length(columns)) WHERE key = 2",
        "UPDATE saved_columns SET changes = changes + 5 WHERE key = 2",
        "UPDATE saved_columns SET last = last + 5 WHERE key = 1",
        "DELETE FROM saved_pieces WHERE key = 1",
    ],
)
def test_damaged_columns_are_told_and_never_trusted(path: Path, damage: str) -> None:
    with TidalMemory(path, embedder=HashingEmbedder(16)) as memory:
        for number in range(9):
            memory.record(f"The lamp {number} is in room {number}.", "Noted.")
        expected = memory.recall("Where is lamp 3?").ids
    with TidalMemory(path, embedder=HashingEmbedder(16)) as memory:
        memory.recall("lamp")
    assert pieces(path) > 1
    with closing(raw(path)) as connection:
        connection.execute(damage)
    with TidalMemory(path, embedder=HashingEmbedder(16)) as memory:
        assert {fault.table for fault in memory.check().faults} == {"saved_columns"}
        assert memory.recall("Where is lamp 3?").ids == expected
    with TidalMemory(path, embedder=HashingEmbedder(16)) as memory:
        assert memory.check().ok, "the search that could not read them has saved them anew"
        assert memory.recall("Where is lamp 3?").ids == expected
    with closing(raw(path)) as connection:
        connection.execute("UPDATE saved_pieces SET checksum = checksum + 1")
    with TidalMemory(path, embedder=HashingEmbedder(16)) as memory:
        assert memory.check(repair=True).ok
        assert memory.recall("Where is lamp 3?").ids == expected


def test_a_damaged_vector_is_told_by_the_search_that_compares_it(path: Path) -> None:
    with closing(by_codes(path)) as store:
        fill(store, [f"e{number}" for number in range(12)])
    assert len(search(path)) == 12
    with closing(raw(path)) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE passage = 6")
    with closing(by_codes(path)) as store, noticed() as damaged:
        found = store.nearest(HERE, np.ones(70, np.float32), 99, ALL)
        assert dict(zip(ids(found), (match.score for match in found), strict=True))["e5"] == 0
        assert list(damaged) == [("vectors", "e5")]


def store_without_end(path: Path, told: Connection) -> None:
    """Store, erase, search and save in a process of its own until it is killed."""
    for module in (cache, packing, background):
        module.SIZE = 4
    with closing(by_codes(path)) as store:
        told.send("ready")
        for number in itertools.count():
            fill(store, [f"{os.getpid()}-{number}-{each}" for each in range(5)])
            if number % 4 == 3:
                store.erase(HERE, ids(store.find(HERE, ALL))[number : number + 2])
            if number % 50 == 49:
                store.erase(HERE, None)
            store.nearest(HERE, np.ones(70, np.float32), 3, ALL)


def columns_of(path: Path) -> list[object]:
    """Return the columns of a store, as a process reads them that begins with it."""
    with closing(SQLiteStorage(path)) as store, store.snapshot():
        arrays = store.columns(HERE).arrays
        names = [arrays.names[number] for number in arrays.speaker.tolist()]
        passages = [arrays.passages[name].tolist() for name in PASSAGE]
        return [arrays.ids[:], names, arrays.key.tolist(), arrays.cold_at.tolist(), passages]


def test_processes_that_are_killed_while_they_save_leave_no_wrong_piece(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, context, saved = Random(3), multiprocessing.get_context("forkserver"), 0
    for _ in range(5):
        processes = []
        for _ in range(2):
            ours, theirs = context.Pipe()
            processes.append(context.Process(target=store_without_end, args=(path, theirs), daemon=True))
            processes[-1].start()
            assert ours.recv() == "ready"
        assert eventually(lambda: pieces(path))
        time.sleep(random.uniform(0.1, 0.6))
        for process in processes:
            process.kill()
            process.join()
        found = columns_of(path)
        saved += pieces(path)
        with monkeypatch.context() as patch:
            patch.setattr(ScopeSource, "saved", lambda source: ())
            assert found == columns_of(path), "pieces say what the rows say"
    assert saved


def test_closing_does_not_wait_for_one_who_keeps_the_file_locked(path: Path) -> None:
    with closing(by_codes(path)) as store:
        fill(store, [f"e{n}" for n in range(12)])
    with closing(raw(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(SQLiteStorage(path, busy_timeout=3600)) as store:
            assert len(store.nearest(HERE, np.ones(70, np.float32), 99, ALL)) == 12
    assert not pieces(path)
    assert (len(search(path)), pieces(path)) == (12, 3), "another search saves them"


def test_codes_find_nearly_all_of_the_nearest_in_a_large_scope_and_filters_hold(path: Path) -> None:
    random = np.random.default_rng(4)
    around = random.standard_normal((40, 128))
    vectors = (around[np.arange(3000) % 40] + random.standard_normal((3000, 128))).astype(np.float32)
    with closing(SQLiteStorage(path)) as exact, closing(by_codes(path)) as approximate:
        speakers = ("Ann", "Bo")
        rows = [record(f"e{n}", vector=vector, speaker=speakers[n % 2]) for n, vector in enumerate(vectors)]
        exact.put(HERE, rows)
        for where in (ALL, Where(speakers=["Ann"]), Where(ids=[f"e{n}" for n in range(0, 3000, 100)])):
            queries = around[:20] + random.standard_normal((20, 128))
            expected = [set(ids(exact.nearest(HERE, query, 10, where))) for query in queries]
            found = [set(ids(approximate.nearest(HERE, query, 10, where))) for query in queries]
            shared = sum(len(one & other) for one, other in zip(found, expected, strict=True))
            assert shared >= 0.95 * sum(map(len, expected))
            passing = set(ids(exact.find(HERE, where)))
            assert all(one <= passing and len(one) == 10 for one in found)
