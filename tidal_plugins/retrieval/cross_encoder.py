"""The reranker that comes along: a sentence-transformers cross-encoder on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.embedding.threads import TURN_SECONDS, lock, no_progress_bars, torch_threads
from tidal_plugins.embedding.weights import hub_folder
from tidal_plugins.errors import InvalidInput, RerankError
from tidal_plugins.retrieval.rerank import still_wanted
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_int

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class CrossEncoderReranker:
    """Scores query and text together with a cross-encoder, which is slower and more accurate than comparing vectors.

    ``model`` is the path of a folder or a full name on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``; its
    weights are safetensors. Nothing is imported or read before the first use. ``load`` does so ahead, so that the first
    recall can spend all of its time limit on reading. ``batch_size`` is the number of texts that go through the model
    at once; a call whose caller no longer waits ends after its batch. ``max_length`` is the number of tokens of query
    and text together (default: the model's). ``threads`` is the number of torch threads. An instance may be used from
    several threads, which take turns with each other and with the embedder.

    Methods that need the model raise ``RerankError`` if it cannot be loaded, and try again at the next use.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str = "cpu",
        threads: int = 1,
        batch_size: int = 16,
        max_length: int | None = None,
    ) -> None:
        for name, number in {"threads": threads, "batch_size": batch_size, "max_length": max_length}.items():
            if number is not None:
                check_int(number, name, 1)
        if not isinstance(model, str | Path) or not str(model):
            raise InvalidInput(f"a model is the path of a folder or a name on the hub, got {shown(model)}")
        self._name = model
        self._device = device
        self._threads = threads
        self._batch_size = batch_size
        self._max_length = max_length
        self._model: CrossEncoder | None = None

    def load(self) -> None:
        """Load the model now (seconds) rather than on first use; does nothing if it is loaded."""
        self._loaded()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text, as the model gives them: with one label mostly from 0 to 1."""
        scores = [0.0] * len(texts)
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # little padding in each batch
        for start in range(0, len(texts), self._batch_size):
            if start:
                time.sleep(TURN_SECONDS)
            batch = by_length[start : start + self._batch_size]
            for index, score in zip(batch, self._score(query, [texts[index] for index in batch]), strict=True):
                scores[index] = score
        return scores

    def _score(self, query: str, texts: list[str]) -> list[float]:
        model = self._loaded()
        with lock:
            still_wanted()
            try:
                with torch_threads(self._threads):
                    rows = model.predict(
                        [(query, text) for text in texts], batch_size=len(texts), show_progress_bar=False
                    )
                return [float(row) for row in rows]
            except Exception as error:
                raise RerankError(
                    f"{self._name} could not score: {type(error).__name__}: {error}. A reranker gives one number per "
                    "text: a cross-encoder with one label."
                ) from error

    def _loaded(self) -> CrossEncoder:
        if self._model is None:
            folder = _folder(self._name)  # without the lock: the embedder must not wait for the hub
            with lock:
                if self._model is None:
                    self._model = _load(self._name, folder, self._device, self._max_length)
        return self._model

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({str(self._name)!r})"


def _folder(name: str | Path) -> Path:
    """Return the folder of a model: the one that it names, or that of the hub's files."""
    folder = Path(name)
    if folder.is_dir():
        return folder
    if isinstance(name, Path):  # or the hub would be asked for it
        raise _unavailable(name, "there is no such folder")
    try:
        return hub_folder(name)
    except Exception as error:  # the hub's client raises its own, its HTTP library's and the system's errors
        raise _unavailable(name, f"the hub and its cache gave no files ({type(error).__name__}: {error})") from error


def _load(name: str | Path, folder: Path, device: str, max_length: int | None) -> CrossEncoder:
    try:
        from sentence_transformers import CrossEncoder
    except (ImportError, OSError) as error:  # OSError: a shared library of torch is missing
        reason = f"pip install 'tidal-plugins[sentence-transformers]', for it cannot be imported ({error})"
        raise _unavailable(name, reason) from error
    try:
        with torch_threads(1), no_progress_bars():
            model: CrossEncoder = CrossEncoder(
                str(folder),
                device=device,
                max_length=max_length,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
            return model
    except Exception as error:  # whatever a damaged folder or an unknown device leads to
        raise _unavailable(name, f"{type(error).__name__}: {error}") from error


def _unavailable(name: str | Path, reason: str) -> RerankError:
    return RerankError(
        f"The reranker {shown(name)} cannot be loaded: {reason}. Ways out: give the path of its folder; or download it "
        "once, with access to the hub; or use a reranker of your own, any object with rerank(query, texts)."
    )
