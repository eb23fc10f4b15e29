"""Keyword search over postings in memory: it finds and scores what FTS5 would, whoever writes meanwhile."""

from __future__ import annotations

from pathlib import Path
from random import Random

import apsw
import pytest

from tidal_plugins.storage.base import Passage, Record, Where
from tidal_plugins.storage.rows import number_of
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.storage.sqlite.search import expression
from tidal_plugins.testing import HERE, record

WORDS = "harbour lantern lanterns nets netting mended mending tide tides café ferry ferries 港町 gull gulls".split()
THERE = ("there",)


def by_fts5(path: Path, scope: int, words: list[str]) -> dict[str, float]:
    """Return the score that FTS5 gives each entry of a scope, by its id, asked past the engine."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute(
            "SELECT e.id, -k.rank FROM keywords k JOIN passages p ON p.key = k.rowid JOIN entries e ON e.key = p.entry "
            "WHERE k.keywords MATCH ? ORDER BY k.rank DESC",
            (expression(scope, words),),
        )
        return dict(rows.fetchall())
    finally:
        connection.close()


def check(path: Path, store: SQLiteStorage) -> None:
    for words in (["harbour", "tide"], ["lantern", "mended", "café"], ["港町"], ["gulls", "gull", "ferry"], ["zebra"]):
        expected = by_fts5(path, number_of(HERE), words)
        found = store.matching(HERE, words, 1000, Where())
        assert {match.id: match.score for match in found} == pytest.approx(expected, rel=1e-9)
        assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)


def write(store: SQLiteStorage, random: Random, number: int) -> None:
    """Store, replace or erase an entry here, and store one in another scope."""
    text = " ".join(random.choices(WORDS, k=random.randrange(1, 9)))
    one = record(f"e{random.randrange(40)}", text, [1.0, 0.5])
    known = bool(store.get(HERE, [one.entry.id]))
    if known and number % 5 == 0:
        store.erase(HERE, [one.entry.id])
    else:
        store.put(HERE, [one], replace=known)
    store.put(THERE, [record(f"t{number}", text, scope=THERE)])


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_fts5_whichever_process_writes(tmp_path: Path, seed: int) -> None:
    path, random = tmp_path / "memory.db", Random(seed)
    reader, writer = SQLiteStorage(path), SQLiteStorage(path)  # two engines share nothing but the file
    for number in range(60):
        write((writer, reader)[number % 2], random, number)
        check(path, reader)


def test_a_text_of_several_passages_counts_once(tmp_path: Path) -> None:
    store = SQLiteStorage(tmp_path / "memory.db")
    one = record("page", "ferry and ferry", [1.0, 0.0])
    passages = [Passage(0, 5, "ferry", None), Passage(6, 15, "ferry ferry", None)]
    store.put(HERE, [Record(one.entry, passages)])
    [match] = store.matching(HERE, ["ferry"], 5, Where())
    assert (match.start, match.end) == (6, 15)
