"""The check of a whole store, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inside import raw
from tidal_plugins import Check, Corrupt, HashingEmbedder, Settings, TidalMemory

TABLES = ("scopes", "entries", "passages", "vectors", "links", "log", "documents", "earlier_documents")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def opened(path: Path) -> TidalMemory:
    """Open a memory that does nothing by itself: what writes to a scope mends its row."""
    return TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))


@pytest.fixture
def memory(path: Path) -> Iterator[TidalMemory]:
    with opened(path) as memory:
        shown: list[str] = []
        for thing in ("boiler", "locker", "choir"):
            turn = memory.record(f"Tell me of the {thing} in the cellar.", f"The {thing} is fine.", surfaced=shown)
            shown = list(turn.entries)
        memory.facts["pool"] = "north"
        memory.facts["pool"] = "south"
        memory.signals.add("like", shown[0])
        memory.scoped("user", "42").remember("The ladder is in the shed.", source="shed.md")
        yield memory


def sql(path: Path, statement: str, *bindings: Any, checksums: bool = True) -> list[Any]:
    connection = raw(path, checksums=checksums)
    try:
        connection.execute("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 5000")
        return connection.execute(statement, bindings).fetchall()
    finally:
        connection.close()


def tables(check: Check) -> set[str]:
    return {fault.table for fault in check.faults}


def test_an_intact_store_has_no_faults(memory: TidalMemory) -> None:
    check = memory.check()
    assert (check.ok, check.faults, check.repaired) == (True, (), ())
    assert set(check.rows) == set(TABLES)
    assert all(check.rows.values())
    assert check.embedder == "hashing-v1-256"
    assert str(check).startswith("no faults in 3 scopes, ")
    assert "lines of logs, " in str(check)
    assert memory.check(repair=True) == memory.check()


def test_what_can_be_rebuilt_is_rebuilt_and_nothing_else_goes(memory: TidalMemory, path: Path) -> None:
    rows = memory.check().rows
    sql(path, "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE passage = 1")
    sql(path, "DELETE FROM vectors WHERE passage = 2")
    sql(path, "UPDATE passages SET start = start + 1 WHERE key = 3")
    sql(path, "DELETE FROM keywords WHERE rowid = (SELECT max(key) FROM passages WHERE words > 0)")
    sql(path, "UPDATE volumes SET entries = entries + 5")
    sql(path, "UPDATE corpus SET words = 1")
    sql(path, "INSERT INTO vectors SELECT 999, scope, vector, 0 FROM vectors LIMIT 1")
    sql(path, "UPDATE documents SET value = '\"00\"' WHERE collection = 'meta' AND key = 'salt'")
    check = memory.check()
    assert tables(check) == {"vectors", "signs", "passages", "keywords", "counts", "documents"}
    assert all(fault.repairable for fault in check.faults)
    assert check.lost == ()
    mended = memory.check(repair=True)
    assert (mended.faults, mended.rows) == ((), rows)
    assert len(mended.repaired) == len(check.faults)
    assert memory.scoped("user", "42").recall("Where is the ladder?")[0].text == "The ladder is in the shed."
    assert memory.recall("boiler").degraded == ()


def test_a_damaged_keyword_index_is_written_anew(memory: TidalMemory, path: Path) -> None:
    sql(path, "UPDATE keywords_data SET block = zeroblob(length(block)) WHERE id > 10")
    assert memory.recall("boiler").degraded == ("keywords",)
    check = memory.check()
    assert "keywords" in tables(check)
    assert memory.check(repair=True).ok
    assert memory.recall("boiler").degraded == ()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE keywords_docsize SET sz = x'7f' WHERE id = (SELECT max(id) FROM keywords_docsize)",
        "UPDATE keywords_docsize SET id = id + 1000 WHERE id = (SELECT max(id) FROM keywords_docsize)",
        "UPDATE keywords_data SET block = x'0102' WHERE id = 1",
        "UPDATE keywords_config SET v = 6",
        "DELETE FROM keywords_config",
    ],
)
def test_a_keyword_index_that_tells_wrong_numbers_is_written_anew(memory: TidalMemory, path: Path, damage: str) -> None:
    found = memory.recall("boiler in the cellar")
    memory.close()
    sql(path, damage, checksums=False)
    with opened(path) as memory:
        assert "pages" in tables(memory.check())
        assert memory.check(repair=True).ok
        again = memory.recall("boiler in the cellar")
    assert [(hit.id, hit.why.keyword_score) for hit in again] == [(hit.id, hit.why.keyword_score) for hit in found]
    assert again.degraded == ()


def test_pages_that_cannot_be_read_are_faults_and_no_errors(memory: TidalMemory, path: Path) -> None:
    copy = Path(memory.backup(path.with_name("copy.db")).path)
    [(page,)] = sql(copy, "SELECT rootpage FROM sqlite_schema WHERE name = 'links'")
    data = bytearray(copy.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    copy.write_bytes(data)
    with opened(copy) as damaged:
        for check in (damaged.check(), damaged.check(repair=True)):
            assert "pages" in tables(check)


def test_what_is_lost_is_named_and_left(memory: TidalMemory, path: Path) -> None:
    bad = memory.recall("boiler").ids[0]
    sql(path, f"UPDATE entries SET text = 'forged' WHERE id = '{bad}'")
    sql(path, "UPDATE log SET value = '{}' WHERE seq = (SELECT max(seq) FROM log WHERE value <> '{}')")
    for check in (memory.check(), memory.check(repair=True)):
        assert {"entries", "log"} <= {fault.table for fault in check.lost}
        assert bad in {fault.name for fault in check.lost}
        assert "lost" in str(check)
    assert sql(path, f"SELECT text FROM entries WHERE id = '{bad}'") == [("forged",)]


_NEXT_SEGMENT = "SELECT min(segid) + 1 FROM keywords_idx WHERE segid + 1 NOT IN (SELECT segid FROM keywords_idx)"


@pytest.mark.parametrize(
    "damage",
    [
        "keywords_config SET v = 9",
        f"keywords_idx SET segid = ({_NEXT_SEGMENT}) WHERE segid = (SELECT max(segid) FROM keywords_idx)",
    ],
)
def test_a_write_that_the_keyword_index_refuses_names_the_repair(memory: TidalMemory, path: Path, damage: str) -> None:
    copy = Path(memory.backup(path.with_name("copy.db")).path)
    assert sql(copy, f"UPDATE {damage} RETURNING 1", checksums=False)
    with opened(copy) as damaged:
        with pytest.raises(Corrupt, match=r"memory\.check\(repair=True\)"):
            damaged.record("The tram leaves at six.", "At six, noted.")
        assert damaged.check(repair=True).ok
        damaged.record("The tram leaves at six.", "At six, noted.")
        assert damaged.recall("When does the tram leave?")[0].text == "The tram leaves at six."


def test_numbers_that_would_be_given_again_are_found_and_hold_up_no_write(memory: TidalMemory, path: Path) -> None:
    sql(path, "UPDATE sqlite_sequence SET name = 'x' || name WHERE name = 'passages'")
    sql(path, "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'log'")
    assert tables(memory.check()) == {"counts"}
    memory.record("The hedge was cut.", "Noted.")
    memory.check(repair=True)
    assert memory.check().ok
    memory.record("The lawn was mown.", "Noted.")


def test_a_row_of_a_scope_that_is_not_there_stops_no_repair(memory: TidalMemory, path: Path) -> None:
    [(bad,)] = sql(path, "UPDATE entries SET scope = 999 WHERE key = 1 RETURNING id")
    assert bad in {fault.name for fault in memory.check(repair=True).lost}
    assert "counts" not in tables(memory.check())
    assert memory.recall("choir")


def test_a_passage_that_names_another_entry_comes_back_to_its_own(memory: TidalMemory, path: Path) -> None:
    rows, said = memory.check().rows, "Which thing is in the shed?"
    found = memory.scoped("user", "42").recall(said).ids
    for other in (1, 999):
        sql(path, "UPDATE passages SET entry = ? WHERE entry = (SELECT key FROM entries WHERE id = ?)", other, found[0])
        check = memory.check()
        assert found[0] in {fault.name for fault in check.faults}
        mended = memory.check(repair=True)
        assert (mended.faults, mended.rows) == ((), rows)
        assert memory.scoped("user", "42").recall(said).ids == found
