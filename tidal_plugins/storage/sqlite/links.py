"""Links in an SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import ALL_LINKS, Links, Step, WhereLinks
from tidal_plugins.storage.damage import LINKS, Damaged, corrupt, intact
from tidal_plugins.storage.rows import LINK_COLUMNS, Row, check_link_row, from_link_row, time_or_none, to_link_row
from tidal_plugins.storage.sqlite.base import SQLiteBase
from tidal_plugins.storage.sqlite.conditions import link_condition
from tidal_plugins.storage.values import to_json

_PUT = f"""
    INSERT INTO links (scope, {", ".join(LINK_COLUMNS)}) VALUES (?{", ?" * len(LINK_COLUMNS)})
    ON CONFLICT (scope, id) DO UPDATE SET {", ".join(f"{column} = excluded.{column}" for column in LINK_COLUMNS[1:])}
"""
_OF_LINK = ", ".join("l." + column for column in LINK_COLUMNS)
_SELECT = f"SELECT {_OF_LINK} FROM links l"
_ANY = "SELECT EXISTS (SELECT 1 FROM json_each(?2) k CROSS JOIN links l WHERE l.scope = ?1 AND l.kind = k.value)"
_STRONGEST = "expires_at DESC, weight DESC"


class LinkStore(SQLiteBase, Links):
    """Stores links as rows, with an index at either end in order of strength."""

    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        rows = [to_link_row(link, scope) for link in links]
        with self.transaction():
            key = self._writable_scope(scope)
            self._db.run_each(_PUT, [(key, *row) for row in rows])

    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        # The unary plus: what has expired is looked up by its expiry and sorted; a walk in order would read all.
        first_stored = "key" if where.expired_at is None else "+l.key"
        order = f"{_STRONGEST}, key" if strongest_first else first_stored
        with self.snapshot():
            filter_ = link_condition(self._key(scope), where)
            sql = f"{_SELECT} WHERE {filter_.sql} ORDER BY {order} LIMIT ?"
            rows = self._readable(LINKS, sql, *filter_.parameters, -1 if limit is None else max(limit, 0))
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
        places = (to_json(list(dict.fromkeys(nodes))), to_json(list(dict.fromkeys(kinds))))
        with self.snapshot():
            key = self._key(scope)
            if not self._kept(LINKS, _ANY, key, places[1])[0][0]:
                return []  # few scopes have links of every kind, and each recall asks for some
            filter_ = link_condition(key, where)
            cut = (*filter_.parameters, max(each, 0))
            rows = self._readable(LINKS, _frontier(filter_.sql), *places, *cut, *cut, max(each, 0))
        return list(intact(rows, lambda row: _step(row, scope)))

    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        with self.transaction():
            filter_ = link_condition(self._key(scope), where)
            self._db.run(f"DELETE FROM links AS l WHERE {filter_.sql}", *filter_.parameters)
            return self._db.get().changes()


def _step(row: Row, scope: Scope) -> Step:
    node, *link = row
    check_link_row(link, scope)
    id_, kind, source, target, weight, anchored_at = link[:6]
    if node not in (source, target):  # the index that led here is damaged
        raise corrupt(Damaged(LINKS, id_))
    forward = source == node
    return Step(node, target if forward else source, forward, id_, kind, weight, time_or_none(anchored_at))


def _frontier(condition: str) -> str:
    """Return SQL for the strongest links of either end, for each node and kind.

    Both ends are cut in the order of their index, then together, so that links beyond the cut are never read.
    """

    def end(where: str) -> str:
        ranked = f"SELECT l.key, l.expires_at, l.weight FROM links l WHERE {where} AND l.kind = k.value AND {condition}"
        return f"SELECT * FROM ({ranked} ORDER BY {_STRONGEST} LIMIT ?)"

    return f"""
        SELECT n.value, {_OF_LINK} FROM json_each(?) n CROSS JOIN json_each(?) k CROSS JOIN links l
        WHERE l.key IN (
            SELECT key FROM (
                {end("l.source = n.value")} UNION ALL {end("l.target = n.value AND l.source <> n.value")}
            ) ORDER BY {_STRONGEST} LIMIT ?
        ) ORDER BY n.key, l.expires_at DESC, l.weight DESC, l.key
    """
