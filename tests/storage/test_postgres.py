"""The PostgreSQL engine: the contract under row-level security, the order of SQLite's results, and what is its own."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.postgres_server import PLAIN, Databases
from tidal_plugins.storage.base import Storage
from tidal_plugins.testing import StoreContract

pytest.importorskip("psycopg")

GRANTS = f"""
    GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON ALL TABLES IN SCHEMA public TO {PLAIN};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {PLAIN};
"""


def with_schema(url: str) -> None:
    """Create the schema in a database, as its owner, and let the plain role use it."""
    import psycopg

    from tidal_plugins.storage.postgres import PostgresStorage

    PostgresStorage(url, partitions=2).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(GRANTS)


@pytest.fixture
def plain_url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a database with the schema, for a role that owns nothing."""
    role = postgres.role(PLAIN)
    url = postgres.new(with_schema)
    yield postgres.named(urlsplit(url).path.lstrip("/"), user=role)
    postgres.drop(url)


class TestPostgres(StoreContract):
    @pytest.fixture
    def open_store(self, plain_url: str) -> Callable[[], Storage]:
        from tidal_plugins.storage.postgres import PostgresStorage

        return lambda: PostgresStorage(plain_url)
