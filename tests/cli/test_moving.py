"""``tidal export`` and ``tidal load``."""

from __future__ import annotations

from pathlib import Path

from tests.cli import histories
from tests.cli.conftest import Tidal


def test_a_memory_travels_as_one_file(tidal: Tidal, tmp_path: Path) -> None:
    tidal("import", str(histories.codex(tmp_path / "rollout.jsonl")))
    assert tidal("export", "memory.jsonl.gz").code == 0
    assert tidal("export", "memory.jsonl.gz").code == 1
    assert tidal("load", "memory.jsonl.gz", "--db", "new.db").code == 0
    assert tidal("load", "memory.jsonl.gz", "--db", "new.db").code == 1
    assert tidal("history", "--full", "--db", "new.db").out == tidal("history", "--full").out
    tidal("export", "again.jsonl.gz", "--db", "new.db")
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "memory.jsonl.gz").read_bytes()


def test_a_damaged_file_leaves_no_memory_behind(tidal: Tidal, tmp_path: Path) -> None:
    tidal("import", str(histories.codex(tmp_path / "rollout.jsonl")))
    tidal("export", "memory.jsonl")
    (tmp_path / "broken.jsonl").write_bytes((tmp_path / "memory.jsonl").read_bytes()[:-300])
    ran = tidal("load", "broken.jsonl", "--db", "new.db")
    assert ran.code == 1
    assert "truncated or altered" in ran.err
    assert not (tmp_path / "new.db").exists()
    assert tidal("load", "nowhere.jsonl", "--db", "new.db").code == 1
