"""Make the ONNX files of the default embedder from the original weights of all-MiniLM-L6-v2.

    python training/export_minilm.py [--weights FOLDER] [--out FOLDER]

``fp32.onnx`` is the computation alone: its weights stay in the original ``model.safetensors``, at the places that the
file gives. ``int8.onnx`` is complete. Matrices are 8-bit integers with a scale for each output, the table of words with
one for each word; onnxruntime brings the other side of a product to 8 bits while it runs. The same weights give the
same bytes. Needs the package onnx, and no PyTorch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from tidal_plugins.embedding.onnx import LOCATION, MAX_TOKENS, MINILM, file_crc32, linked, session, tokenizer
from tidal_plugins.embedding.weights import DEFAULT_MODEL, DEFAULT_SHA256, file_sha256, find

LAYERS, HEADS, WIDTH = 6, 12, 384
MIDDLE = 3
"""The layer whose mean over tokens is the second output. It says more of a sentence's form, such as tense and mood,
than the last one, which says what a text is about: tags are read off it better (average precision on stories that
nothing was fitted on .49 instead of .42)."""
OPSET, CONTRIB, IR_VERSION = 20, "com.microsoft", 9
INT8 = 127

OUTLIER = 3
"""Channels whose largest value exceeds this many times the median channel's are scaled down, since one scale has to
serve all channels of an activation. Without: cosine to the original .992 in the mean instead of .997."""

CALIBRATION = Path(__file__).resolve().parents[1] / "benchmarks" / "data"
"""Texts of the project's own, which show which channels these are."""

NOTICE = """\
This folder holds {name}, an embedding model by the sentence-transformers authors, after
nreimers/MiniLM-L6-H384-uncased, which derives from microsoft/MiniLM-L12-H384-uncased.
https://huggingface.co/{name}

Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0

Changed by the tidal-plugins authors: training/export_minilm.py wrote it anew as ONNX, and brought the weights in
int8.onnx to 8 bits. fp32.onnx holds no weights. tokenizer.json is the original.

SHA-256
model.safetensors (original)  {source}
"""

Linear = Callable[["Graph", str, str, str], str]
"""The graph, an input, the name of a layer and one for its output: adds ``input @ weight.T + bias``."""


class Tensor(NamedTuple):
    """Values of a tensor, and where they are in its file."""

    values: NDArray[np.float32]
    offset: int


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--weights", type=Path, metavar="FOLDER", help="default: those of the extra offline, or the hub"
    )
    parser.add_argument("--out", type=Path, default=MINILM, metavar="FOLDER")
    args = parser.parse_args(argv)
    source = find(args.weights or DEFAULT_MODEL)
    if source.sha256 != DEFAULT_SHA256:
        raise SystemExit(f"{source.folder} does not hold the original weights: SHA-256 {source.sha256}")
    export(source.folder, args.out)
    for path in sorted(args.out.iterdir()):
        print(f"{file_sha256(path)}  {file_crc32(path):08x}  {path.stat().st_size:>10,}  {path.name}")


def export(source: Path, out: Path) -> None:
    """Write all files of the folder ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "tokenizer.json", out / "tokenizer.json")
    weights = source / "model.safetensors"
    tensors = read(weights)
    fp32 = graph_fp32(tensors)
    (out / "fp32.onnx").write_bytes(fp32.SerializeToString(deterministic=True))
    factors = outliers(fp32, weights, source / "tokenizer.json")
    (out / "int8.onnx").write_bytes(graph_int8(tensors, factors).SerializeToString(deterministic=True))
    hashes = "".join(f"{name:<30}{file_sha256(out / name)}\n" for name in ("int8.onnx", "fp32.onnx", "tokenizer.json"))
    notice = NOTICE.format(name=DEFAULT_MODEL, source=DEFAULT_SHA256) + hashes
    (out / "NOTICE").write_text(notice, "utf-8", newline="\n")


def read(path: Path) -> dict[str, Tensor]:
    """Read the float32 tensors of a safetensors file: eight bytes of length, a header in JSON, the values."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, about in json.loads(data[8:start]).items():
        if about.get("dtype") == "F32":
            first, last = (start + offset for offset in about["data_offsets"])
            tensors[name] = Tensor(np.frombuffer(data[first:last], "<f4").reshape(about["shape"]), first)
    return tensors


# the computation


