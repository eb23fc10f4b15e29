"""Columns of large scopes on PostgreSQL: chosen by codes, saved in the database, and read by later processes."""

from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.storage.test_saved_columns import change, fill, fill_slowly, found, held
from tidal_plugins import HashingEmbedder, TidalMemory, Tier
from tidal_plugins.errors import Busy
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.columns import background, buffer, packing
from tidal_plugins.storage.postgres import PostgresStorage, saving
from tidal_plugins.storage.postgres.columns import ScopeSource
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.testing import ALL, HERE, NOON, ids, record
from tidal_plugins.testing.columns import ColumnsContract
from tidal_plugins.testing.renewal import NEW, RenewalContract, complete, order
from tidal_plugins.testing.search import SearchContract
from tools.databases import Databases

psycopg = pytest.importorskip("psycopg")

ONES = np.ones(70, np.float32)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be so small that a few entries fill some."""
    for module in (buffer, packing):
        monkeypatch.setattr(module, "SIZE", 4)


@pytest.fixture
def url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a database with the schema."""
    url = postgres.new(with_schema)
    yield url
    postgres.drop(url)


def with_schema(url: str) -> None:
    """Create the schema in a database."""
    PostgresStorage(url, partitions=2).close()


def by_codes(url: str) -> PostgresStorage:
    return PostgresStorage(url, exact_vectors_up_to=2)


def pieces(url: str) -> int:
    return int(execute(url, "SELECT count(*) FROM tidal_columns"))


def ranges(url: str) -> list[tuple[int, int]]:
    with psycopg.connect(url) as connection:
        return list(connection.execute("SELECT first, last FROM tidal_columns ORDER BY first"))


