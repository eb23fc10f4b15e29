"""The SQLite engine: one file with FTS5 for keywords, sqlite-vec and a matrix in memory for vectors."""

from tidal_plugins.storage.sqlite.engine import SQLiteStorage
from tidal_plugins.storage.sqlite.read_only import ReadOnlySQLite
from tidal_plugins.storage.sqlite.temporary import MEMORY, TemporarySQLite

__all__ = ["MEMORY", "ReadOnlySQLite", "SQLiteStorage", "TemporarySQLite"]
