"""Columns of large scopes on PostgreSQL: chosen by codes, saved in the database, and read by later processes."""

from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random

import numpy as np
import pytest

from tests.storage.test_saved_columns import Database, change, fill, found, held
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.columns import cache, pieces
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.testing import ALL, HERE, ids, record
from tidal_plugins.testing.columns import ColumnsContract
from tidal_plugins.testing.renewal import RenewalContract
from tidal_plugins.testing.search import SearchContract
from tools.databases import Databases

pytest.importorskip("psycopg")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be so small that a few entries fill some."""
    for module in (cache, pieces):
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
    assert Database(url).pieces()


def test_a_scope_that_is_read_in_several_statements_is_read_whole(url: str) -> None:
    rows = np.random.default_rng(1).standard_normal((9000, 4)).astype(np.float32)
    with closing(PostgresStorage(url)) as store:
        store.put(HERE, [record(f"e{number}", "hay", row) for number, row in enumerate(rows)])
        with store.snapshot():
            assert len(store.columns(HERE).arrays.passages["key"]) == 9000
        query = np.ones(4, np.float32)
        expected = np.argsort(-(rows @ query) / np.linalg.norm(rows, axis=1))[:20]
        assert ids(store.nearest(HERE, query, 20, ALL)) == [f"e{number}" for number in expected]
