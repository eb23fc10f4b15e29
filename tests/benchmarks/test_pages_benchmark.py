"""The benchmark of pages measures each view, and pages do not grow with the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra inspect is not installed")

from benchmarks.pages import main


@pytest.mark.slow
def test_a_page_of_a_larger_memory_is_no_longer(tmp_path: Path) -> None:
    found = []
    for entries in (200, 800):
        main(["--entries", str(entries), "--json", str(out := tmp_path / f"{entries}.json")])
        found.append(json.loads(out.read_text("utf-8")))
    small, large = found
    assert small.keys() == large.keys()
    for page, figures in large.items():
        assert figures["bytes"] < 1.1 * small[page]["bytes"], page
