"""Damage to any table of a PostgreSQL database: it is found, left out of answers, and mended if it can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.storage.test_damage import QUESTIONS, TURNS, told, uses
from tidal_plugins import Corrupt, HashingEmbedder, Policy, Settings, TidalError, TidalMemory
from tidal_plugins.storage.columns import cache, pieces
from tidal_plugins.storage.postgres.schema import TABLES
from tools.databases import Databases

psycopg = pytest.importorskip("psycopg")

QUIET = Settings(graph={"background": False})
CHANGES = {
    "text": "coalesce({0}, '') || 'x'",
    "bytea": "decode(repeat('00', length({0})), 'hex')",
    "bigint": "coalesce({0}, 0) / 2 + 1000",
    "integer": "{0} + 1000",
    "double precision": "coalesce({0}, 0) / 2 + 0.25",
    "bigint[]": "{0} || 999::bigint",
    "text[]": "{0} || 'x'::text",
}
"""What becomes of a value, by the type of its column."""

COUNTERS = {
    ("scopes", "erasures"), ("scopes", "changes"), ("links", "key"), ("log", "held_by"), ("log", "held_until"),
}  # fmt: skip
"""Numbers for caches, one that says in which order rows were stored, and claims, which end by themselves."""


def open_memory(url: str) -> TidalMemory:
    return TidalMemory(url, embedder=HashingEmbedder(), settings=QUIET)


def fill(url: str) -> None:
    """Store rows in every table of a database."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (cache, pieces):
            patch.setattr(module, "SIZE", 2)
        with open_memory(url) as memory:
            shown: list[str] = []
            for user, agent in TURNS:
                turn = memory.record(user, agent, thread="home", surfaced=shown)
                shown = list(turn.entries)
            memory.facts["pool"] = "north"
            memory.facts["pool"] = "south"
            memory.sessions.policies["narrow"] = Policy(allow={"like"})
            memory.signals.add("like", shown[0])
            memory.sessions.open().annotate(shown[0], "choir")
            memory.dossiers.refresh("boiler")
            memory.graph.index_pending()
            memory.scoped("user", "42").remember("The ladder is in the shed.", source="shed.md")
            memory.forget(memory.remember("The shed is locked.").id)
            memory.recall("boiler")


@pytest.fixture
def url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a database with rows in every table, which is the test's own."""
    url = postgres.new(fill)
    yield url
    postgres.drop(url)


