"""The listing of a PostgreSQL database: its scopes, with the names of their documents and logs."""

from __future__ import annotations

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checks import Listing, Listings, Names
from tidal_plugins.storage.postgres.base import ALL, PostgresBase
from tidal_plugins.storage.postgres.documents import COPIES
from tidal_plugins.storage.values import from_json

_SCOPES = f"""
    SELECT path, ARRAY (
            SELECT DISTINCT d.collection FROM tidal_documents d WHERE d.scope = s.scope AND d.collection <> '{COPIES}'
        ),
        ARRAY (SELECT DISTINCT l.name FROM tidal_log l WHERE l.scope = s.scope),
        EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = s.scope)
        OR EXISTS (SELECT 1 FROM tidal_links l WHERE l.scope = s.scope)
    FROM tidal_scopes s
"""
_LAST = "SELECT coalesce(pg_sequence_last_value('tidal_lines'), 0)"


class ListingStore(PostgresBase, Listings):
    """Lists a database, scope by scope."""

    def listing(self) -> Listing:
        with self.snapshot():
            rows, last = self._db.rows(ALL, _SCOPES), int(self._db.one(ALL, _LAST) or 0)
        found: dict[Scope, Names] = {}
        for path, collections, logs, bears in rows:
            if bears or collections or logs:
                found[tuple(from_json(path))] = Names(tuple(sorted(collections)), tuple(sorted(logs)))
        return Listing(dict(sorted(found.items())), last)