class Graph:
    """Nodes and tensors of a computation, added one by one. Each node bears the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, inputs: Sequence[str], name: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, domain=domain, **attributes))
        return name

    def constant(self, name: str, values: Any) -> str:
        self.tensors[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def model(self, inputs: Sequence[str]) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs]
        made = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["texts", WIDTH]) for name in ("embedding", "form")
        ]
        graph = helper.make_graph(self.nodes, "all-MiniLM-L6-v2", given, made, list(self.tensors.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tidal-plugins")


def bert(graph: Graph, words: str, linear: Linear, mask: str = "") -> tuple[str, str]:
    """Add the layers on top of the words' vectors; returns the names of the last one's and the middle one's output.

    ``mask``, shape ``(texts, tokens)``, int32, is 0 for padding.
    """
    length = graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    first, rows = graph.constant("first", [0]), graph.constant("rows", [0])
    places = graph.add("Slice", ["embeddings.position_embeddings.weight", first, length, rows], "places")
    kind = graph.add(
        "Slice", ["embeddings.token_type_embeddings.weight", first, graph.constant("one", [1]), rows], "kind"
    )
    graph.constant("last_axis", [-1])
    graph.constant("root_of_width", np.float32(WIDTH**0.5))
    x = normalised(graph, graph.add("Add", [words, graph.add("Add", [places, kind], "placed")], "told"), "embeddings")
    middle = x
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        sides = [linear(graph, x, f"{layer}.attention.self.{side}", side) for side in ("query", "key", "value")]
        inputs = [*sides, "", mask] if mask else sides
        mixed = graph.add("MultiHeadAttention", inputs, f"{layer}.mixed", CONTRIB, num_heads=HEADS)
        mixed = linear(graph, mixed, f"{layer}.attention.output.dense", "mixed")
        x = normalised(graph, graph.add("Add", [mixed, x], f"{layer}.attended"), f"{layer}.attention.output")
        wide = graph.add("Gelu", [linear(graph, x, f"{layer}.intermediate.dense", "wide")], f"{layer}.gelu")
        narrow = linear(graph, wide, f"{layer}.output.dense", "narrow")
        x = normalised(graph, graph.add("Add", [narrow, x], f"{layer}.summed"), f"{layer}.output")
        middle = x if number == MIDDLE - 1 else middle
    return x, middle


def normalised(graph: Graph, x: str, layer: str) -> str:
    """Add a layer normalisation in single steps, which onnxruntime computes twice as fast as the operator for it.

    A deviation divided by the root of the variance is a deviation divided by their length, times the root of the width.
    """
    mean = graph.add("ReduceMean", [x, "last_axis"], f"{layer}.mean")
    off = graph.add("Sub", [x, mean], f"{layer}.off")
    unit = graph.add("Div", [off, graph.add("ReduceL2", [off, "last_axis"], f"{layer}.size")], f"{layer}.unit")
    gain = graph.add("Mul", [f"{layer}.LayerNorm.weight", "root_of_width"], f"{layer}.gain")
    return graph.add(
        "Add", [graph.add("Mul", [unit, gain], f"{layer}.scaled"), f"{layer}.LayerNorm.bias"], f"{layer}.x"
    )


def pooled(graph: Graph, x: str, name: str) -> None:
    """Add the output ``name``: the direction of the mean over tokens, which is that of the sum."""
    total = graph.add("ReduceSum", [x, graph.constant("tokens_axis", [1])], f"{name}.sum", keepdims=0)
    graph.add("LpNormalization", [total], name, axis=-1, p=2)


# in full precision


def graph_fp32(tensors: Mapping[str, Tensor]) -> onnx.ModelProto:
    """Return the computation on the original weights, which it refers to."""
    graph = Graph()
    for name, tensor in tensors.items():
        if not name.startswith("pooler."):
            graph.tensors[name] = reference(name, tensor)
    words = graph.add("Gather", ["embeddings.word_embeddings.weight", "input_ids"], "words")
    outputs = bert(graph, words, linear_fp32, graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32))
    shares = graph.add("Cast", ["attention_mask"], "shares", to=TensorProto.FLOAT)
    column = graph.add("Unsqueeze", [shares, "last_axis"], "column")
    for x, name in zip(outputs, ("embedding", "form"), strict=True):
        pooled(graph, graph.add("Mul", [x, column], f"{name}.unpadded"), name)
    return graph.model(["input_ids", "attention_mask"])


def reference(name: str, tensor: Tensor) -> onnx.TensorProto:
    place = {"location": LOCATION, "offset": tensor.offset, "length": tensor.values.nbytes}
    made = TensorProto(
        name=name, dims=tensor.values.shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    for key, value in place.items():
        made.external_data.add(key=key, value=str(value))
    return made


def linear_fp32(graph: Graph, x: str, layer: str, name: str) -> str:
    product = graph.add("FusedMatMul", [x, f"{layer}.weight"], f"{layer}.product", CONTRIB, transB=1)
    return graph.add("Add", [product, f"{layer}.bias"], f"{layer}.{name}")


# in 8 bits


def graph_int8(tensors: Mapping[str, Tensor], factors: Mapping[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """Return the whole model for one text at a time: ranges of activations are those of all texts in a batch."""
    graph = Graph()
    for name, tensor in tensors.items():
        if "LayerNorm" in name or "position_embeddings" in name or "token_type" in name:
            graph.constant(name, tensor.values)

    def linear(graph: Graph, x: str, layer: str, name: str) -> str:
        weight = tensors[f"{layer}.weight"].values
        if layer in factors:
            x = graph.add("Mul", [x, graph.constant(f"{layer}.shrink", 1 / factors[layer])], f"{layer}.shrunk")
            weight = weight * factors[layer]
        rows, scales = quantised(weight)
        inputs = [
            x,
            graph.constant(f"{layer}.weight", rows.T),
            graph.constant(f"{layer}.scales", scales.ravel()),
            graph.constant(f"{layer}.zeros", np.zeros(len(scales), np.int8)),
            graph.constant(f"{layer}.bias", tensors[f"{layer}.bias"].values),
        ]
        return graph.add("DynamicQuantizeMatMul", inputs, f"{layer}.{name}", CONTRIB)

    rows, scales = quantised(tensors["embeddings.word_embeddings.weight"].values)
    found = graph.add("Gather", [graph.constant("words.rows", rows), "input_ids"], "words.found")
    scale = graph.add("Gather", [graph.constant("words.scales", scales), "input_ids"], "words.scale")
    words = graph.add("Mul", [graph.add("Cast", [found], "words.float", to=TensorProto.FLOAT), scale], "words")
    for x, name in zip(bert(graph, words, linear), ("embedding", "form"), strict=True):
        pooled(graph, x, name)
    return graph.model(["input_ids"])


def quantised(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows as integers from -127 to 127, and the scale of each, shape ``(rows, 1)``."""
    scales = np.abs(rows).max(axis=1, keepdims=True) / np.float32(INT8)
    return np.round(rows / scales).astype(np.int8), scales


