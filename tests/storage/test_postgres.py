"""The PostgreSQL engine: the contract under row-level security, the order of SQLite's results, and what is its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, closing
from datetime import timedelta
from pathlib import Path
from random import Random
from threading import Barrier
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.waiting import PATIENCE
from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.errors import InvalidInput, ReadOnly, StorageError
from tidal_plugins.storage.base import ALL_LINKS, META, STORE, Storage, Where
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.storage.postgres.dialect import shown_url
from tidal_plugins.storage.rows import number_of
from tidal_plugins.storage.shorthands import read_meta, write_meta
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import ALL, HERE, NOON, ids, link, record
from tidal_plugins.testing.store import StoreContract
from tools.databases import PLAIN, Databases

pytest.importorskip("psycopg")

GRANTS = f"""
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {PLAIN};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {PLAIN};
"""
MAINTAIN = f"GRANT MAINTAIN ON ALL TABLES IN SCHEMA public TO {PLAIN}"


def with_schema(url: str) -> None:
    """Create the schema in a database, as its owner, and let the plain role use it."""
    import psycopg

    PostgresStorage(url, partitions=2).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(GRANTS)
        if connection.info.server_version >= 170000:
            connection.execute(MAINTAIN)


@pytest.fixture
def plain_url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a database with the schema, for a role that owns nothing."""
    role = postgres.role(PLAIN)
    url = postgres.new(with_schema)
    yield postgres.named(urlsplit(url).path.lstrip("/"), user=role)
    postgres.drop(url)


class TestPostgres(StoreContract):
    @pytest.fixture
    def open_store(self, plain_url: str, postgres: Databases, request: pytest.FixtureRequest) -> Callable[[], Storage]:
        if (
            "scrub" in request.function.__code__.co_names
            and int(postgres.execute("SHOW server_version_num")[0][0]) < 170000
        ):
            pytest.skip("before PostgreSQL 17 only the owner of a table vacuums it")
        return lambda: PostgresStorage(plain_url)


WORDS = (
    "jazz piano pianos playing played plays daily café deploy deploys deployment billing storage possibly terribly "
    "technology easily running runner ran 東京 京都 naïve 2024 v2 don't"
).split()


def filled(store: Storage, random: Random) -> Storage:
    """Write, replace and erase some entries, the same ones for equal ``random``."""
    for number in range(200):
        vector = [float(random.randrange(-2, 3)) or 0.5 for _ in range(3)]
        text = " ".join(random.choices(WORDS, k=random.randrange(1, 12)))
        fields = {"thread": random.choice("st"), "occurred_at": NOON + random.randrange(20) * timedelta(hours=1)}
        one = record(f"e{random.randrange(150)}", text, random.choice([vector, None]), **fields)
        store.put(HERE, [one], replace=bool(store.get(HERE, [one.entry.id])))
        store.put(("there",), [record(str(number), text, scope=("there",))])
        if number % 7 == 0:
            store.erase(HERE, [f"e{random.randrange(150)}"])
    return store


def test_results_come_in_the_order_of_sqlite(tmp_path: Path, plain_url: str) -> None:
    sqlite, postgres = (
        filled(engine, Random(1)) for engine in (SQLiteStorage(tmp_path / "memory.db"), PostgresStorage(plain_url))
    )
    everything = ids(sqlite.find(HERE, ALL))
    assert postgres.find(HERE, ALL) == sqlite.find(HERE, ALL)
    assert postgres.summaries(HERE, everything) == sqlite.summaries(HERE, everything)
    assert postgres.statistics(HERE).corpus == sqlite.statistics(HERE).corpus
    assert sorted(postgres.adjacent(HERE, everything, 2, ALL)) == sorted(sqlite.adjacent(HERE, everything, 2, ALL))
    for where in (ALL, Where(threads=["s"]), Where(since=NOON + timedelta(hours=9))):
        for word in WORDS:
            expected = sqlite.matching(HERE, [word, "played"], 20, where)
            found = postgres.matching(HERE, [word, "played"], 20, where)
            assert ids(found) == ids(expected), word
            assert [match.score for match in found] == pytest.approx([match.score for match in expected])
        expected = sqlite.nearest(HERE, np.array([1.0, 0.2, -0.3], np.float32), 20, where)
        found = postgres.nearest(HERE, np.array([1.0, 0.2, -0.3], np.float32), 20, where)
        assert ids(found) == ids(expected)
        assert [match.score for match in found] == pytest.approx([match.score for match in expected], abs=1e-6)
    for engine in (sqlite, postgres):
        engine.close()


def test_a_statement_sees_rows_of_the_scope_that_is_set_alone(plain_url: str) -> None:
    import psycopg

    with closing(PostgresStorage(plain_url)) as store:
        for scope in (HERE, ("there",)):
            store.put(scope, [record("a", "words", [1.0], scope=scope)])
    count = "SELECT count(*) FROM tidal_entries"
    with psycopg.connect(plain_url) as connection:
        assert connection.execute(count).fetchone() == (0,), "nothing is set"
        connection.execute("SELECT set_config('tidal.scope', %s, true)", [str(number_of(HERE))])
        assert connection.execute("SELECT scope FROM tidal_entries").fetchall() == [(number_of(HERE),)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE tidal_entries SET scope = %s", [number_of(("there",))])


def test_two_who_write_a_value_of_the_store_that_is_not_there_do_so_one_after_the_other(plain_url: str) -> None:
    def add(name: str) -> None:
        with closing(PostgresStorage(plain_url)) as store, store.transaction():
            both.wait(PATIENCE)
            if read_meta(store, "name") is None:
                write_meta(store, "name", name)

    both = Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, "ab"))
    with closing(PostgresStorage(plain_url)) as store:
        assert [document.version for document in store.documents(STORE, META, ["name"])] == [1]


