"""Emotion read off vectors: with the weights that ship and the default embedder, and with weights made for a test."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sentences import sentences
from tidal_plugins import (
    Affect,
    EmbedderMismatch,
    EmbeddingEmotion,
    HashingEmbedder,
    InvalidInput,
    LexiconEmotion,
    OnnxEmbedder,
)
from tidal_plugins.affect.default import DefaultEmotion
from tidal_plugins.affect.embedding import LABELS, PRIMARY, SHIPPED, Probe, load, save
from tidal_plugins.embedding.identity import fingerprint
from tidal_plugins.protocols import Embedder

SENTENCES = sentences(__file__)

FELT = SENTENCES["felt"]
CALM = SENTENCES["calm"]
LIVELY = {"Where is my order": "WHERE IS MY ORDER", "That was good!": "That was good!!!", "I won.": "I won!"}


HATED = "I hate this, everything is ruined."
PRINTER = "The printer stands on the second floor, beside the window. " * 8


class Nameless:
    """An embedder without an ``id``, known by its vectors alone."""

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.embedded = inner, 0

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        return self.inner.embed(texts)


@pytest.fixture(scope="session")
def emotion(minilm: Embedder) -> EmbeddingEmotion:
    return EmbeddingEmotion(minilm)


def weights(path: Path, embedder: Embedder, label: str = "joy") -> Path:
    """Weights under which every text is as good as sure to have one label."""
    bias = np.where(np.array(LABELS) == label, 9.0, 0.0).astype(np.float32)
    nothing = np.zeros((embedder.dimensions, len(LABELS)), np.float32)
    save(path, Probe(nothing, bias, np.zeros(len(PRIMARY), np.float32), about(embedder)))
    return path


def about(embedder: Embedder) -> dict[str, Any]:
    return {"embedder": fingerprint(embedder), "labels": list(LABELS), "primary": list(PRIMARY)}


def test_what_people_feel_is_named_and_intense_and_calm_texts_are_calm(emotion: EmbeddingEmotion) -> None:
    for (text, name), affect in zip(FELT.items(), emotion.estimate(list(FELT)), strict=True):
        assert affect.emotions
        assert (affect.valence > 0) == (name in ("joy", "anticipation")), text
        assert affect.intensity > 0.5, text
        assert name in sorted(affect.emotions, key=affect.emotions.get)[-1 if affect.valence < 0 else -2 :], text
    for text, affect in zip(CALM, emotion.estimate(CALM), strict=True):
        assert affect.intensity < 0.3, text
        assert max((affect.emotions or {}).values(), default=0) < 0.3, text
    for text, lively in LIVELY.items():
        before, after = emotion.estimate([text, lively])
        assert after.arousal > before.arousal, text


def test_words_and_vector_speak_together(tmp_path: Path) -> None:
    embedder = HashingEmbedder(8)
    said = [
        "The shelf is in the hall.",
        "The shelf is awful.",
        "The shelf is not awful.",
        "Awful, awful. " + "A. " * 90,
    ]
    plain, awful, denied, long = (
        affect.valence
        for affect in EmbeddingEmotion(embedder, weights(tmp_path / "n.npz", embedder, "neutral")).estimate(said)
    )
    assert plain == pytest.approx(0, abs=0.005)
    assert -0.3 < awful < -0.1  # WORDS, of what a word says alone
    assert denied > 0
    assert awful < long < 0


def test_blank_texts_and_rows_of_zeros_are_neutral(emotion: EmbeddingEmotion, minilm: Embedder) -> None:
    vectors = minilm.embed(["I hate it", "I hate it"])
    vectors[1] = 0
    hated, unknown = emotion.estimate(["I hate it", "I hate it"], vectors)
    assert hated.valence < -0.4
    assert unknown == Affect()
    assert emotion.estimate(["", " \n"]) == [Affect(), Affect()]
    assert emotion.estimate([]) == []


def test_labels_are_probabilities(emotion: EmbeddingEmotion) -> None:
    [found] = emotion.labels(["Thank you so much for your help"])
    assert tuple(found) == LABELS
    assert sum(found.values()) == pytest.approx(1, abs=1e-3)
    assert max(found, key=found.get) == "gratitude"
    assert emotion.labels([]) == []


@pytest.mark.parametrize("shape", [(1, 384), (384,), (2, 100), (3, 384)])
def test_vectors_of_another_shape_are_refused(emotion: EmbeddingEmotion, shape: tuple[int, ...]) -> None:
    for read in (emotion.estimate, emotion.labels):
        with pytest.raises(InvalidInput, match=r"expected \(2, 384\)"):
            read(["I hate it", "I love it"], np.ones(shape, np.float32))


def test_numbers_are_those_of_the_mapping(tmp_path: Path) -> None:
    embedder = HashingEmbedder(8)
    [affect] = EmbeddingEmotion(embedder, weights(tmp_path / "joy.npz", embedder)).estimate(["a text"])
    sure = np.exp(9) / (np.exp(9) + 27)
    assert affect.emotions["joy"] == pytest.approx(sure, abs=0.005)
    assert affect.valence == pytest.approx(0.7 * 0.6 * 0.9, abs=0.005)  # CHEER · PLEASANT · the place of joy
    assert affect.arousal == pytest.approx(0.8 * 0.6, abs=0.005)  # LIVELY · the place of joy


# which embedder they are for


def test_weights_are_for_one_embedder_known_by_its_id_and_dimensions_or_by_its_vectors(minilm: Embedder) -> None:
    named = type("Named", (), {"id": minilm.id, "dimensions": 256, "embed": HashingEmbedder(256).embed})()
    for other in (HashingEmbedder(), HashingEmbedder(384), Nameless(HashingEmbedder(384)), named):
        with pytest.raises(EmbedderMismatch, match="LexiconEmotion"):
            EmbeddingEmotion(other)
        assert DefaultEmotion(lambda other=other: other).estimate([HATED]) == LexiconEmotion().estimate([HATED])
    assert EmbeddingEmotion(Nameless(minilm)).estimate([HATED])[0].valence < 0


# the file


def test_the_shipped_weights_are_small_data_with_attribution(minilm: OnnxEmbedder) -> None:
    assert SHIPPED.stat().st_size < 200_000
    with zipfile.ZipFile(SHIPPED) as file:
        assert {name.removesuffix(".npy") for name in file.namelist()} == {"weight", "bias", "rest", "about"}
    about = load().about
    assert about["embedder"]["id"] in minilm.reads
    assert about["labels"] == list(LABELS)
    assert "GoEmotions" in about["attribution"]
    assert "Apache-2.0" in about["attribution"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"about": {}},
        {"about": [1]},
        {"about": 7},
        {"embedder": None},
        {"embedder": {}},
        {"labels": [*LABELS[1:], LABELS[0]]},
        {"primary": list(PRIMARY[::-1])},
        {"weight": np.zeros((9, 28))},
        {"weight": np.full((8, 28), np.nan)},
        {"bias": np.zeros(5)},
        {"rest": np.ones(8)},
    ],
    ids=str,
)
def test_numbers_that_stand_for_something_else_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    told = about(HashingEmbedder(8)) | {name: wrong[name] for name in wrong.keys() & {"embedder", "labels", "primary"}}
    parts = {"weight": np.zeros((8, 28)), "bias": np.zeros(28), "rest": np.zeros(8)} | wrong
    parts = {name: parts[name] for name in ("weight", "bias", "rest")}
    np.savez(tmp_path / "bad.npz", **parts, about=np.array(json.dumps(wrong.get("about", told)).encode()))
    with pytest.raises(InvalidInput, match="make fit-emotion"):
        EmbeddingEmotion(HashingEmbedder(8), tmp_path / "bad.npz")


def test_a_damaged_file_is_refused_as_one_whatever_the_damage_and_what_holds_no_weights_is_never_run(
    tmp_path: Path,
) -> None:
    whole, chance, path = SHIPPED.read_bytes(), random.Random(9), tmp_path / "bad.npz"
    ends = [*range(300), *range(len(whole) - 400, len(whole))]  # headers and directory: elsewhere a checksum tells
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in chance.sample(ends, 3):
            damaged[place] ^= chance.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            load(path)
        except InvalidInput:
            refused += 1
    assert refused > 45, "any other error would have ended this; a few bytes say nothing"
    parts = {"bias": np.zeros(1), "rest": np.zeros(1)}
    odd = {"weight": np.array([{}], dtype=object), "about": json.dumps({})}, {"weight": np.zeros((1, 1)), "about": 7}
    for other in ({"something": np.zeros(3)}, *({**parts, **each} for each in odd)):
        np.savez(path, **{name: np.array(value) for name, value in other.items()})
        with pytest.raises(InvalidInput, match="make fit-emotion"):
            EmbeddingEmotion(HashingEmbedder(), path)
    for content in (None, "joy"):
        path.unlink(missing_ok=True)
        if content:
            path.write_text(content)
        with pytest.raises(InvalidInput, match="make fit-emotion"):
            EmbeddingEmotion(HashingEmbedder(), path)


# through a memory


class Unasked:
    """Stands for an embedder that a memory has used, and counts its texts."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.texts = inner, []
        self.id, self.dimensions = inner.id, inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return self.inner.embed(texts)


