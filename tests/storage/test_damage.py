"""Damage to any table: never an untyped error, never a wrong text, and what was left out is told."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.inside import raw
from tidal_plugins import Corrupt, HashingEmbedder, NotFound, Policy, Settings, TidalError, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.damage import noticed
from tidal_plugins.storage.sqlite import SQLiteStorage

TURNS = [
    ("The boiler in the cellar was serviced by Henk.", "Noted, Henk serviced the boiler."),
    ("My locker at the pool has the number 212.", "Locker 212, noted."),
    ("The choir rehearses in the old school.", "Good to know."),
]
DAMAGE = {"TEXT": "CAST(x'ff' || ifnull(\"{0}\", '') AS TEXT)", "BLOB": 'zeroblob(length("{0}"))'}
DAMAGE |= dict.fromkeys(("INTEGER", "REAL"), 'ifnull("{0}", 0) + 1')
"""What becomes of a column, by its type."""

TABLES = ("scopes", "entries", "passages", "vectors", "links", "log", "documents", "earlier_documents", "volumes")
UNCHECKED = ("erasures", "changes", "held_by", "held_until")
"""Counters for caches, and claims, which end by themselves."""
KEYS = (("entries", "key"), ("links", "key"))
"""The columns that only say which row came first."""
QUESTIONS = ("Who serviced the boiler?", "Which number has my locker?", "Where does the choir rehearse?")


def open_memory(path: Path) -> TidalMemory:
    settings = Settings(graph={"background": False})
    return TidalMemory(path, embedder=HashingEmbedder(), settings=settings)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with rows in every table."""
    path = tmp_path / "agent.db"
    with open_memory(path) as memory:
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
    return path


def sql(path: Path, statement: str, *bindings: Any, checksums: bool = True) -> list[Any]:
    connection = raw(path, checksums=checksums)
    try:
        connection.execute("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 5000")
        return connection.execute(statement, bindings).fetchall()
    finally:
        connection.close()


def write_schema(path: Path, table: str, schema: str) -> None:
    """Let a table have another declaration, which its rows need not fit."""
    quoted = schema.replace("'", "''")
    sql(path, f"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '{quoted}' WHERE name = '{table}'")


def columns(path: Path) -> list[tuple[str, str, str]]:
    """Return table, column and type of every column of the schema's tables."""
    return [(table, name, kind) for table in TABLES for _, name, kind, *_ in sql(path, f"PRAGMA table_info ({table})")]


def scopes_of(path: Path) -> list[tuple[str, ...]]:
    storage = SQLiteStorage(path)
    try:
        return storage.scopes((), Where())
    finally:
        storage.close()


def uses(memory: TidalMemory, ids: list[str]) -> list[Callable[[], Any]]:
    return [
        *(lambda id_=id_: memory.get(id_) for id_ in ids),
        *(lambda question=question: list(memory.recall(question)) for question in QUESTIONS),
        *(lambda question=question: memory.whisper(question) for question in QUESTIONS),
        lambda: memory.recall(QUESTIONS[0], associative=True, window=1),
        lambda: memory.episodes.list(),
        lambda: dict(memory.facts),
        lambda: memory.facts["pool"],
        lambda: memory.facts.history("pool"),
        lambda: memory.dossiers.list(),
        lambda: memory.sessions.list(),
        lambda: memory.sessions.policies["narrow"],
        lambda: memory.signals.tally(),
        lambda: memory.graph.relations(),
        lambda: memory.maintenance.run(),
        lambda: memory.record("The tram leaves at six.", "At six, noted.", thread="home"),
    ]


def told(value: Any, known: set[str]) -> int:
    """Check that every text of an answer is one that was stored, and return how many there are."""
    entries = [getattr(item, "entry", item) for item in (value if isinstance(value, list) else [value])]
    texts = [entry.text for entry in entries if getattr(entry, "kind", None) == "conversation"]
    assert set(texts) <= known
    return len(texts)


def use(path: Path, ids: list[str], known: set[str]) -> tuple[int, int]:
    """Use a damaged file in every way; return how many texts were told, and how many typed errors there were."""
    texts = errors = 0
    try:
        memory = open_memory(path)
    except TidalError:
        return 0, 1
    for ask in uses(memory, ids):
        try:
            texts += told(ask(), known)
        except TidalError:
            errors += 1
    memory.close()
    return texts, errors


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_value_of_any_column_is_found_and_never_told(path: Path, table: str) -> None:
    with open_memory(path) as memory:
        entries = [entry for turn in memory.episodes.list() for entry in turn.entries]
        known = {memory.get(id_).text for id_ in entries} | {"The tram leaves at six.", "At six, noted."}
    whole, texts = path.read_bytes(), 0
    for place, name, kind in columns(path):
        if place == table:
            copy = path.with_name(f"{name}.db")
            copy.write_bytes(whole)
            with suppress(apsw.ConstraintError):  # SQLite itself refuses some
                sql(copy, f'UPDATE {table} SET "{name}" = {DAMAGE[kind].format(name)}')
                if name not in UNCHECKED and (table, name) not in KEYS:
                    with suppress(Corrupt), open_memory(copy) as memory:  # such as its own secret
                        assert not memory.check().ok, name
            texts += use(copy, entries, known)[0]
    assert texts, "what is whole is told"