def sql(url: str, statement: str, *parameters: Any) -> list[Any]:
    """Run a statement as the owner, whom no policy holds. Return its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def columns(url: str, table: str) -> list[tuple[str, str]]:
    """Return the columns of a table with their types."""
    found = sql(
        url,
        "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attnum > 0 AND attrelid = %s::regclass",
        table,
    )
    return [(name, kind) for name, kind in found if name != "scope"]


def tables(memory: TidalMemory) -> set[str]:
    return {fault.table for fault in memory.check().faults}


@pytest.mark.parametrize("table", [table.removeprefix("tidal_") for table in TABLES])
def test_a_changed_value_of_any_column_is_found_and_never_told(postgres: Databases, table: str) -> None:
    probe = postgres.new(fill)
    with open_memory(probe) as memory:
        assert memory.check().ok
        entries = [entry for turn in memory.episodes.list() for entry in turn.entries]
        known = {memory.get(id_).text for id_ in entries} | {"The tram leaves at six.", "At six, noted."}
    for name, kind in columns(probe, f"tidal_{table}"):
        url = postgres.new(fill)
        row = f"(scope, ctid) = (SELECT scope, ctid FROM tidal_{table} ORDER BY scope, tableoid, ctid LIMIT 1)"
        change = f'UPDATE tidal_{table} SET "{name}" = {CHANGES[kind].format(chr(34) + name + chr(34))}'
        assert sql(url, f"{change} WHERE {row} RETURNING 1"), name
        try:
            with open_memory(url) as damaged:
                if (table, name) not in COUNTERS:
                    assert not damaged.check().ok, name
                for ask in uses(damaged, entries):
                    with suppress(TidalError):
                        told(ask(), known)
        except Corrupt:
            pass  # such as its own secret
        postgres.drop(url)
    postgres.drop(probe)


def test_what_can_be_rebuilt_is_rebuilt_and_nothing_else_goes(url: str) -> None:
    with open_memory(url) as memory:
        rows = memory.check().rows
        first = "(SELECT min(key) FROM tidal_passages WHERE words > 4)"
        sql(
            url,
            f"UPDATE tidal_vectors SET vector = decode(repeat('00', length(vector)), 'hex') WHERE passage = {first}",
        )
        sql(url, "DELETE FROM tidal_vectors WHERE passage = (SELECT max(key) FROM tidal_passages WHERE words > 4)")
        sql(url, "UPDATE tidal_passages SET start = start + 1 WHERE key = (SELECT max(key) FROM tidal_passages)")
        sql(url, f"DELETE FROM tidal_words WHERE passage = {first}")
        sql(url, "UPDATE tidal_volumes SET entries = entries + 5")
        sql(url, "UPDATE tidal_corpus SET words = words + 1 WHERE shard = 3")
        sql(url, "UPDATE tidal_documents SET value = '\"00\"' WHERE collection = 'meta' AND key = 'salt'")
        sql(url, "UPDATE tidal_columns SET changes = changes + 5")
        check = memory.check()
        assert tables(memory) == {"vectors", "passages", "keywords", "counts", "documents", "saved_columns"}
        assert check.lost == ()
        mended = memory.check(repair=True)
        assert (mended.faults, mended.rows) == ((), rows)
        assert memory.scoped("user", "42").recall("Where is the ladder?")[0].text == "The ladder is in the shed."
        assert memory.recall("boiler").degraded == ()


def test_what_is_lost_is_named_and_left(url: str) -> None:
    with open_memory(url) as memory:
        bad = memory.recall(QUESTIONS[0]).ids[0]
        sql(url, "UPDATE tidal_entries SET text = 'forged' WHERE id = %s", bad)
        sql(url, "UPDATE tidal_log SET value = '{}' WHERE seq = (SELECT max(seq) FROM tidal_log)")
        for check in (memory.check(), memory.check(repair=True)):
            assert {"entries", "log"} <= {fault.table for fault in check.lost}
            assert bad in {fault.name for fault in check.lost}
        recall = memory.recall(QUESTIONS[0])
        assert recall
        assert bad not in recall.ids
        with pytest.raises(Corrupt):
            memory.get(bad)


@pytest.mark.parametrize(
    "damage",
    [
        "columns = decode(repeat('00', length(columns)), 'hex')",
        "changes = changes + 5",
        "last = last + 5",
        "centre = centre + 1",
        "checksum = checksum + 1",
    ],
)
def test_damaged_columns_are_found_never_trusted_and_replaced(
    postgres: Databases, postgres_url: str, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    for module in (cache, pieces):
        monkeypatch.setattr(module, "SIZE", 4)
    question = "Where is lamp 3?"
    with open_memory(postgres_url) as memory:
        for number in range(9):
            memory.record(f"The lamp {number} is in room {number}.", "Noted.")
        expected = memory.recall(question).ids
    with open_memory(postgres_url) as memory:
        memory.recall("lamp")
    first = "(SELECT min(first) FROM tidal_columns)"
    assert sql(postgres_url, f"UPDATE tidal_columns SET {damage} WHERE first = {first} RETURNING 1")
    with open_memory(postgres_url) as memory:
        assert tables(memory) == {"saved_columns"}
        assert memory.recall(question).ids == expected
    with open_memory(postgres_url) as memory:
        assert memory.check().ok, "the search that could not read them has saved them anew"
        assert memory.recall(question).ids == expected
    sql(postgres_url, f"UPDATE tidal_columns SET {damage}")
    with open_memory(postgres_url) as memory:
        assert memory.check(repair=True).ok
        assert memory.recall(question).ids == expected
