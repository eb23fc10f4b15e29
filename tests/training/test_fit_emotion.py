"""Fitting emotion weights, on a handful of comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidal_plugins import EmbeddingEmotion, HashingEmbedder
from tidal_plugins.affect.embedding import LABELS, save
from training import fit_confidence, fit_emotion

COMMENTS = {
    "joy": ["what happy fun", "so much fun today", "happy happy", "a happy day"],
    "anger": ["what angry rage", "so much rage today", "angry angry", "an angry day"],
    "neutral": ["the table is wood", "a wooden table", "the chair is by the table", "tables and chairs"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{text}\t{LABELS.index(label)}\tid" for label, texts in COMMENTS.items() for text in texts] * 5
    rows += [f"something {label}\t{number}\tid" for number, label in enumerate(LABELS)]
    rows += [f"fun rage\t{LABELS.index('joy')},{LABELS.index('anger')}\tid"]
    for split in ("train", "dev"):
        (tmp_path / f"goemotions_{split}.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return tmp_path


def test_it_learns_what_it_is_shown_and_gives_the_same_bytes_again(folder: Path) -> None:
    embedder, files = HashingEmbedder(64), [folder / "one.npz", folder / "two.npz"]
    for file in files:
        splits = [fit_emotion.comments(folder, split) for split in ("train", "dev")]
        save(file, fit_emotion.fit(embedder, *splits))
    assert files[0].read_bytes() == files[1].read_bytes()
    happy, angry = EmbeddingEmotion(embedder, files[0]).estimate(["a happy happy day", "an angry angry day"])
    assert happy.valence > 0 > angry.valence
    assert happy.emotions["joy"] > happy.emotions.get("anger", 0)


def test_data_may_be_named_by_a_file_in_its_folder(folder: Path) -> None:
    named = fit_emotion.comments(folder / "goemotions_dev.tsv", "train")
    assert named == fit_emotion.comments(folder, "train")
    assert named[-1] == ("fun rage", [LABELS.index("joy"), LABELS.index("anger")])


def test_without_data_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    with pytest.raises(SystemExit):
        fit_emotion.main([])
    assert "--data" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        fit_confidence.main([])
    assert "--data" in capsys.readouterr().err