def test_a_scope_works_on_with_one_damaged_row_in_each_table(path: Path) -> None:
    for table, name in {"links": "weight", "log": "at", "passages": "start", "vectors": "checksum"}.items():
        sql(path, f'UPDATE {table} SET "{name}" = "{name}" + 1 WHERE rowid = (SELECT max(rowid) FROM {table})')
    sql(path, "UPDATE entries SET text = text || 'x' WHERE id = (SELECT min(id) FROM entries)")
    sql(path, "UPDATE documents SET value = 'null' WHERE collection = 'affect'")
    with open_memory(path) as memory:
        recall = memory.recall(QUESTIONS[0])
        assert recall
        assert {"damaged vectors", "damaged passages"} <= set(recall.degraded)
        memory.whisper(QUESTIONS[1])
        memory.record("The tram leaves at six.", "At six, noted.", thread="home")
        memory.maintenance.run()
        assert memory.dossiers.list()


def test_a_changed_fact_is_an_error_and_its_earlier_value_does_not_stand_in(path: Path) -> None:
    sql(path, "UPDATE documents SET value = replace(value, 'south', 'Rhine') WHERE value LIKE '%south%'")
    with open_memory(path) as memory:
        with pytest.raises(Corrupt, match="facts"):
            memory.facts["pool"]
        with pytest.raises(Corrupt):
            memory.facts.history("pool")
        with pytest.raises(Corrupt):
            dict(memory.facts.items())
        listed = memory.facts.list()
        assert ([fact.key for fact in listed], listed.degraded) == ([], ("damaged documents",))


def test_a_changed_policy_is_an_error_and_no_session_opens_under_it(path: Path) -> None:
    sql(path, "UPDATE documents SET value = replace(value, 'like', 'dislike') WHERE collection = 'policies'")
    with open_memory(path) as memory, pytest.raises(Corrupt):
        memory.sessions.open(policy="narrow")


def test_values_about_the_whole_store_have_a_copy(path: Path) -> None:
    with open_memory(path) as memory:
        id_ = memory.episodes.list()[0].id
    sql(path, "UPDATE documents SET value = '\"00\"' WHERE collection = 'meta'")
    with open_memory(path) as memory:
        assert memory.recall(QUESTIONS[0]).degraded == ("damaged documents",)
        with pytest.raises(NotFound):
            memory.get(id_[:-1] + ("y" if id_.endswith("x") else "x"))
        assert memory.get(id_).id == id_
    sql(path, "UPDATE documents SET value = '\"00\"' WHERE collection LIKE '%meta'")
    with pytest.raises(Corrupt):
        open_memory(path)


@pytest.mark.parametrize("change", ["key = key + 1000", "path = path || 'x'"])
def test_a_scope_with_a_damaged_row_answers_as_before(path: Path, change: str) -> None:
    with open_memory(path) as memory:
        other = memory.scoped("user", "42")
        other.remember("The ladder is in the shed.", source="shed.md")
        right = [memory.recall(question).ids for question in QUESTIONS]
    scopes = scopes_of(path)
    number = sql(path, f"UPDATE scopes SET {change} WHERE path = '[\"default\"]' RETURNING path")
    assert number
    shutil.copy(path, copy := path.with_name("copy.db"))
    assert "path" in change or scopes_of(copy) == scopes
    with open_memory(path) as memory:
        assert [memory.recall(question).ids for question in QUESTIONS] == right
        assert memory.facts["pool"] == "south"
        memory.scoped("user", "43").remember("The key hangs by the door.", source="door.md")
        memory.record("The tram leaves at six.", "At six, noted.", thread="home")
        assert "six" in memory.recall("When does the tram leave?")[0].text
        assert [fault for fault in memory.check().faults if not fault.repairable] == []
        assert memory.check(repair=True).ok
    with open_memory(copy) as memory:
        faults = memory.check().faults
        if "path" not in change:
            assert {fault.table for fault in faults if not fault.repairable} == set()
            assert memory.check(repair=True).ok
        assert [memory.recall(question).ids for question in QUESTIONS] == right


