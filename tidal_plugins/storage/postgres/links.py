"""Links in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import ALL_LINKS, Links, Step, WhereLinks
from tidal_plugins.storage.damage import LINKS, Damaged, corrupt, intact
from tidal_plugins.storage.postgres.base import PostgresBase
from tidal_plugins.storage.postgres.conditions import facets_of, link_condition
from tidal_plugins.storage.postgres.numbers import number_of
from tidal_plugins.storage.postgres.texts import array_of
from tidal_plugins.storage.rows import (
    LINK,
    LINK_COLUMNS,
    Row,
    check_link_row,
    check_storable,
    from_link_row,
    time_or_none,
    to_link_row,
)

_TEXTS = {"id", "kind", "source", "target", "metadata"}
_OF_LINK = ", ".join("l." + column for column in LINK_COLUMNS)
_TYPES = {**dict.fromkeys(LINK, "bigint"), **dict.fromkeys(_TEXTS, "text"), "weight": "float8"}
_PUT = f"""
    INSERT INTO tidal_links (scope, {", ".join(LINK_COLUMNS)}, facets)
    SELECT %s, {", ".join("u." + column for column in LINK_COLUMNS)}, u.facets::text[]
    FROM unnest({", ".join(f"%s::{_TYPES[column]}[]" for column in LINK)}, %b::bytea[], %s::text[])
        u ({", ".join(LINK_COLUMNS)}, facets)
    ON CONFLICT (scope, id)
    DO UPDATE SET {", ".join(f"{column} = excluded.{column}" for column in (*LINK_COLUMNS[1:], "facets"))}
"""
_SELECT = f"SELECT {_OF_LINK} FROM tidal_links l"
_STRONGEST = "l.expires_at DESC, l.weight DESC, l.key"


class LinkStore(PostgresBase, Links):
    """Stores links as rows, with an index at either end in order of strength."""

    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        rows = {link.id: to_link_row(link, scope) for link in links}
        for row in rows.values():
            check_storable(row)
        place = LINK.index("metadata")
        whole = [(*row, array_of(facets_of(row[place]))) for row in rows.values()]
        with self.transaction():
            if whole:
                self._db.later(scope, (_PUT, [number_of(scope), *map(list, zip(*whole, strict=True))]))

    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        filter_, order = link_condition(scope, where), _STRONGEST if strongest_first else "l.key"
        sql = f"{_SELECT} WHERE {filter_.sql} ORDER BY {order} LIMIT %s::bigint"
        with self.question():
            rows = self._db.rows(scope, sql, *filter_.parameters, None if limit is None else max(limit, 0))
        return list(intact(rows, lambda row: from_link_row(row, scope)))

    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        places = [list(dict.fromkeys(nodes)), list(dict.fromkeys(kinds))]
        if not all(places):
            return []
        filter_ = link_condition(scope, where)
        cut = (*filter_.parameters, max(each, 0))
        with self.question():
            rows = self._db.rows(scope, _frontier(filter_.sql), *places, *cut, *cut, max(each, 0))
        return list(intact(rows, lambda row: _step(row, scope)))

    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        filter_ = link_condition(scope, where)
        with self.transaction():
            return self._db.run(scope, (f"DELETE FROM tidal_links l WHERE {filter_.sql}", filter_.parameters))


def _step(row: Row, scope: Scope) -> Step:
    node, *link = row
    check_link_row(link, scope)
    id_, kind, source, target, weight, anchored_at = link[:6]
    if node not in (source, target):
        raise corrupt(Damaged(LINKS, id_))
    forward = source == node
    return Step(node, target if forward else source, forward, id_, kind, weight, time_or_none(anchored_at))


def _frontier(condition: str) -> str:
    """Return SQL for the strongest links of either end, for each node and kind.

    Both ends are cut in the order of their index, then together, so that links beyond the cut are never read.
    """

    def end(where: str) -> str:
        chosen = f"SELECT {_OF_LINK}, l.key FROM tidal_links l WHERE {where} AND l.kind = k.kind AND {condition}"
        return f"({chosen} ORDER BY {_STRONGEST} LIMIT %s)"

    return f"""
        SELECT n.node, {_OF_LINK} FROM unnest(%s::text[]) WITH ORDINALITY n (node, place)
        CROSS JOIN unnest(%s::text[]) k (kind) CROSS JOIN LATERAL (
            SELECT * FROM (
                {end("l.source = n.node")} UNION ALL {end("l.target = n.node AND l.source <> n.node")}
            ) l ORDER BY {_STRONGEST} LIMIT %s
        ) l ORDER BY n.place, l.expires_at DESC, l.weight DESC, l.key
    """
