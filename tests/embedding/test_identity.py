"""Which embedder wrote a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import OpenMemory
from tidal_plugins import EmbedderMismatch, EmbeddingError, HashingEmbedder
from tidal_plugins.embedding.identity import embed


class Plain:
    """An embedder without an id, somewhat off where ``noise`` says so."""

    dimensions = 64

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        rows = HashingEmbedder(64).embed(texts)
        return rows + self.noise * np.random.default_rng(0).standard_normal(rows.shape) / 8


class Broken(Plain):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def embed(self, texts: Sequence[str]) -> Any:
        raise self.error


def test_an_embedder_with_an_id_is_known_by_it(open_memory: OpenMemory) -> None:
    open_memory(embedder=HashingEmbedder(32)).remember("hello")
    assert open_memory(embedder=HashingEmbedder(32)).recall("hello")
    with pytest.raises(EmbedderMismatch, match="hashing-v1-32"):
        open_memory(embedder=HashingEmbedder(64)).recall("hello")


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_probe_of_an_embedder_without_an_id_forgives_rounding(open_memory: OpenMemory, noise: float) -> None:
    open_memory(embedder=Plain()).remember("hello")
    assert open_memory(embedder=Plain(noise)).recall("hello")


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(Plain(), Plain(noise=1.0)), (HashingEmbedder(64), Plain()), (Plain(), HashingEmbedder(64))],
    ids=["another model", "an id and a probe", "a probe and an id"],
)
def test_another_embedder_neither_reads_nor_writes(open_memory: OpenMemory, writer: Any, reader: Any) -> None:
    open_memory(embedder=writer).remember("hello")
    other = open_memory(embedder=reader)
    with pytest.raises(EmbedderMismatch):
        other.recall("hello")
    with pytest.raises(EmbedderMismatch):
        other.remember("hello again")


def test_an_error_of_the_library_passes_and_any_other_is_named(open_memory: OpenMemory) -> None:
    with pytest.raises(EmbeddingError, match="no weights"):
        open_memory(embedder=Broken(EmbeddingError("no weights here"))).remember("a")
    with pytest.raises(EmbeddingError, match=r"Broken\.embed .*TimeoutError: too slow") as caught:
        open_memory(embedder=Broken(TimeoutError("too slow"))).remember("a")
    assert isinstance(caught.value.__cause__, TimeoutError)
    with pytest.raises(KeyboardInterrupt):
        open_memory(embedder=Broken(KeyboardInterrupt())).remember("a")


def test_equal_texts_are_embedded_once() -> None:
    class Listening(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            given.append(texts)
            return super().embed(texts)

    given: list[Sequence[str]] = []
    said = ["the kettle whistles", "yes", "the kettle whistles", "a new dog", "yes"]
    np.testing.assert_array_equal(embed(Listening(64), said), HashingEmbedder(64).embed(said))
    assert given == [["the kettle whistles", "yes", "a new dog"]]
