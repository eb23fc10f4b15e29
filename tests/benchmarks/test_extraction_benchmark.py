"""The benchmark of extraction by rules: what counts as right, and that the command runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import extraction


def test_a_name_counts_with_its_type_and_a_statement_with_its_negation() -> None:
    row = {
        "text": "I no longer use Redis.",
        "mentions": {"person": ["I"], "package": ["Redis"]},
        "assertions": [["I", "uses", "Redis"]],
    }
    entities, relations = extraction.evaluate([row])
    assert (entities.precision(), entities.recall()) == (0.5, 0.5)
    assert entities.precision("person") == 1.0
    assert (relations.right.total(), relations.wrong["uses"], relations.missed["uses"]) == (0, 1, 1)


def test_held_out_and_seen_sentences_are_all_of_them_once() -> None:
    rows = extraction.load()
    assert len(extraction.held_out(rows)) + len(extraction.seen(rows)) == len(rows)
    assert not [row for row in extraction.held_out(rows) if row in extraction.seen(rows)]


def test_the_command_writes_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["extraction.py", "--json", str(target)])
    extraction.main()
    assert set(json.loads(target.read_text())) == {"all", "seen", "held out"}
