"""The SQLite engine: one file with FTS5 for keywords, and arrays in memory for vectors."""

from tidal_plugins.storage.sqlite.engine import MEMORY, SQLiteStorage, TemporarySQLite
from tidal_plugins.storage.sqlite.read_only import ReadOnlySQLite

__all__ = ["MEMORY", "ReadOnlySQLite", "SQLiteStorage", "TemporarySQLite"]