def test_a_memory_reads_feelings_off_the_vectors_it_makes_anyway(open_memory: Any, minilm: Embedder) -> None:
    embedder, silent = Unasked(minilm), Unasked(minilm)
    felt, unfelt = open_memory(embedder=embedder), open_memory("other.db", embedder=silent, emotion=None)
    for memory in (felt, unfelt):
        memory.record("I am furious, I hate this printer, it makes me so angry! " * 3, PRINTER)
        memory.whisper("What is wrong with the printer, damn it?")
    assert embedder.texts == silent.texts
    assert felt.affect.state().valence < -0.05
    assert unfelt.affect.state() == Affect()


def test_emotions_go_through_storage_state_and_recall(open_memory: Any, clock: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    id_ = memory.record("I am so angry about the printer, I hate it, I hate it!!!", PRINTER).entries[0]
    entry, state = memory.get(id_), memory.affect.state()
    assert max(entry.affect.emotions, key=entry.affect.emotions.get) == "anger"
    assert (entry.affect.valence, entry.affect.arousal) == (state.valence, state.arousal), "the mood after it"
    assert 0 < state.emotions["anger"] < entry.affect.emotions["anger"], "the state moved part of the way"
    clock.advance(hours=6)
    assert memory.affect.state().emotions["anger"] == pytest.approx(state.emotions["anger"] / 2)
    recall = memory.recall("What about the printer?", affect=Affect(-0.8, 0.9, {"anger": 0.7}))
    hit = next(hit for hit in recall if hit.id == id_)
    assert hit.why.factors["emotion"] > 0.07
    assert "(anger ." in str(hit.why)
    assert recall.explain().startswith("felt: anger .70 (valence -0.80, arousal 0.90)\n1. ")


def test_a_long_text_feels_as_its_passages_do_on_average(open_memory: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    calm = "The job started at nine and wrote two files to the archive. " * 40
    mixed, plain = (
        memory.get(memory.record(text, "Noted.").entries[0]).affect.emotions or {}
        for text in (calm + "I am furious that it destroyed everything! " * 40, calm)
    )
    assert mixed.get("anger", 0) > plain.get("anger", 0)


def test_a_memory_refuses_a_reader_of_other_vectors_than_its_own(
    open_memory: Any, tmp_path: Path, minilm: Embedder
) -> None:
    emotion = EmbeddingEmotion(minilm)
    with pytest.raises(EmbedderMismatch, match="HashingEmbedder"):
        open_memory("other.db", embedder=HashingEmbedder(384), emotion=emotion)
    assert not (tmp_path / "other.db").exists()
    open_memory("same.db", embedder=minilm, emotion=emotion)
