"""A model in ONNX with its tokenizer: the files that it is made of, and one run over a few texts."""

from __future__ import annotations

import json
import mmap
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MINILM = Path(__file__).with_name("minilm")
"""all-MiniLM-L6-v2, as ``make export-minilm`` writes it."""

MAX_TOKENS = 256
"""Tokens that all-MiniLM-L6-v2 reads of a text, as its authors set."""

LONGEST = 512
"""Tokens of a text for a folder that does not say how many: the most that BERT and its kin can place."""

LOCATION = "./" + "/" * 68 + "model.safetensors"
"""File of the weights in ``fp32.onnx``. Slashes leave room for the name that the hub's cache gives to the file."""

LOCATION_FOLDER = "session.model_external_initializers_file_folder_path"


class Files(NamedTuple):
    """What a model is made of. ``weights`` is the file with those that a graph refers to at :data:`LOCATION`."""

    name: str
    graph: Path
    tokenizer: Path
    max_tokens: int
    pooling: str = "mean"
    weights: Path | None = None


def exported(folder: Path) -> Files:
    """Find the files of an exported sentence-transformers model in a folder.

    Raises ``OSError`` if the folder or a file is missing, and ``ValueError`` for settings that cannot be followed.
    """
    if not folder.is_dir():
        raise FileNotFoundError("there is no such folder; names on the hub are for SentenceTransformerEmbedder")
    graphs = [path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()]
    if not graphs or not (folder / "tokenizer.json").is_file():
        raise FileNotFoundError("the folder needs model.onnx or onnx/model.onnx, and tokenizer.json")
    max_tokens = _settings(folder / "sentence_bert_config.json").get("max_seq_length") or LONGEST
    if not isinstance(max_tokens, int) or max_tokens < 1:
        raise ValueError(
            f"sentence_bert_config.json asks for {shown(max_tokens)} tokens; a number of 1 or more is supported"
        )
    pooling = _pooling(_settings(folder / "1_Pooling" / "config.json"))
    if pooling not in ("mean", "cls"):
        raise ValueError(f"1_Pooling/config.json asks for pooling by {shown(pooling)}; mean and cls are supported")
    return Files(folder.resolve().name, graphs[0], folder / "tokenizer.json", max_tokens, pooling)


class OnnxModel:
    """A loaded model. It may be run from several threads at once, in the process that loaded it."""

    def __init__(self, files: Files, threads: int) -> None:
        self.process = os.getpid()
        self._pooling = files.pooling
        self._tokenizer = tokenizer(files.tokenizer, files.max_tokens)
        # Such a graph takes the range of an activation over the whole batch: texts would change each other's vectors.
        self.takes_one_text = _holds(files.graph, b"DynamicQuantize")
        if files.weights:
            self._session = session(*linked(files.graph.read_bytes(), files.weights), threads=threads)
        else:
            self._session = session(str(files.graph), threads=threads)
        self._inputs = {given.name for given in self._session.get_inputs()}
        names = [made.name for made in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in names else names[0]

    def run(self, texts: Sequence[str], output: str | None = None) -> NDArray[np.float32]:
        """Return one row of length 1 for each text: of the embedding, or of another output of the graph."""
        import numpy as np

        tokens = [self._tokenizer.encode(text).ids for text in texts]  # encode_batch would start threads of its own
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(tokens):
            ids[row, : len(own)], mask[row, : len(own)] = own, 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [rows] = self._session.run([output or self._output], {name: feed[name] for name in self._inputs})
        return self._unit(np.asarray(rows, np.float32), mask)

    def _unit(self, rows: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        if rows.ndim == 3:
            rows = rows[:, 0] if self._pooling == "cls" else np.einsum("btd,bt->bd", rows, mask.astype(np.float32))
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)


def tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Load a tokenizer that cuts texts off and leaves padding to the caller."""
    from tokenizers import Tokenizer

    made: Tokenizer = Tokenizer.from_file(str(path))
    made.no_padding()
    made.enable_truncation(max_tokens)
    return made


def linked(graph: bytes, weights: Path) -> tuple[bytes, Path]:
    """Return a graph that finds its weights in the given file, and the folder that onnxruntime has to be told of."""
    weights = weights.resolve()  # it follows no link out of that folder, and the hub's cache is made of links
    location = "./" + weights.name.rjust(len(LOCATION) - 2, "/")
    if len(location) > len(LOCATION):
        raise ValueError(f"the name of {weights} is too long")
    return graph.replace(LOCATION.encode(), location.encode()), weights.parent


def session(graph: str | bytes, weights: Path | None = None, *, threads: int) -> InferenceSession:
    """Load a graph, from its path or its bytes, with weights from the folder ``weights`` where it refers to some."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors, which are raised as well: no warnings on the application's terminal
    options.enable_cpu_mem_arena = False  # a long text would keep its memory for good, and no query gets slower
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the processor is the application's
    if not _multiplies_bytes():
        options.add_session_config_entry("session.x64quantprecision", "1")  # slower, and without overflow
    if weights is not None:
        options.add_session_config_entry(LOCATION_FOLDER, str(weights))
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _holds(path: Path, part: bytes) -> bool:
    """Return whether a file has some bytes in it, without a copy of all of them."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return held.find(part) >= 0


def _multiplies_bytes() -> bool:
    """Return whether the processor adds up products of 8 bits in 32. Those that do it in 16 overflow."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as about:  # noqa: PTH123 (it has no size)
            return "vnni" in about.read(8_000)
    except OSError:  # another system than Linux
        return False


def _settings(path: Path) -> dict[str, Any]:
    settings = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if not isinstance(settings, dict):
        raise ValueError(f"{path} holds no JSON object")
    return settings


def _pooling(settings: dict[str, Any]) -> str:
    """Return the way of pooling, from either form of the settings."""
    flags = [name.removeprefix("pooling_mode_") for name, on in settings.items() if name[:13] == "pooling_mode_" and on]
    named = settings.get("pooling_mode") or "+".join(flags) or "mean"
    return {"mean_tokens": "mean", "cls_token": "cls"}.get(str(named), str(named))
