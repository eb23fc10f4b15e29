"""The benchmark of affect: how its figures are counted, that its pairs are fair, and that the command runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import affect
from tidal_plugins import Affect, Embedder
from tidal_plugins.affect.circumplex import LABELS


def test_polarity_leaves_out_comments_of_no_sign_or_two() -> None:
    labels = [{"joy"}, {"anger", "fear"}, {"joy", "anger"}, {"surprise"}, {"neutral"}, {"love", "curiosity"}]
    feelings = [Affect(0.1), Affect(0.1), Affect(0.1), Affect(0.1), Affect(0.1), Affect()]
    found = affect.polarity(affect.Comments([""] * 6, labels), feelings)
    assert found["comments"] == 3
    assert found["polarity"] == pytest.approx(100 / 3), "a valence of 0 is wrong"


def test_labels_are_scored_at_one_cut() -> None:
    sure = {**dict.fromkeys(LABELS, 0.0), "joy": 1.0}
    found = affect.named(affect.Comments(["", ""], [{"joy"}, {"anger"}]), [sure, sure])
    assert found["likeliest label"] == 50.0
    assert found["labels F1"] == pytest.approx(100 * (2 / 3) / len(LABELS))


def test_the_pairs_are_sixty_about_one_thing_each_and_favour_no_side(minilm: Embedder) -> None:
    told = json.loads(affect.PAIRS.read_text("utf-8"))
    assert len({pair["asked"] for pair in told}) == 60
    asked, glad, upset = (minilm.embed([pair[name] for pair in told]) for name in ("asked", "glad", "upset"))
    gaps = (asked * glad).sum(axis=1) - (asked * upset).sum(axis=1)
    assert abs(np.median(gaps)) < 0.03
    assert np.abs(gaps).max() < 0.16
    assert (glad * upset).sum(axis=1).min() > 0.5


@pytest.mark.slow
def test_the_command_runs_without_data_and_recall_follows_the_mood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    few = tmp_path / "pairs.json"
    few.write_text(json.dumps(json.loads(affect.PAIRS.read_text("utf-8"))[:15]), "utf-8")
    monkeypatch.setattr(affect, "PAIRS", few)
    affect.main(["--json", str(tmp_path / "out.json")])
    assert "pairs, in percent" in capsys.readouterr().out
    for figures in json.loads((tmp_path / "out.json").read_text("utf-8"))["pairs"].values():
        assert figures["agitated"] >= 90
        assert figures["order unchanged without a mood"] == 100
