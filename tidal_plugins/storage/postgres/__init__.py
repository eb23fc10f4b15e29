"""The PostgreSQL engine: one database, keyed and partitioned by scope, that processes on any machine share."""

from tidal_plugins.errors import InvalidInput

try:
    import psycopg  # noqa: F401
except ImportError as error:
    raise InvalidInput("PostgreSQL needs its client: pip install 'tidal-plugins[postgres]'") from error

from tidal_plugins.storage.postgres.engine import PostgresStorage

__all__ = ["PostgresStorage"]
