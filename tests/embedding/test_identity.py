"""Which embedder wrote a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tidal_plugins.embedding.hashing import HashingEmbedder
from tidal_plugins.embedding.identity import StoreEmbedder, identity
from tidal_plugins.errors import EmbedderMismatch, EmbedderUnavailable, EmbeddingError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Document


class Store:
    """The part of a store that keeps the identity."""

    def __init__(self) -> None:
        self.documents: dict[tuple[Scope, str, str], Document] = {}
        self.writes = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    def read_document(self, scope: Scope, collection: str, key: str) -> Document | None:
        return self.documents.get((scope, collection, key))

    def write_document(self, scope: Scope, collection: str, key: str, value: Any) -> int:
        self.documents[scope, collection, key] = Document(key, value, 1)
        self.writes += 1
        return 1


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


@pytest.fixture
def store() -> Store:
    return Store()


def test_an_embedder_with_an_id_is_known_by_it(store: Store) -> None:
    StoreEmbedder(HashingEmbedder(32), store).claim()
    assert identity(store) == {"id": "hashing-v1-32", "dimensions": 32}


def test_an_embedder_without_an_id_is_known_by_class_size_and_a_probe(store: Store) -> None:
    StoreEmbedder(Plain(), store).claim()
    found = identity(store)
    assert found["id"].endswith(".Plain")
    assert found["dimensions"] == len(found["probe"]) == 64
    assert all(isinstance(value, int) and -127 <= value <= 127 for value in found["probe"])


@pytest.mark.parametrize(("noise", "same"), [(0.0, True), (0.1, True), (1.0, False)])
def test_the_probe_tells_models_apart_and_forgives_rounding(store: Store, noise: float, same: bool) -> None:
    StoreEmbedder(Plain(), store).claim()
    other = StoreEmbedder(Plain(noise), store)
    if same:
        other.claim()
        other.embed(["hello"])
    else:
        with pytest.raises(EmbedderMismatch):
            other.embed(["hello"])
        with pytest.raises(EmbedderMismatch):
            other.claim()
    assert store.writes == 1


@pytest.mark.parametrize(("writer", "reader"), [(HashingEmbedder(64), Plain()), (Plain(), HashingEmbedder(64))])
def test_an_id_and_a_probe_are_not_the_same(store: Store, writer: Any, reader: Any) -> None:
    StoreEmbedder(writer, store).claim()
    with pytest.raises(EmbedderMismatch):
        StoreEmbedder(reader, store).embed(["hello"])


def test_reading_claims_nothing_and_the_check_is_made_once(store: Store) -> None:
    plain = Plain()
    bound = StoreEmbedder(plain, store)
    bound.embed(["hello"])
    assert store.writes == 0
    bound.claim()
    calls = plain.calls
    for _ in range(3):
        bound.claim()
        bound.embed(["hello"])
    assert (plain.calls, store.writes) == (calls + 3, 1)


def test_vectors_come_back_normalised_and_in_order(store: Store) -> None:
    class Lists:
        id, dimensions = "lists", 2

        def embed(self, texts: Sequence[str]) -> list[list[int]]:
            return [[3, 4], [0, -2]]

    rows = StoreEmbedder(Lists(), store).embed(["a", "b"])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, -1.0]]))


def test_no_texts_are_no_call(store: Store) -> None:
    plain = Plain()
    assert StoreEmbedder(plain, store).embed([]).shape == (0, 64)
    assert plain.calls == 0


def test_an_error_of_the_library_passes_and_any_other_is_named(store: Store) -> None:
    class Broken(Plain):
        def __init__(self, error: Exception) -> None:
            self.error = error

        def embed(self, texts: Sequence[str]) -> Any:
            raise self.error

    with pytest.raises(EmbedderUnavailable, match="no weights"):
        StoreEmbedder(Broken(EmbedderUnavailable("no weights here")), store).embed(["a"])
    with pytest.raises(EmbeddingError, match=r"Broken\.embed .*TimeoutError: too slow") as caught:
        StoreEmbedder(Broken(TimeoutError("too slow")), store).embed(["a"])
    assert isinstance(caught.value.__cause__, TimeoutError)
    with pytest.raises(KeyboardInterrupt):
        StoreEmbedder(Broken(KeyboardInterrupt()), store).embed(["a"])  # type: ignore[arg-type]