def execute(url: str, sql: str) -> int:
    """Execute a statement, and return the number that it finds, or how many rows it changed."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return int(cursor.fetchone()[0]) if cursor.description else int(cursor.rowcount)


def search(url: str) -> list[str]:
    """Search in a store that is opened and closed, as a new process does."""
    with closing(by_codes(url)) as store:
        return ids(store.nearest(HERE, ONES, 99, ALL))


class TestPostgresByCodes(SearchContract, ColumnsContract, RenewalContract):
    """The contract of searches where codes choose what is compared, and columns are saved after every few rows."""

    @pytest.fixture
    def open_store(self, url: str) -> Callable[[], Storage]:
        return lambda: by_codes(url)


@pytest.mark.parametrize("seed", range(4))
def test_codes_and_saved_columns_find_what_an_exact_search_finds(url: str, seed: int) -> None:
    random = Random(seed)
    where = random.choice((ALL, Where(speakers=["Ann"]), Where(exclude=["e1", "e2"], threads=["s1"])))
    with closing(PostgresStorage(url)) as exact:
        approximate = by_codes(url)
        fill(exact, [f"e{number}" for number in range(12)])
        for step in range(12):
            what = random.choice(("put", "erase", "tier", "replace", "reopen"))
            if what == "reopen":
                approximate.close()
                approximate = by_codes(url)
            else:
                change(random.choice((exact, approximate)), what, step, f"{seed} {step}")
            for here, there in zip(found(approximate, seed, where), found(exact, seed, where), strict=True):
                assert ids(here) == ids(there), what
                assert [match.score for match in here] == pytest.approx([match.score for match in there], abs=1e-6)
            assert held(approximate) == held(exact)
        approximate.close()
    assert pieces(url)


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_a_search_saves_columns_and_the_next_store_reads_them(
    url: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "AT_ONCE", at_once)
    with closing(PostgresStorage(url)) as store:
        fill(store, [f"e{number}" for number in range(11)])
    assert not pieces(url)
    expected = search(url)
    assert len(expected) == 11
    assert pieces(url) == 2, "what fills no piece is read as rows"
    assert search(url) == expected
    with closing(by_codes(url)) as store, store.snapshot():
        assert [keys for keys, *_ in ScopeSource(store._db, HERE).saved()] == ranges(url), "each piece once"


def test_columns_are_saved_while_entries_are_stored_and_nobody_searches(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "SIZE", 4)
    with closing(by_codes(url)) as store:
        fill_slowly(store)
        saved = pieces(url)
    assert saved >= 4
    with closing(PostgresStorage(url)) as exact:
        everything = ids(exact.nearest(HERE, ONES, 99, ALL))
    assert search(url) == everything
    assert len(everything) == 24


def test_closing_saves_what_was_stored_since(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "SIZE", 4)
    monkeypatch.setattr(background, "UNSAVED_SHARE", 100)
    with closing(by_codes(url)) as store:
        fill_slowly(store)
        assert pieces(url) <= 2
    assert pieces(url) >= 4


def test_what_changed_in_a_saved_scope_is_read_as_rows_and_counts_once(url: str) -> None:
    with closing(by_codes(url)) as store:
        fill(store, [f"e{number}" for number in range(12)])
        store.put(HERE, [record("e1", "other words", [1.0] * 70)], replace=True)  # its passage is now the last
    search(url)
    tier = Tier(0.5, NOON, 72.0, NOON, NOON)
    with closing(by_codes(url)) as store, closing(PostgresStorage(url)) as exact:
        set_tiers(store, HERE, {"e4": tier})
        assert pieces(url) == 3
        assert held(store) == held(exact)
        assert all(count == 1 for _, count in held(store))


def test_a_scope_that_is_read_in_several_statements_is_read_whole(url: str) -> None:
    rows = np.random.default_rng(1).standard_normal((9000, 4)).astype(np.float32)
    with closing(PostgresStorage(url)) as store:
        store.put(HERE, [record(f"e{number}", "hay", row) for number, row in enumerate(rows)])
        with store.snapshot():
            assert len(store.columns(HERE).arrays.passages["key"]) == 9000
        query = np.ones(4, np.float32)
        expected = np.argsort(-(rows @ query) / np.linalg.norm(rows, axis=1))[:20]
        assert ids(store.nearest(HERE, query, 20, ALL)) == [f"e{number}" for number in expected]


def test_a_forget_deletes_the_pieces_that_hold_what_is_forgotten(url: str) -> None:
    with closing(by_codes(url)) as store:
        fill(store, [f"name-of-{number}-" for number in range(12)])
    expected = search(url)
    holding = "SELECT count(*) FROM tidal_columns WHERE position('name-of-5-'::bytea IN columns) > 0"
    assert (pieces(url), execute(url, holding)) == (3, 1)
    with closing(by_codes(url)) as store:
        store.erase(HERE, ["name-of-5-"])
    assert (pieces(url), execute(url, holding)) == (2, 0)
    expected.remove("name-of-5-")
    assert search(url) == search(url) == expected
    with closing(by_codes(url)) as store:
        store.erase(HERE, None)
    assert (pieces(url), search(url)) == (0, [])


def test_new_vectors_of_all_passages_drop_what_is_saved_of_the_old_ones(url: str) -> None:
    with closing(PostgresStorage(url)) as store:
        fill(store, [f"e{number}" for number in range(8)])
    search(url)
    assert pieces(url) == 2
    with closing(by_codes(url)) as store:
        outdated = store.renew_vectors({}, 99).missing
        new = {item.key: np.eye(70, dtype=np.float32)[place] + 0.1 for place, item in enumerate(outdated)}
        store.renew_vectors(new, 99)
        assert not pieces(url)
        best = store.nearest(HERE, np.eye(70, dtype=np.float32)[3] + 0.1, 1, ALL)
    assert ids(best) == [outdated[3].id]
    assert best[0].score == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tidal_columns SET columns = decode(repeat('00', length(columns)), 'hex')",
        "UPDATE tidal_columns SET checksum = checksum + 1",
    ],
)
def test_damaged_columns_are_told_and_never_trusted(url: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    with closing(by_codes(url)) as store:
        fill(store, [f"e{number}" for number in range(8)])
    expected = search(url)
    assert execute(url, damage) == 2
    with TidalMemory(url, embedder=HashingEmbedder()) as memory:
        assert [fault.table for fault in memory.check().faults] == ["saved_columns"] * 2
    assert search(url) == expected
    assert "saved columns are damaged" in caplog.text
    with TidalMemory(url, embedder=HashingEmbedder()) as memory:
        assert memory.check().faults == (), "the search has saved them anew"
    assert pieces(url) == 2


def test_a_store_for_reading_only_saves_nothing(url: str) -> None:
    with closing(PostgresStorage(url)) as store:
        fill(store, [f"e{number}" for number in range(12)])
    with closing(PostgresStorage(url, exact_vectors_up_to=2, read_only=True)) as reader:
        assert len(reader.nearest(HERE, ONES, 99, ALL)) == 12
    assert not pieces(url)


def test_columns_of_vectors_that_are_replaced_meanwhile_are_not_saved(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, is_current = [str(n) for n in range(10)], saving._is_current
    with closing(by_codes(url)) as store, closing(PostgresStorage(url, busy_timeout=0.1)) as other:
        store.put(HERE, [record(name, vector=[n + 1.0, 1.0]) for n, name in enumerate(names)])

        def then_replaced(*args: Any) -> bool:
            monkeypatch.setattr(saving, "_is_current", is_current)
            current = is_current(*args)
            try:
                complete(other)
            except Busy:  # it waits for the saving to end
                waited.append(current)
            return current

        waited = list[bool]()
        monkeypatch.setattr(saving, "_is_current", then_replaced)
        store._catch_up(HERE)
        if waited:
            complete(other)
        assert ids(store.nearest(HERE, NEW, 10, ALL)) == order(names, NEW)
