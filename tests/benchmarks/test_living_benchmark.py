"""The benchmark of living memory: what counts as found, and that the command runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import living, living_arms
from tidal_plugins import Entry, Explanation, Hit


def turn(dia_id: str, speaker: str, text: str) -> dict[str, str]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text}


def orchard() -> dict[str, Any]:
    """Two days on which the same tree is spoken of."""
    asked = {"question": "Which quince blooms first?", "answer": "the early one", "evidence": ["D1:1"], "category": 4}
    return {
        "sample_id": "orchard",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2024",
            "session_1": [
                turn("D1:1", "Ada", "The early quince blooms first, by the well."),
                turn("D1:2", "Ben", "Then frost may harm the early quince."),
            ],
            "session_2_date_time": "2:10 pm on 3 June, 2024",
            "session_2": [
                turn("D2:1", "Ada", "Which quince should I cover against frost?"),
                turn("D2:2", "Ben", "The early quince by the well."),
            ],
        },
        "qa": [asked, {**asked, "question": "Did Ben plant quinces?", "category": 5}],
    }


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def hit(id_: str, **metadata: Any) -> Hit:
    at = datetime(2024, 5, 8, tzinfo=UTC)
    entry = Entry(id_, "fact" if metadata else "conversation", "text", ("default",), at, at, metadata=metadata)
    return Hit(entry, 1.0, "text", Explanation(None, 0.0, None, 0.0, 0.0, 0.0, 0.0))


def test_a_fact_takes_a_place_and_counts_only_for_what_it_quotes() -> None:
    hits = [hit("fact", sources=["a"]), *(hit(name) for name in "bcdea")]
    found = living.scores(frozenset({"D1:a"}), hits, {name: f"D1:{name}" for name in "abcde"})
    assert dict(zip(living_arms.COLUMNS, found, strict=True)) == {
        "recall@5": 0.0,
        "quoted@5": 1.0,
        "recall@10": 1.0,
        "ndcg@10": pytest.approx(0.356, abs=0.001),  # 1 / log2 7
        "all hits": 1.0,
    }


def test_hits_beyond_ten_count_only_among_all_hits() -> None:
    hits = [hit(f"e{number}") for number in range(12)]
    found = living.scores(frozenset({"D1"}), hits, {"e11": "D1"})
    assert found == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_every_mechanism_is_compared_between_arms_that_are_lived() -> None:
    assert {arm.life for arm in living_arms.ARMS.values()} == living_arms.LIVES.keys()
    assert {arm for _, *pair in living_arms.MECHANISMS for arm in pair} == living_arms.ARMS.keys()


def test_the_command_prints_tables_and_writes_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDAL_BENCH_DATA", str(written(tmp_path / "orchard.json", [orchard()])))
    out = tmp_path / "out.json"
    living.main(["--quick", "--embedder", "hashing", "--json", str(out)])
    printed = capsys.readouterr().out
    assert "1 lives of 4 turns in all, 1 questions" in printed
    assert "keeps to the rule" in printed
    assert "failed" not in printed
    figures = json.loads(out.read_text("utf-8"))
    assert figures["arms"].keys() == living_arms.ARMS.keys()
    assert figures["arms"]["default"]["recall@5"]["mean"] == 100.0
    assert figures["costs"]["default"]["turns"] == 4
    assert figures["costs"]["off"]["surfaced"] == 0