def test_a_backup_is_the_servers_matter(tmp_path: Path, plain_url: str) -> None:
    with TidalMemory(plain_url, embedder=HashingEmbedder()) as memory, pytest.raises(InvalidInput, match="pg_dump"):
        memory.backup(tmp_path / "copy.db")
    assert not list(tmp_path.iterdir())


def test_a_password_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StorageError) as raised:
        PostgresStorage("postgresql://ada:open%20sesame@127.0.0.1:1/none?connect_timeout=2")
    assert "sesame" not in f"{raised.value!r} {raised.value.__cause__!r} {caplog.text}"
    assert shown_url("postgresql://ada:secret@host/db?password=x") == "postgresql://ada@host/db"
    assert shown_url("postgresql://host:5432/db?user=ada@home") == "postgresql://host:5432/db?user=ada%40home"
    assert shown_url("postgresql://[::1]:1,b:2/db?user=ada@home") == "postgresql://[::1]:1,b:2/db?user=ada%40home"


@pytest.mark.parametrize(
    "url",
    [
        *(f"postgresql://ada:{password}@127.0.0.1:1/none" for password in ("se#same", "se/same", "se?same", "se@same")),
        *(f"{scheme}ada:sesame@127.0.0.1:1/none" for scheme in ("POSTGRESQL://", " postgres://", "postgresql:/")),
        Path("postgresql://ada:sesame@127.0.0.1:1/none"),
    ],
)
def test_a_url_that_is_written_wrong_is_refused_and_not_shown(url: str | Path, tmp_path: Path) -> None:
    with chdir(tmp_path), pytest.raises(InvalidInput, match="write") as raised:
        TidalMemory(url, embedder=HashingEmbedder())
    assert not any(part in str(raised.value) for part in ("se#", "se/", "se?", "se@", "same"))
    assert not list(tmp_path.iterdir())


def test_the_planner_keeps_no_copy_of_a_text(postgres_url: str) -> None:
    import psycopg

    word = "xylophone"
    settings = Settings(graph={"background": False})
    with TidalMemory(postgres_url, embedder=HashingEmbedder(), settings=settings) as memory:
        for number in range(9):
            memory.record(f"The {word} number {number} is out of tune.", f"A {word}!", metadata={"like": [word]})
            memory.remember(f"A {word} has {number} bars.", tags=[word], metadata={"of": word})
        memory.graph.index_pending()
        memory.maintenance.run()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("ANALYZE")
            names = ("histogram_bounds", "most_common_vals", "most_common_elems")
            kept = " || ".join(f"coalesce({name}::text, '')" for name in names)
            found = connection.execute(f"SELECT DISTINCT attname FROM pg_stats WHERE {kept} LIKE %s", [f"%{word}%"])
            assert {name for (name,) in found.fetchall()} <= {"source", "target", "key"}  # names alone


@pytest.mark.parametrize("begun", ["SELECT count(*) FROM tidal_entries", "SELECT pg_current_xact_id()"])
def test_a_scrub_tells_of_those_who_began_before(postgres_url: str, begun: str) -> None:
    import psycopg

    with closing(PostgresStorage(postgres_url)) as store, psycopg.connect(postgres_url) as other:
        store.put(HERE, [record("a"), record("b")])
        store.erase(HERE, ["a"])
        other.execute("SET default_transaction_isolation = 'repeatable read'")
        other.commit()
        assert store.scrub()
        other.execute(begun)
        store.erase(HERE, ["b"])
        assert not store.scrub()
        other.rollback()
        assert store.scrub()


def test_a_connection_that_the_server_ended_is_replaced(postgres: Databases, plain_url: str) -> None:
    with closing(PostgresStorage(plain_url)) as store:
        store.put(HERE, [record("a")])
        name = urlsplit(plain_url).path.lstrip("/")
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert ids(store.find(HERE, ALL)) == ["a"]
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        store.put_links(HERE, [link("l", "a", "b")])  # its statements wait for the end of the transaction
        assert [one.id for one in store.links(HERE, ALL_LINKS)] == ["l"]
        with pytest.raises(StorageError), store.transaction():
            store.put(HERE, [record("b")])
            postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            store.put(HERE, [record("c")])
        assert ids(store.find(HERE, ALL)) == ["a"]


def test_a_store_for_reading_only_takes_no_writes(plain_url: str) -> None:
    with closing(PostgresStorage(plain_url)) as store:
        store.put(HERE, [record("a")])
    with closing(PostgresStorage(plain_url, read_only=True)) as store:
        assert ids(store.find(HERE, ALL)) == ["a"]
        with pytest.raises(ReadOnly):
            store.put(HERE, [record("b")])
