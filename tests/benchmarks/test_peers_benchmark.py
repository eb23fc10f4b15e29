"""The comparison with other stores runs; the peers that come with the tests stand for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import peers


def test_the_command_asks_each_store_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    peers.main(["--size", "100", "--repeats", "5", "--stores", "tidal", "SqliteStore", "--json", str(out)])
    stores = json.loads(out.read_text())["stores"]
    assert stores.keys() == {"tidal", "SqliteStore"}
    for figures in stores.values():
        assert figures.keys() == {"entries_per_second", "search", "add", "memory", "files"}
        assert min(figures[name] for name in ("entries_per_second", "search", "add", "files")) > 0
    assert "SqliteStore" in capsys.readouterr().out
