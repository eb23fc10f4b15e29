import os
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.embedding.models import ID, PACKAGED, TEXTS
from tidal_plugins import EmbeddingError, HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder
from tidal_plugins.embedding import weights


@pytest.fixture(scope="module")
def embedder():
    return SentenceTransformerEmbedder(batch_size=16)


@pytest.fixture(scope="module")
def vectors(embedder):
    return embedder.embed(TEXTS)


@pytest.fixture(scope="module")
def tampered(tmp_path_factory):
    """A package whose weights differ from the official ones in one bit."""
    folder = tmp_path_factory.mktemp("site") / "tampered" / "model"
    shutil.copytree(PACKAGED, folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    return folder


def fill(cache, folder):
    """Put a model's files where the hub's client keeps its downloads."""
    repository = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / "c0ffee").symlink_to(folder)


@pytest.mark.slow
def test_rows_are_those_of_the_library(vectors):
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(PACKAGED), device="cpu", local_files_only=True)
    expected = library.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


@pytest.mark.slow
def test_weights_from_the_cache_of_the_hub_are_the_same_model(offline, vectors):
    fill(offline, PACKAGED)
    embedder = SentenceTransformerEmbedder()
    np.testing.assert_allclose(embedder.embed(TEXTS[:3]), vectors[:3], atol=1e-6)
    assert embedder.id == ID


def test_a_copied_folder_is_the_same_model_and_other_weights_are_another(tampered):
    assert SentenceTransformerEmbedder(PACKAGED).id == ID
    identity = SentenceTransformerEmbedder(tampered).id
    assert identity != ID
    assert identity == SentenceTransformerEmbedder(str(tampered)).id


def test_tampered_weights_are_passed_over_in_a_package_and_refused_from_the_hub(offline, monkeypatch, tampered, caplog):
    monkeypatch.syspath_prepend(tampered.parent.parent)
    monkeypatch.setattr(weights, "PACKAGE", "tampered")
    with pytest.raises(EmbeddingError):
        OnnxEmbedder(precision="fp32").load()
    assert "not the official ones" in caplog.text
    fill(offline, tampered)
    with pytest.raises(EmbeddingError, match="not the official ones"):
        weights.find(weights.DEFAULT_MODEL)
    (offline / "models--sentence-transformers--all-MiniLM-L6-v2").rename(offline / "refused")
    fill(offline, PACKAGED)
    assert weights.find(weights.DEFAULT_MODEL).folder.is_relative_to(offline)


def test_a_missing_library_makes_it_unavailable_before_weights_are_looked_for(offline, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbeddingError, match=r"cannot be imported.*pip install 'tidal-plugins\[sentence-tr"):
        SentenceTransformerEmbedder().embed(["anything"])


@pytest.fixture
def stub(monkeypatch):
    """PyTorch and the library, as far as they are used, without their weight: what was asked of them."""
    told = SimpleNamespace(threads=[4], bars=[], options=None)

    class Library:
        def __init__(self, folder, **options):
            told.options = options
            if "broken" in folder:
                raise OSError("no such file")

        def encode(self, texts, **options):
            assert told.threads[-1] == 2
            assert options["normalize_embeddings"]
            return HashingEmbedder(384).embed([text.encode().decode() for text in texts])

    bars = SimpleNamespace(
        is_progress_bar_enabled=lambda: True,
        disable_progress_bar=lambda: told.bars.append("off"),
        enable_progress_bar=lambda: told.bars.append("on"),
    )
    torch = SimpleNamespace(get_num_threads=lambda: told.threads[-1], set_num_threads=told.threads.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers.utils", SimpleNamespace(logging=bars))
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(utils=sys.modules["transformers.utils"]))
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Library))
    return told


def test_the_library_loads_what_arrived_and_its_threads_and_bars_are_put_back(stub, offline, tmp_path):
    embedder = SentenceTransformerEmbedder(threads=2, batch_size=2)
    with pytest.raises(EmbeddingError, match="the hub and its cache gave no files"):
        embedder.load()
    fill(offline, PACKAGED)
    texts = ["now", "and", "then"]
    np.testing.assert_array_equal(embedder.embed(texts), HashingEmbedder(384).embed(texts))
    assert stub.options == {"device": "cpu", "local_files_only": True, "model_kwargs": {"use_safetensors": True}}
    assert stub.threads == [4, 1, 4, 2, 4, 2, 4]
    assert stub.bars == ["off", "on"]
    with pytest.raises(EmbeddingError, match="valid Unicode"):
        embedder.embed(["lone \ud800 surrogate"])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(EmbeddingError, match=r"loading .* failed"):
        SentenceTransformerEmbedder(tmp_path / "broken").load()
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EmbeddingError, match="pickled"):
        SentenceTransformerEmbedder(tmp_path / "pickled").load()
    assert SentenceTransformerEmbedder(PACKAGED, threads=2).dimensions == 384
