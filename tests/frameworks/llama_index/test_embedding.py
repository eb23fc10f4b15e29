import threading

import numpy as np
import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from llama_index_tidal import LlamaIndexEmbedder
from tidal_plugins import EmbedderMismatch, EmbeddingError, HashingEmbedder, TidalMemory
from tidal_plugins.protocols import Embedder


class Spelling(BaseEmbedding):
    """A LlamaIndex embedding by spelling, which keeps the batches that it got."""

    dimensions: int = 64
    _batches: list[list[str]] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls):
        return "Spelling"

    def _get_text_embeddings(self, texts):
        self._batches.append(list(texts))
        return HashingEmbedder(self.dimensions).embed(texts).tolist()

    def _get_text_embedding(self, text):
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query):
        return HashingEmbedder(self.dimensions).embed([f"asked: {query}"])[0].tolist()

    async def _aget_query_embedding(self, query):
        raise NotImplementedError


def test_it_is_an_embedder_of_the_core():
    embedder = LlamaIndexEmbedder(Spelling(model_name="spelling-1"))
    assert isinstance(embedder, Embedder)
    assert embedder.id == "llama-index/Spelling/spelling-1"
    assert embedder.dimensions == 64
    assert np.array_equal(embedder.embed(["a", "b"]), HashingEmbedder(64).embed(["a", "b"]))
    assert np.array_equal(embedder.embed_queries(["a"]), HashingEmbedder(64).embed(["asked: a"]))
    assert embedder.embed([]).shape[0] == 0


def test_nothing_is_asked_of_the_model_until_it_is_needed_and_dimensions_once():
    model = Spelling(model_name="spelling-1")
    embedder = LlamaIndexEmbedder(model)
    assert model._batches == []
    threads = [threading.Thread(target=lambda: embedder.dimensions) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model._batches) == 1


def test_texts_go_in_batches():
    model = Spelling(model_name="spelling-1", embed_batch_size=4)
    assert LlamaIndexEmbedder(model).embed([f"text {n}" for n in range(10)]).shape == (10, 64)
    assert [len(batch) for batch in model._batches] == [4, 4, 2]


def test_a_memory_works_with_it(tmp_path):
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(Spelling(model_name="spelling-1"))) as memory:
        memory.remember("The jazz piano stands in the hall.")
        assert memory.recall("jazz piano")[0].text == "The jazz piano stands in the hall."


def test_another_model_is_refused_by_name(tmp_path):
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(Spelling(model_name="spelling-1"))) as memory:
        memory.remember("One.")
    other = LlamaIndexEmbedder(Spelling(model_name="spelling-2"))
    with TidalMemory(tmp_path / "a.db", embedder=other) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("One.")


def test_a_model_without_a_name_is_known_by_its_vectors(tmp_path):
    assert LlamaIndexEmbedder(Spelling()).id is None
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(Spelling())) as memory:
        memory.remember("One.")
    with TidalMemory(tmp_path / "a.db", embedder=LlamaIndexEmbedder(Spelling())) as memory:
        assert memory.recall("One.")
    other = LlamaIndexEmbedder(MockEmbedding(embed_dim=64))
    with TidalMemory(tmp_path / "a.db", embedder=other) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("One.")


def test_a_failing_model_is_an_embedding_error(tmp_path):
    class Broken(Spelling):
        def _get_text_embeddings(self, texts):
            raise RuntimeError("no quota")

    embedder = LlamaIndexEmbedder(Broken(model_name="broken"))
    with TidalMemory(tmp_path / "a.db", embedder=embedder) as memory, pytest.raises(EmbeddingError, match="no quota"):
        memory.remember("One.")
