"""Embeddings of the frameworks as the embedder of a memory: texts are stored as documents and asked as queries."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from langchain_tidal import LangChainEmbedder
from llama_index_tidal import LlamaIndexEmbedder
from tidal_plugins import EmbedderMismatch, EmbeddingError, HashingEmbedder, TidalMemory
from tidal_plugins.protocols import Embedder


def asked(text: str) -> Any:
    """Return a vector that tells a question from a document, as E5 does."""
    return HashingEmbedder(64).embed([f"asked: {text}"])[0].tolist()


class OfLangChain(Embeddings):
    """Embeddings by spelling, which keep the batches that they got, and fail while they are told to."""

    fails = False

    def __init__(self, model: str | None = "spelling-1") -> None:
        self.model = model
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise RuntimeError("no quota")
        self.batches.append(list(texts))
        return HashingEmbedder(64).embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        if self.fails:
            raise RuntimeError("no quota")
        return asked(text)


class OfLlamaIndex(BaseEmbedding):
    fails: bool = False
    _batches: list[list[str]] = PrivateAttr(default_factory=list)

    def __init__(self, model: str | None = "spelling-1") -> None:
        super().__init__(embed_batch_size=256, **({"model_name": model} if model else {}))

    @property
    def batches(self) -> list[list[str]]:
        return self._batches

    @classmethod
    def class_name(cls) -> str:
        return "OfLlamaIndex"

    def _get_text_embeddings(self, texts: list[str]) -> Any:
        if self.fails:
            raise RuntimeError("no quota")
        self._batches.append(list(texts))
        return HashingEmbedder(64).embed(texts).tolist()

    def _get_text_embedding(self, text: str) -> Any:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> Any:
        return asked(query)

    async def _aget_query_embedding(self, query: str) -> Any:
        raise NotImplementedError


BOTH = pytest.mark.parametrize(
    ("make", "model", "name"),
    [
        (LangChainEmbedder, OfLangChain, "langchain/OfLangChain/spelling-1"),
        (LlamaIndexEmbedder, OfLlamaIndex, "llama-index/OfLlamaIndex/spelling-1"),
    ],
)


@BOTH
def test_it_is_an_embedder_of_the_core_that_tells_questions_and_batches_what_it_is_given(make, model, name):
    embedder = make(embeddings := model())
    assert embeddings.batches == [], "nothing is asked of the model until it is needed"
    threads = [threading.Thread(target=lambda: embedder.dimensions) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(embeddings.batches) <= 1, "and dimensions once"
    assert isinstance(embedder, Embedder)
    assert (embedder.id, embedder.dimensions) == (name, 64)
    embeddings.batches.clear()
    texts = [f"text {number}" for number in range(600)]
    assert np.array_equal(embedder.embed(texts), HashingEmbedder(64).embed(texts))
    assert [len(batch) for batch in embeddings.batches] == [256, 256, 88]
    assert np.array_equal(embedder.embed_queries(["a"]), HashingEmbedder(64).embed(["asked: a"]))
    assert embedder.embed([]).shape[0] == 0


@BOTH
def test_a_memory_works_with_it_and_refuses_another_model_and_one_that_fails(tmp_path, make, model, name):
    with TidalMemory(tmp_path / "a.db", embedder=make(embeddings := model())) as memory:
        memory.remember("The ferry to the island leaves at noon.")
        assert memory.recall("When does the ferry leave?")[0].text.startswith("The ferry")
        assert "When does the ferry leave?" not in str(embeddings.batches)
        embeddings.fails = True
        with pytest.raises(EmbeddingError, match="no quota"):
            memory.remember("The ferry leaves at one.")
    with TidalMemory(tmp_path / "a.db", embedder=make(model("spelling-2"))) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("ferry")


def test_a_model_without_a_name_is_known_by_its_vectors(tmp_path):
    assert LlamaIndexEmbedder(OfLlamaIndex(None)).id is None
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(OfLlamaIndex(None))) as memory:
        memory.remember("One.")
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(OfLlamaIndex(None))) as memory:
        assert memory.recall("One.")
    other = LlamaIndexEmbedder(MockEmbedding(embed_dim=64))
    with TidalMemory(tmp_path / "a.db", embedder=other) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("One.")
