"""Entries in a PostgreSQL database: found by id, by filter, and beside others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace as replaced
from typing import Any

from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import (
    HEAD,
    TAIL,
    Adjacent,
    Corpus,
    EntrySummary,
    Statistics,
    Volume,
    Where,
)
from tidal_plugins.storage.damage import intact
from tidal_plugins.storage.postgres.base import ALL, PostgresBase, figures
from tidal_plugins.storage.postgres.conditions import TEXTS, condition
from tidal_plugins.storage.postgres.numbers import number_of, path_of
from tidal_plugins.storage.postgres.schema import PATH
from tidal_plugins.storage.rows import COLUMNS, SUMMARY, from_row, to_summary
from tidal_plugins.storage.values import from_json

MAX_SCOPES = 4096
"""Scopes whose figures are kept in memory."""

_SELECT = f"SELECT {', '.join('e.' + column for column in COLUMNS)} FROM tidal_entries e"
_BY_ID = f"{_SELECT} WHERE e.scope = %s AND e.id = {TEXTS}"

ENDS = f"""
    CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE left(e.text, {HEAD}) END,
    CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE right(e.text, {TAIL}) END
"""
"""SQL for the two ends of a text; all of it where some characters are written as two."""

_SUMMARIES = f"""
    SELECT {", ".join("e." + column for column in SUMMARY)},
        (SELECT count(*) FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key),
        (SELECT coalesce(sum(p.words), 0)::bigint FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key),
        {ENDS}
    FROM tidal_entries e WHERE e.id = {TEXTS} AND {{}}
"""
_SPEAKERS = """
    WITH RECURSIVE names (name) AS (
        SELECT min(speaker) FROM tidal_entries WHERE scope = %s AND speaker IS NOT NULL
        UNION ALL
        SELECT (SELECT min(speaker) FROM tidal_entries WHERE scope = %s AND speaker > names.name)
        FROM names WHERE names.name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL LIMIT 1000
"""
_BEGINS, _BEGIN = f"left(s.path, {PATH})", f"left(%s, {PATH})"
_VOLUMES = "SELECT kind, channel, entries, characters FROM tidal_volumes WHERE scope = %s AND entries > 0"


class EntryReads(PostgresBase):
    """Reads entries, which are rows of one table."""

    _figures: dict[Scope, tuple[tuple[int, int, int], Statistics]]
    """The figures of scopes as they were read last, with the numbers that they were read at."""

    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        with self.question():
            rows = self._db.rows(scope, _BY_ID, number_of(scope), list(ids)) if ids else []
        found = {entry.id: entry for entry in intact(rows, lambda row: from_row(row, scope))}
        return {id_: found[id_] for id_ in ids if id_ in found}

    def summaries(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, EntrySummary]:
        filter_ = condition(scope, where or Where())
        with self.question():
            rows = self._db.rows(scope, _SUMMARIES.format(filter_.sql), list(ids), *filter_.parameters)
        cut = [(*row[:-2], row[-2][:HEAD], row[-1][-TAIL:]) for row in rows]
        return {summary.id: summary for summary in intact(cut, to_summary)}

    def adjacent(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Adjacent]:
        filter_ = condition(scope, where)
        sides = ", ".join(_side(filter_.sql, *order) for order in (("<", "DESC"), (">", "ASC")))
        sql = (
            f"SELECT a.id, {sides} FROM tidal_entries a WHERE a.scope = %s AND a.id = {TEXTS} AND a.thread IS NOT NULL"
        )
        side = (*filter_.parameters, max(reach, 0))
        with self.question():
            rows = self._db.rows(scope, sql, *side, *side, number_of(scope), list(ids))
        return [
            Adjacent(id_, other, sign * place)
            for id_, before, after in rows
            for sign, others in ((-1, before), (1, after))
            for place, other in enumerate(others, 1)
        ]

    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        order, filter_ = "DESC" if newest_first else "ASC", condition(scope, where)
        sequence = f"ORDER BY e.occurred_at {order}, e.key {order} LIMIT %s::bigint OFFSET %s"
        bounds = (None if limit is None or limit < 0 else limit, max(after, 0))
        with self.question():
            rows = self._db.rows(scope, f"{_SELECT} WHERE {filter_.sql} {sequence}", *filter_.parameters, *bounds)
        return list(intact(rows, lambda row: from_row(row, scope)))

    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        path, filter_ = path_of(prefix), condition(None, where)
        sql = f"""
            SELECT s.path FROM tidal_scopes s WHERE ({_BEGINS} = {_BEGIN} AND s.path = %s
            OR {_BEGINS} BETWEEN {_BEGIN} AND {_BEGIN} AND s.path BETWEEN %s AND %s)
            AND EXISTS (SELECT 1 FROM tidal_entries e WHERE e.scope = s.scope AND {filter_.sql})
        """
        # In a longer path a comma follows and the quote of the next segment; in any path after the empty one, a quote.
        longer = path.removesuffix("]") + ("," if prefix else "")
        between = (f'{longer}"', f"{longer}#")
        with self.question():
            rows = self._db.rows(ALL, sql, path, path, *between, *between, *filter_.parameters)
        return sorted(tuple(from_json(found)) for (found,) in rows)

    def statistics(self, scope: Scope) -> Statistics:
        with self.question():
            now = figures(self._db, scope)
        corpus = Corpus(now.passages, now.words / now.passages if now.passages else 0.0)
        state, known = (now.generation, now.erasures, now.changes), self._figures.get(scope)
        if known is not None and known[0] == state and not self._db.writing:
            return replaced(known[1], corpus=corpus)
        with self.snapshot():
            if figures(self._db, scope) != now:  # another process wrote meanwhile
                return self.statistics(scope)
            number = number_of(scope)
            speakers = [name for (name,) in self._db.rows(scope, _SPEAKERS, number, number)]
            volumes = self._db.rows(scope, _VOLUMES, number)
        by_sort = {(kind, channel): Volume(*volume) for kind, channel, *volume in volumes}
        found = Statistics(corpus, speakers, by_sort, now.generation + now.erasures)
        if not self._db.writing:
            if len(self._figures) >= MAX_SCOPES:
                self._figures.clear()
            self._figures[scope] = state, found
        return found


def by_key(rows: list[Any]) -> dict[int, Any]:
    """Return rows by their first column."""
    return {row[0]: row for row in rows}


def _side(filter_: str, comparison: str, order: str) -> str:
    """Return SQL for the ids next to an entry ``a`` in its thread on one side, the nearest first, as an array."""
    return f"""ARRAY (
        SELECT e.id FROM tidal_entries e WHERE e.thread = a.thread AND e.kind = a.kind
        AND (e.occurred_at, e.key) {comparison} (a.occurred_at, a.key) AND {filter_}
        ORDER BY e.occurred_at {order}, e.key {order} LIMIT %s
    )"""
