"""The PostgreSQL engine: one database, keyed and partitioned by scope, that processes on any machine share."""

from tidal_plugins.storage.postgres.engine import PostgresStorage

__all__ = ["PostgresStorage"]
