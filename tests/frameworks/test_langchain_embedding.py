"""Embeddings of LangChain as the embedder of a memory: texts are stored as documents and asked as queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langchain_tidal import LangChainEmbedder
from tidal_plugins import EmbedderMismatch, EmbeddingError, HashingEmbedder, TidalMemory
from tidal_plugins.protocols import Embedder


class Spelling(Embeddings):
    """Embeddings by spelling that tell a question from a document, as E5 does; it keeps what it was given."""

    def __init__(self, model: str = "spelling-1") -> None:
        self.model = model
        self.documents: list[list[str]] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents.append(texts)
        return HashingEmbedder(64).embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return HashingEmbedder(64).embed([text])[0].tolist()


def test_documents_and_queries_go_their_ways(tmp_path: Path) -> None:
    model = Spelling()
    with TidalMemory(tmp_path / "a.db", embedder=LangChainEmbedder(model)) as memory:
        memory.remember("The ferry to the island leaves at noon.")
        [hit] = memory.recall("When does the ferry leave?")
    assert hit.text.startswith("The ferry")
    assert "When does the ferry leave?" in model.queries
    assert "When does the ferry leave?" not in [text for batch in model.documents for text in batch]
    assert any("ferry to the island" in text for batch in model.documents for text in batch)


def test_it_is_an_embedder_of_the_core_and_batches_what_it_is_given() -> None:
    model = Spelling()
    embedder = LangChainEmbedder(model)
    assert isinstance(embedder, Embedder)
    assert (embedder.id, embedder.dimensions) == ("langchain/Spelling/spelling-1", 64)
    texts = [f"text {number}" for number in range(600)]
    assert np.array_equal(embedder.embed(texts), HashingEmbedder(64).embed(texts))
    assert [len(batch) for batch in model.documents] == [256, 256, 88]
    assert embedder.embed([]).shape[0] == 0


def test_another_model_is_refused_and_a_failing_one_named(tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "a.db", embedder=LangChainEmbedder(Spelling())) as memory:
        memory.remember("The ferry leaves at noon.")
    with (
        TidalMemory(tmp_path / "a.db", embedder=LangChainEmbedder(Spelling("spelling-2"))) as memory,
        pytest.raises(EmbedderMismatch),
    ):
        memory.recall("ferry")

    class Away(Spelling):
        def embed_query(self, text: str) -> list[float]:
            raise ConnectionError("away")

    with pytest.raises(EmbeddingError, match="away"):
        _ = LangChainEmbedder(Away()).dimensions
