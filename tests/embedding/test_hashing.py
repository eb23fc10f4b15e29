import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tidal_plugins import Embedder, HashingEmbedder, InvalidInput

TEXTS = ["The harbour lights are green tonight", "Zwölf Boxkämpfer jagen", "東京で働いています", "ok"]
DIGEST = "b032b90c6dacc03f"


def digest(vectors):
    return hashlib.sha256(vectors.astype("<f4").tobytes()).hexdigest()[:16]


def test_it_is_an_embedder_with_an_id_for_each_size():
    embedder = HashingEmbedder(64)
    assert isinstance(embedder, Embedder)
    assert embedder.dimensions == 64
    assert embedder.id != HashingEmbedder(65).id
    assert embedder.id == HashingEmbedder(64).id


def test_rows_are_float32_of_length_one():
    vectors = HashingEmbedder().embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_no_texts_give_no_rows():
    assert HashingEmbedder().embed([]).shape == (0, 256)


def test_vectors_are_the_same_bits_as_ever():
    assert digest(HashingEmbedder().embed(TEXTS)) == DIGEST


def test_another_process_gives_the_same_bits():
    code = f"from tidal_plugins.embedding import HashingEmbedder as H; print(H().embed({TEXTS!r}).tobytes().hex())"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "7", "PYTHONPATH": "."}, capture_output=True, check=True
    )
    assert bytes.fromhex(run.stdout.decode()) == HashingEmbedder().embed(TEXTS).tobytes()


def test_similar_texts_are_nearer_than_others():
    one, variant, case, other = HashingEmbedder().embed(
        ["She repairs old bicycles", "She repaired an old bicycle", "SHE REPAIRS OLD BICYCLES!", "Rain fell on Monday"]
    )
    assert one @ variant > 0.4 > 0.25 > one @ other
    assert one @ case == pytest.approx(1)


def test_unspaced_scripts_share_parts():
    one, part, other = HashingEmbedder().embed(["彼は東京都に住んでいます", "東京都に住んで", "猫が好きです"])
    assert one @ part > one @ other + 0.2


@pytest.mark.parametrize("dimensions", [1, 2, 3, 256])
@pytest.mark.parametrize("text", ["", " ", "!?", "\0", "🙂", "\ud800", "a", "a b", "a b c d"])
def test_every_text_has_a_unit_vector(text, dimensions):
    (vector,) = HashingEmbedder(dimensions).embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_threads_get_the_right_vectors():
    embedder = HashingEmbedder()
    texts = [f"word{index} and word{index * 7}" for index in range(200)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], texts * 3))
    np.testing.assert_array_equal(rows, embedder.embed(texts * 3))


def test_no_dimensions_are_refused():
    with pytest.raises(InvalidInput, match="at least 1"):
        HashingEmbedder(0)
