"""The benchmark of hostile input: that the command runs, counts, and tells whether the goals are met."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.embedders import CachedEmbedder
from benchmarks.trust import __main__ as trust
from benchmarks.trust import costs, poison
from tidal_plugins import HashingEmbedder


def test_what_is_seen_of_poison_is_counted() -> None:
    seen = poison.poisoned((), poison.QUESTIONS[:3], poison.START, "documents", CachedEmbedder(HashingEmbedder()))
    assert seen.asked == 3
    assert seen.capsule <= poison.MOST_LINES


def test_the_goals() -> None:
    assert poison.Seen(whispers=2, asked=100, capsule=1, dossier=9, brief=9).good
    assert not poison.Seen(whispers=3, asked=100, capsule=0, dossier=0, brief=0).good
    assert not poison.Seen(whispers=0, asked=100, capsule=2, dossier=0, brief=0).good


def test_the_command_runs_the_arms_that_are_named(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(trust, "ARMS", {"one": lambda *_: True, "two": lambda *_: False})
    assert trust.main(["one", "--embedder", "hashing"]) == 0
    assert trust.main(["--embedder", "hashing"]) == 1
    with pytest.raises(SystemExit):
        trust.main(["three"])
    assert "no such arm: three" in capsys.readouterr().err


def test_the_costs_of_safety_are_measured() -> None:
    found = costs.measured(20, 2)
    assert set(found) == {"record", "recall"}
    for seconds, spent in found.values():
        assert 0 < spent["checksums"] < seconds
    assert found["record"][1]["redaction"] > 0
