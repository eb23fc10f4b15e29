"""Route A: a reranker's order wins, in time; else the ranking stands."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.waiting import PATIENCE, eventually
from tidal_plugins import ComponentError, CrossEncoderReranker, InvalidInput, Note, Settings, TidalMemory
from tidal_plugins.protocols import Reranker

NOTES = ["jazz piano", "jazz piano lessons on Monday", "a piano for sale", "jazz in the park", "tomato soup"]


class Longest:
    """The longer the text, the better; remembers what it read."""

    def __init__(self) -> None:
        self.read: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read.append((query, list(texts)))
        return [10.0 * len(text) - 300 for text in texts]


class Answering:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def rerank(self, query: str, texts: Sequence[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of two layers with random weights, as one would download it."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("cross-encoder")
    words = sorted({word for note in NOTES for word in note.lower().split()})
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]), "utf-8")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=5 + len(words), num_labels=1, max_position_embeddings=64, **size)
    model = BertForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=2.0)
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def fill(memory: TidalMemory) -> TidalMemory:
    memory.remember([Note(text) for text in NOTES])
    return memory


def test_its_order_wins_and_the_hits_say_so(open_memory: OpenMemory) -> None:
    longest = Longest()
    memory = fill(open_memory(reranker=longest))
    found = memory.recall("jazz piano")
    assert [hit.text for hit in found] == sorted((hit.text for hit in found), key=len, reverse=True)
    [(query, texts)] = longest.read
    assert (query, set(texts)) == ("jazz piano", {hit.text for hit in found})
    assert [hit.why.factors for hit in found] == [{"reranker": 10.0 * len(hit.text) - 300} for hit in found]
    assert (found[0].score, found[-1].score) == (1.0, 0.0), "any scale becomes [0, 1]"
    assert found[0].why.cosine > 0, "what the channels say stays told"
    assert found.degraded == ()
    assert "reranker" in found.explain()


def test_it_reads_the_best_of_the_ranking_and_the_limit_cuts_after_it(open_memory: OpenMemory) -> None:
    longest = Longest()
    memory = fill(open_memory(reranker=longest, settings=Settings(tuning={"rerank.depth": 3})))
    plain = fill(open_memory("plain.db")).recall("jazz piano")
    found = memory.recall("jazz piano", limit=1)
    assert set(longest.read[0][1]) == {hit.text for hit in plain[:3]}
    assert found[0].text == max((hit.text for hit in plain[:3]), key=len)
    assert {item.stage for item in found.dropped} == {"trim"}
    assert len(found) + len(found.dropped) == len(plain)
    memory.recall("jazz piano", limit=4)
    assert len(longest.read[1][1]) == 4, "the limit, where that is more"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RuntimeError("no jazz"), "RuntimeError"),
        (lambda texts: [1.0], "one finite score per text"),
        (lambda texts: [math.nan] * len(texts), "one finite score per text"),
        (lambda texts: ["good"] * len(texts), "ValueError"),
        (lambda texts: None, "TypeError"),
        (lambda texts: itertools.repeat(1.0), "one finite score per text"),
        (lambda texts: [1e308, -1e308, *range(len(texts) - 2)], "one finite score per text"),
        (lambda texts: texts.clear() or [], "one finite score per text"),
    ],
)
def test_one_that_fails_leaves_the_ranking_and_is_reported(
    open_memory: OpenMemory, answer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    plain = fill(open_memory()).recall("jazz piano")
    found = open_memory(reranker=Answering(answer)).recall("jazz piano")
    assert found.hits == plain.hits
    assert found.degraded == ("reranker",)
    assert "degraded: reranker" in found.explain()
    assert said in caplog.text
    assert "jazz" not in caplog.text


def test_one_that_is_not_done_in_time_leaves_the_ranking(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    plain, asked_for = fill(open_memory()).recall("jazz piano"), threading.Event()
    slow = Answering(lambda texts: [float(asked_for.wait(PATIENCE))] * len(texts))
    memory = open_memory(reranker=slow, settings=Settings(tuning={"rerank.seconds": 0.05}))
    found = memory.recall("jazz piano")
    asked_for.set()
    assert (found.hits, found.degraded) == (plain.hits, ("reranker",))
    assert "did not answer within 0.05 s" in caplog.text


def test_one_that_hangs_is_not_called_for_ever(open_memory: OpenMemory, caplog: pytest.LogCaptureFixture) -> None:
    answer, calls = threading.Event(), []

    class Hanging:
        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            calls.append(query)
            answer.wait(PATIENCE)
            return [1.0] * len(texts)

    memory = fill(open_memory(reranker=Hanging(), settings=Settings(tuning={"rerank.seconds": 0.02})))
    assert {memory.recall("jazz piano").degraded for _ in range(12)} == {("reranker",)}
    assert eventually(lambda: len(calls) == 4)
    assert "still under way" in caplog.text
    answer.set()
    assert eventually(lambda: not memory.recall("jazz piano").degraded), "once it answers again"


def test_a_whisper_is_reranked_once_something_clears_the_bar(open_memory: OpenMemory) -> None:
    longest = Longest()
    memory = fill(open_memory(reranker=longest, settings=Settings(whisper={"threshold": 1.0})))
    assert not memory.whisper("how is the jazz piano?")
    assert longest.read == [], "a silent whisper costs no model"
    open_ = open_memory(reranker=longest, settings=Settings(whisper={"threshold": 0.0}))
    whisper = open_.whisper("how is the jazz piano?")
    assert whisper.hits[0].text == max(NOTES, key=len)


def test_the_store_can_be_written_while_it_reads(open_memory: OpenMemory) -> None:
    class Writing:
        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            memory.forget(memory.remember("something new").id)
            return [1.0] * len(texts)

    memory = fill(open_memory(reranker=Writing()))
    assert memory.recall("jazz piano").degraded == ()


# the cross-encoder


@pytest.mark.slow
def test_a_saved_cross_encoder_gives_the_order(folder: Path, open_memory: OpenMemory) -> None:
    from sentence_transformers import CrossEncoder

    reranker = CrossEncoderReranker(folder, batch_size=2)
    assert isinstance(reranker, Reranker)
    scores = reranker.rerank("jazz piano", NOTES)
    expected = CrossEncoder(str(folder), device="cpu", local_files_only=True).predict(
        [("jazz piano", n) for n in NOTES]
    )
    assert scores == pytest.approx([float(score) for score in expected], abs=1e-5)
    assert len(set(scores)) == len(NOTES)
    memory = fill(open_memory(reranker=reranker))
    found = memory.recall("jazz piano")
    by_score = sorted(zip(scores, NOTES, strict=True), reverse=True)
    assert [hit.text for hit in found] == [note for _, note in by_score]
    assert found[0].why.factors["reranker"] == pytest.approx(by_score[0][0], abs=1e-5)
    assert found.degraded == ()


@pytest.mark.slow
def test_what_cannot_be_loaded_says_why(tmp_path: Path, open_memory: OpenMemory, monkeypatch: Any) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "empty").mkdir()
    for model in (tmp_path / "nowhere", tmp_path / "empty", str(tmp_path / "empty")):
        reranker = CrossEncoderReranker(model)
        with pytest.raises(ComponentError, match="cannot be loaded"):
            reranker.load()
    memory = fill(open_memory(reranker=reranker))
    assert memory.recall("jazz piano").degraded == ("reranker",)


@pytest.mark.slow
def test_a_model_of_several_labels_is_no_reranker(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3, ignore_mismatched_sizes=True)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    with pytest.raises(ComponentError, match="one number per text"):
        CrossEncoderReranker(tmp_path).rerank("jazz", NOTES)


def test_its_arguments_are_checked() -> None:
    for name in ("batch_size", "threads", "max_length"):
        with pytest.raises(InvalidInput, match="at least 1"):
            CrossEncoderReranker("a/model", **{name: 0})
    for model in ("", None, 3, b"a/model"):
        with pytest.raises(InvalidInput, match="the path of a folder"):
            CrossEncoderReranker(model)


def test_signals_still_count(open_memory: OpenMemory) -> None:
    memory = fill(open_memory(reranker=Longest()))
    last = memory.recall("jazz piano")[-1]
    with memory.sessions.open(user="42") as session:
        session.signal("reward", last.id)
        hit = next(hit for hit in memory.recall("jazz piano", session=session) if hit.id == last.id)
        assert hit.score == pytest.approx(0.1)  # 0.2 · 1 / (1 + 1)
        assert set(hit.why.factors) == {"reranker", "session reward"}
