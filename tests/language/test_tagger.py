"""The tagger of sentences: how well it reads conversations that nothing was fitted on, and what it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, OnnxEmbedder
from tidal_plugins.language import tagger
from tidal_plugins.language.features import CHARACTERS, WORDS, rows
from tidal_plugins.language.tagger import LinearTagger, tag
from tidal_plugins.model.sentence import ACTS, TAGS
from training.sentences import own

NGRAMS = {
    "lasting": (0.6, 0.7), "vital": (0.3, 0.5), "change": (0.35, 0.55), "plan": (0.6, 0.5), "done": (0.45, 0.55),
    "preference": (0.4, 0.5), "rule": (0.4, 0.6), "identity": (0.45, 0.45), "advice": (0.65, 0.7), "number": (0.7, 0.7),
}  # fmt: skip
"""The least precision and recall of each tag."""

FORMS = {
    "lasting": (0.6, 0.8), "vital": (0.45, 0.6), "change": (0.5, 0.5), "plan": (0.7, 0.7), "done": (0.55, 0.6),
    "preference": (0.55, 0.6), "rule": (0.55, 0.6), "identity": (0.7, 0.6), "advice": (0.7, 0.7), "number": (0.8, 0.75),
}  # fmt: skip


@pytest.mark.parametrize(
    ("encoder", "acts_right", "floors"), [(None, 0.86, NGRAMS), (OnnxEmbedder(), 0.88, FORMS)], ids=["n-grams", "forms"]
)
def test_it_reads_conversations_that_nothing_was_fitted_on(
    encoder: OnnxEmbedder | None, acts_right: float, floors: dict[str, tuple[float, float]]
) -> None:
    apart = [item for item in own() if item.apart]
    read = LinearTagger(encoder).tag([item.text for item in apart], [item.role for item in apart])
    assert sum(one.act == item.act for one, item in zip(read, apart, strict=True)) >= acts_right * len(apart)
    for name, (precision, recall) in floors.items():
        truth = np.array([name in item.tags for item in apart])
        said = np.array([name in one.tags for one in read])
        right = (truth & said).sum()
        assert right >= precision * said.sum(), name
        assert right >= recall * truth.sum(), name


def test_each_embedder_gets_the_tagger_that_reads_best_beside_it() -> None:
    [moved] = tagger.best_for(OnnxEmbedder()).tag(["We moved the stand-up to ten."], ["user"])
    [alone] = tagger.best_for(HashingEmbedder()).tag(["We moved the stand-up to ten."], ["user"])
    assert "change" in moved.tags
    assert alone.scores != moved.scores
    with pytest.raises(InvalidInput, match="forms of"):
        LinearTagger(OnnxEmbedder(), tagger.NGRAMS)
    with pytest.raises(InvalidInput, match="forms of"):
        LinearTagger(None, tagger.FORMS)


def test_a_sentence_is_read_alike_alone_and_among_others() -> None:
    texts = ["", "ok", "?", "Ich ziehe im März nach Graz.", "Никогда не звони после девяти.", "x" * 5_000, "a\nb"]
    together = tag(texts)
    for text, read in zip(texts, together, strict=True):
        [alone] = tag([text])
        assert alone.act == read.act
        assert alone.scores == pytest.approx(read.scores)
        assert set(read.scores) == {*ACTS, *TAGS}
        assert sum(read.scores[act] for act in ACTS) == pytest.approx(1)


def test_ngrams_are_those_of_the_sentence_alone() -> None:
    hashed, bounds = rows(["abc", "I don't go, ok?"])
    words = len("^ i don't go , ok ? $".split())
    assert bounds[1] == sum((4, 3, 2, 1)) + sum((3, 2, 1)), "of « abc », and of its word between two bounds"
    assert bounds[2] - bounds[1] == sum((16, 15, 14, 13)) + sum((words, words - 1, words - 2))
    alone, _ = rows(["I don't go, ok?"])
    assert sorted(alone) == sorted(hashed[bounds[1] :])
    assert len(CHARACTERS) == 4
    assert len(WORDS) == 3


def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(InvalidInput, match="make fit-tagger"):
        LinearTagger(weights=path)
    weights = tagger.load()
    tagger.save(path, weights)
    assert path.read_bytes() == tagger.NGRAMS.read_bytes(), "the same bytes for the same numbers"
    weights = replace(weights, bias=weights.bias * np.nan)
    tagger.save(path, weights)
    tagger.load.cache_clear()
    with pytest.raises(InvalidInput, match="finite"):
        LinearTagger(weights=path)