@pytest.mark.parametrize(
    "change",
    [
        "entries.speaker = x'616e61'",
        "entries.occurred_at = NULL",
        "entries.valid_until = 3.5",
        "vectors.scope = NULL",
        "vectors.vector = NULL",
        "volumes.characters = NULL",
        "corpus.words = 'few'",
    ],
)
def test_a_value_that_became_one_of_another_kind_ends_no_scope(path: Path, change: str) -> None:
    table, column = change.split(".", 1)
    [(schema,)] = sql(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)
    write_schema(path, table, schema.replace("NOT NULL", "").replace("STRICT, ", "").replace("STRICT", ""))
    first = f"rowid = (SELECT min(rowid) FROM {table})" if table in ("entries", "vectors") else "true"
    if table == "entries":
        first = "text = 'My locker at the pool has the number 212.' AND kind = 'conversation'"
    sql(path, f"UPDATE {table} SET {column} WHERE {first}")
    write_schema(path, table, schema)
    with open_memory(path) as memory:
        assert "Henk" in memory.recall(QUESTIONS[0])[0].text
        assert "choir" in memory.recall(QUESTIONS[2])[0].text
        memory.capsule.read()
        assert not memory.check().ok
        if table != "volumes":  # whose trigger counts on
            memory.record("The tram leaves at six.", "At six, noted.", thread="home")
            memory.maintenance.run()
        memory.check(repair=True)
        assert memory.check().ok or table == "entries"
        memory.record("The tram leaves at six.", "At six, noted.", thread="home")
        assert "six" in memory.recall("When does the tram leave?")[0].text


@pytest.mark.parametrize(
    "place",
    [
        "scopes.path",
        "scopes.erasures",
        "scopes.changes",
        "entries.changed",
        "keywords_docsize.sz",
        "keywords_data.block",
    ],
)
def test_a_value_that_became_null_is_told_and_mended(path: Path, place: str) -> None:
    """A bit that flips in the head of a row may turn a number or a short block into NULL, whatever the schema says."""
    table, column = place.split(".")
    [(schema,)] = sql(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)
    free = schema.replace("NOT NULL", "").replace("STRICT", "")
    write_schema(path, table, free)
    last = {"scopes": "key = (SELECT min(scope) FROM entries)", "keywords_data": "id = 1"}.get(table, "true")
    sql(path, f"UPDATE {table} SET {column} = NULL WHERE {last}", checksums=not table.startswith("keywords"))
    write_schema(path, table, schema)
    with open_memory(path) as memory:
        assert not memory.check().ok
        for question in QUESTIONS:
            memory.recall(question)
        assert memory.check(repair=True)
        if place != "scopes.path":
            assert memory.check().ok
            memory.record("The tram leaves at six.", "At six, noted.", thread="home")
            assert "six" in memory.recall("When does the tram leave?")[0].text


@pytest.mark.parametrize("table", ["entries", "links"])
def test_an_index_that_leads_to_other_rows_is_told(path: Path, table: str) -> None:
    with open_memory(path) as memory:
        id_ = memory.recall(QUESTIONS[0]).ids[0]
    names = ", ".join(f'"{name}"' for place, name, _ in columns(path) if place == table and name != "key")
    [(create,)] = sql(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)
    sql(path, create.replace(f"TABLE {table}", "TABLE other"))
    reverse = f"SELECT min(key) + max(key) FROM {table}"
    sql(path, f"INSERT INTO other (key, {names}) SELECT ({reverse}) - key, {names} FROM {table}")
    root = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_other_1'"
    change = f"UPDATE sqlite_schema SET rootpage = ({root}) WHERE name = 'sqlite_autoindex_{table}_1'"
    sql(path, f"PRAGMA writable_schema = ON; {change}")
    with open_memory(path) as memory:
        if table == "entries":
            with pytest.raises(Corrupt):
                memory.get(id_)
        else:
            with noticed() as damaged:
                memory.recall(QUESTIONS[0])
            assert "links" in {row.table for row in damaged}


def test_flipped_bytes_in_pages_are_typed_errors_or_left_out(path: Path) -> None:
    with open_memory(path) as memory:
        entries = [entry for turn in memory.episodes.list() for entry in turn.entries]
        known = {memory.get(id_).text for id_ in entries} | {"The tram leaves at six.", "At six, noted."}
    whole, dice = path.read_bytes(), random.Random(21)
    texts = errors = 0
    for number in range(12):
        damaged = bytearray(whole)
        for _ in range(dice.choice([1, 8, 40])):
            damaged[dice.randrange(100, len(damaged))] ^= dice.randrange(1, 256)
        copy = path.with_name(f"{number}.db")
        copy.write_bytes(damaged)
        found = use(copy, entries, known)
        texts, errors = texts + found[0], errors + found[1]
    assert texts
    assert errors
