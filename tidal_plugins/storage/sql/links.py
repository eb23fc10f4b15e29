"""Links in an SQL store: rows, with an index at either end in order of strength."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import ALL_LINKS, Links, Step, WhereLinks
from tidal_plugins.storage.damage import LINKS, Damaged, corrupt, intact
from tidal_plugins.storage.rows import (
    LINK,
    LINK_COLUMNS,
    Row,
    check_link_row,
    from_link_row,
    time_or_none,
    to_link_row,
)
from tidal_plugins.storage.sql.conditions import link_condition
from tidal_plugins.storage.sql.dialect import BYTES, MOST, NUMBER, REAL, TEXT, Insert, SQLStore

_TEXTS = dict.fromkeys(("id", "kind", "source", "target", "metadata"), TEXT)
_PUT = Insert(
    "links",
    ("scope",),
    {**dict.fromkeys(LINK, NUMBER), **_TEXTS, "weight": REAL, "checksum": BYTES},
    key=("scope", "id"),
    filed=("facets",),
)
OF_LINK = ", ".join("l." + column for column in LINK_COLUMNS)
STRONGEST = "l.expires_at DESC, l.weight DESC"
_SELECT = f"SELECT {OF_LINK} FROM @links l"


class LinkStore(SQLStore, Links):
    """Stores links as rows."""

    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        rows = {link.id: to_link_row(link, scope) for link in links}
        for row in rows.values():
            self.dialect.check(row)
        with self.transaction():
            if rows:
                self._insert(scope, _PUT, (self._writable_scope(scope),), rows.values())

    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        # What has expired SQLite is to look up by its expiry and to sort; a walk in order would read all.
        first_stored = "l.key" if where.expired_at is None else "^l.key"
        order = f"{STRONGEST}, l.key" if strongest_first else first_stored
        with self.question():
            filter_ = link_condition(self.dialect, self._key(scope), where)
            sql = f"{_SELECT} WHERE {filter_.sql} ORDER BY {order} LIMIT ?"
            most = MOST if limit is None else max(limit, 0)
            rows = self._query(LINKS, scope, sql, *filter_.parameters, most)
        asked = {0: where.ids, 1: where.kinds, 2: where.sources, 3: where.targets}  # by their places in a row
        among = [(place, frozenset(values)) for place, values in asked.items() if values is not None]

        def read(row: Row) -> Link:
            link = from_link_row(row, scope)
            if any(row[place] not in values for place, values in among):  # the index that led here is damaged
                raise corrupt(Damaged(LINKS, link.id))
            return link

        return list(intact(rows, read))

    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        array = self.dialect.array
        with self.question():
            if not nodes or not self._has_kinds(scope, kinds):
                return []
            filter_ = link_condition(self.dialect, self._key(scope), where)
            cut = (*filter_.parameters, max(each, 0))
            places = (array(list(dict.fromkeys(nodes))), array(list(dict.fromkeys(kinds))))
            sql = self._frontier(filter_.sql)
            rows = self._query(LINKS, scope, sql, *places, *cut, *cut, max(each, 0))
        return list(intact(rows, lambda row: _step(row, scope)))

    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        with self.transaction():
            filter_ = link_condition(self.dialect, self._key(scope), where)
            return self._run(scope, f"DELETE FROM @links AS l WHERE {filter_.sql}", *filter_.parameters)

    def _has_kinds(self, scope: Scope, kinds: Collection[str]) -> bool:
        """Return whether a scope may have links of any kind given."""
        return bool(kinds)

    @abstractmethod
    def _frontier(self, condition: str) -> str:
        """Return SQL for the strongest links of either end, for each node and kind.

        Both ends are cut in the order of their index, then together, so that links beyond the cut are never read. The
        values are the nodes, the kinds, twice those of the condition with the number of links, and that number.
        """


def _step(row: Row, scope: Scope) -> Step:
    node, *link = row
    check_link_row(link, scope)
    id_, kind, source, target, weight, anchored_at = link[:6]
    if node not in (source, target):  # the index that led here is damaged
        raise corrupt(Damaged(LINKS, id_))
    forward = source == node
    return Step(node, target if forward else source, forward, id_, kind, weight, time_or_none(anchored_at))