def outliers(model: onnx.ModelProto, weights: Path, tokens: Path) -> dict[str, NDArray[np.float32]]:
    """Return for the inputs of some layers by how much each channel is scaled down, in powers of two."""
    layers = [f"encoder.layer.{number}" for number in range(LAYERS)]
    inputs = {f"{layer}.intermediate.dense": f"{layer}.attention.output.x" for layer in layers}
    inputs |= {f"{layer}.output.dense": f"{layer}.gelu" for layer in layers}
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for name in inputs.values():
        shown.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    run = session(*linked(shown.SerializeToString(), weights), threads=1)
    encoder = tokenizer(tokens, MAX_TOKENS)
    most = dict.fromkeys(inputs, np.float32(0))
    for text in calibration_texts():
        ids = np.array([encoder.encode(text).ids])
        values = run.run(list(inputs.values()), {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for layer, value in zip(inputs, values, strict=True):
            most[layer] = np.maximum(most[layer], np.abs(value).max(axis=(0, 1)))
    return {layer: factor(channels) for layer, channels in most.items()}


def factor(channels: Any) -> NDArray[np.float32]:
    excess = channels / (OUTLIER * np.median(channels))
    return np.asarray(np.exp2(np.round(np.log2(np.maximum(1, excess)))), np.float32)


def calibration_texts() -> list[str]:
    """Return all phrases in the project's own data, in a fixed order."""

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | dict):
            for item in value.values() if isinstance(value, dict) else value:
                yield from strings(item)

    files = sorted(CALIBRATION.glob("*.json"))
    found = {text for file in files for text in strings(json.loads(file.read_text("utf-8")))}
    return sorted(text for text in found if " " in text)


if __name__ == "__main__":
    main()
