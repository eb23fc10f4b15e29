"""Transactions that PostgreSQL ends in favour of others: the library repeats its own, and lets a caller repeat his."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests.waiting import PATIENCE, eventually
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.errors import Busy
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.storage.rows import number_of
from tidal_plugins.storage.shorthands import write_document
from tidal_plugins.testing import ALL, HERE, ids, record
from tools.databases import Databases

psycopg = pytest.importorskip("psycopg")

QUIET = Settings(graph={"background": False})
CORPUS = "SELECT FROM tidal_corpus FOR UPDATE"
SCOPE = "SELECT FROM tidal_scopes WHERE scope = %s FOR UPDATE"
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
ATTEMPTS = 20


@contextmanager
def opened(url: str) -> Iterator[TidalMemory]:
    with TidalMemory(url, embedder=HashingEmbedder(), settings=QUIET) as memory:
        yield memory


def turn(memory: TidalMemory) -> object:
    return memory.record("We keep the ladder in the shed.", "Noted.", thread=uuid4().hex)


def deadlocked(
    url: str,
    scope: tuple[str, ...],
    prepare: Callable[[], object],
    write: Callable[[], object],
    first: tuple[Any, ...] = (CORPUS,),
) -> Any:
    """Return the outcome of a write which PostgreSQL has ended because of a deadlock, as its future.

    The other one locks the figures of the store first, then the scope, as nothing of the library does; or something
    else ``first``. Of the two the server ends the one that has waited for a second first: that is the write, unless
    this machine is too slow.
    """
    name = urlsplit(url).path.lstrip("/")
    for _ in range(ATTEMPTS):
        prepare()
        with ThreadPoolExecutor(1) as pool, psycopg.connect(url) as other, psycopg.connect(url, autocommit=True) as eye:
            other.execute("SELECT set_config('tidal.scope', 'all', true)")
            other.execute(*first)
            outcome = pool.submit(write)
            assert eventually(lambda: outcome.done() or _waits(eye, name))  # noqa: B023
            assert not outcome.done(), outcome.result()
            try:
                other.execute(SCOPE, [number_of(scope)])
            except psycopg.errors.DeadlockDetected:
                other.rollback()
                outcome.exception(PATIENCE)
                continue
            other.rollback()
            outcome.exception(PATIENCE)
            return outcome
    raise AssertionError("the write was never the one that the server ended")


def _waits(connection: Any, database: str) -> bool:
    [waiting] = connection.execute(WAITS, [database]).fetchone()
    return bool(waiting == 1)


def ended(postgres: Databases, url: str) -> int:
    """Return how many deadlocks the server has ended in a database."""
    name = urlsplit(url).path.lstrip("/")
    return int(postgres.execute(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}'")[0][0])


WRITES: dict[str, Callable[[TidalMemory], object]] = {
    "record": lambda memory: memory.record("We keep the boat in the shed.", "Noted.", thread="t"),
    "remember": lambda memory: memory.remember(f"The boat {uuid4().hex} is green."),
    "set a fact": lambda memory: memory.facts.set(f"boat {uuid4().hex}", "green"),
    "forget": lambda memory: memory.forget(*memory.recall("ladder").ids),
    "erase": lambda memory: memory.erase_scope(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_the_server_ended_is_repeated(postgres: Databases, postgres_url: str, name: str) -> None:
    with opened(postgres_url) as memory:
        outcome = deadlocked(postgres_url, memory.scope, lambda: turn(memory), lambda: WRITES[name](memory))
        assert outcome.result() is not None
        assert eventually(lambda: ended(postgres, postgres_url) > 0)  # the server counts a while after
        assert memory.check().ok
        found = {hit.text for hit in memory.recall("the ladder and the green boat in the shed")}
    gone = name in ("forget", "erase")
    assert any("ladder" in text for text in found) != gone
    assert any("boat" in text for text in found) != gone


def test_a_transaction_of_the_caller_says_that_it_may_be_tried_again(postgres_url: str) -> None:
    with closing(PostgresStorage(postgres_url)) as store:

        def prepare() -> None:
            store.erase(HERE, None)
            store.put(HERE, [record("a", "one", [1.0])])

        def write() -> None:
            with store.transaction():
                store.put(HERE, [record("b", "two", [1.0])])

        outcome = deadlocked(postgres_url, HERE, prepare, write)
        error = outcome.exception()
        assert isinstance(error, Busy)
        assert error.overruled
        assert "try again" in str(error)
        assert ids(store.find(HERE, ALL)) == ["a"]
        write()
        assert ids(store.find(HERE, ALL)) == ["a", "b"]


def test_who_joins_a_transaction_that_was_ended_meets_the_same_error(postgres_url: str) -> None:
    there = ("there",)
    with closing(PostgresStorage(postgres_url)) as store:
        met = list[Exception]()

        def prepare() -> None:
            met.clear()
            store.erase(HERE, None)
            store.put(HERE, [record("a", "one", [1.0])])
            write_document(store, there, "facts", "door", "shut")

        def write() -> None:
            with store.transaction():
                store.put(HERE, [record("b", "two", [1.0])])
                steps = lambda: write_document(store, there, "facts", "door", "open"), lambda: store.find(HERE, ALL)
                for join in steps:
                    try:
                        join()
                    except Busy as error:
                        met.append(error)

        outcome = deadlocked(postgres_url, HERE, prepare, write, (SCOPE, [number_of(there)]))
        assert isinstance(outcome.exception(), Busy)
        assert met == [outcome.exception()] * 2
        assert ids(store.find(HERE, ALL)) == ["a"]
        assert [document.value for document in store.documents(there, "facts")] == ["shut"]


def test_the_isolation_of_a_transaction_is_not_the_servers_choice(postgres: Databases, postgres_url: str) -> None:
    name = urlsplit(postgres_url).path.lstrip("/")
    postgres.execute(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'serializable'")
    with opened(postgres_url) as memory, ThreadPoolExecutor(4) as pool:
        turns = [pool.submit(memory.record, f"Turn {number}.", "Noted.", thread="t") for number in range(20)]
        assert len({turn.result(PATIENCE).id for turn in turns}) == 20
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            [isolation] = connection.execute("SHOW default_transaction_isolation").fetchone()
        assert isolation == "serializable"
