"""Reranking: a reranker reads query and candidates together, and its order wins [Anamnesis].

The one that comes along is a sentence-transformers cross-encoder on this machine.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tidal_plugins.aio import in_time
from tidal_plugins.embedding.threads import TURN_SECONDS, lock, no_progress_bars, torch_threads
from tidal_plugins.embedding.weights import hub_folder
from tidal_plugins.errors import ComponentError, InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.boost import GAINS
from tidal_plugins.retrieval.candidates import Candidates, Rows, total
from tidal_plugins.scoring.ranking import stretched
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_int

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

RERANKER = "reranker"
"""The name of the reranker's score among a hit's factors, and of the reranker among what is degraded."""

MAX_LATE = 4
"""Calls of one reranker that run past their time. At so many it is not called again until one of them ends."""

logger = logging.getLogger(__name__)

_running: dict[object, tuple[tuple[int, int], float]] = {}
"""The calls under way: the process and the reranker that each belongs to, and when its time is over."""

_end: ContextVar[float] = ContextVar("end", default=math.inf)


def reranked(
    reranker: Reranker, query: str, texts: Mapping[int, str], found: Candidates, seconds: float
) -> Candidates | None:
    """Return candidates with those that have texts, by their places, in the reranker's order.

    ``None`` if it fails or does not answer in time, which is logged.
    """
    try:
        scores = _scores(reranker, query, list(texts.values()), seconds)
    except TimeoutError:
        logger.warning("the reranker did not answer within %g s; the ranking stays without it", seconds)
    except Exception as error:
        pass_interrupt(error)
        reason = error if isinstance(error, ComponentError) else type(error).__name__  # others may tell what was read
        logger.warning("the reranker failed, and the ranking stays without it: %s", reason)
        logger.debug("the reranker failed", exc_info=True)
    else:
        return in_order(found, np.array(list(texts)), scores)
    return None


def in_order(found: Candidates, read: Rows, scores: Sequence[float]) -> Candidates:
    """Return candidates with those that were ``read`` first, in the order of a reranker's scores. Equal scores keep the
    order of the ranking so far.

    Scores are stretched from any scale to [0, 1], so that the additions of signals count as much as without a reranker.
    """
    shares = np.array(stretched(scores))
    given = np.full(len(found), np.nan)
    given[read] = scores
    parts = {name: part.copy() for name, part in found.parts.items()}
    for name in parts.keys() - GAINS:
        parts[name][read] = np.nan
    gains = {name: part[read] for name, part in parts.items() if name in GAINS}
    relevance, score = found.relevance.copy(), found.score.copy()
    relevance[read], score[read] = shares, shares + total(gains, len(read))
    order = read[np.argsort(-score[read], kind="stable")]
    others = np.setdiff1d(np.arange(len(found)), read)
    judged = replace(found, score=score, relevance=relevance, parts={RERANKER: given, **parts})
    return judged.take(np.concatenate([order, others]))


def still_wanted() -> None:
    """Raise ``TimeoutError`` if the time that recall gave this reranker is over, and nobody waits for it."""
    if time.monotonic() > _end.get():
        raise TimeoutError("the time for reranking is over")


def _scores(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float]:
    call, owner, end = object(), (os.getpid(), id(reranker)), time.monotonic() + seconds
    late = sum(1 for other, until in list(_running.values()) if other == owner and until < time.monotonic())
    if late >= MAX_LATE:
        raise ComponentError(f"{late} calls that nobody waits for any more are still under way")

    def ask() -> list[float]:
        _running[call] = owner, end
        try:
            answer = reranker.rerank(query, list(texts))
            return [float(score) for score in islice(answer, len(texts) + 1)]  # here, since it may be a generator
        finally:
            del _running[call]

    before = _end.set(end)
    try:
        scores = in_time(ask, seconds)
    finally:
        _end.reset(before)
    if len(scores) != len(texts) or not all(map(math.isfinite, (*scores, max(scores) - min(scores)))):
        raise ComponentError(f"a reranker gives one finite score per text: {len(texts)} texts gave {scores[:5]} …")
    return scores


class CrossEncoderReranker:
    """Scores query and text together with a cross-encoder, which is slower and more accurate than comparing vectors.

    ``model`` is the path of a folder or a full name on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``; its
    weights are safetensors. Nothing is imported or read before the first use. ``load`` does so ahead, so that the first
    recall can spend all of its time limit on reading. ``batch_size`` is the number of texts that go through the model
    at once; a call whose caller no longer waits ends after its batch. ``max_length`` is the number of tokens of query
    and text together (default: the model's). ``threads`` is the number of torch threads. An instance may be used from
    several threads, which take turns with each other and with the embedder.

    Methods that need the model raise ``ComponentError`` if it cannot be loaded, and try again at the next use.
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
                pass_interrupt(error)
                raise ComponentError(
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
        pass_interrupt(error)
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
        pass_interrupt(error)
        raise _unavailable(name, f"{type(error).__name__}: {error}") from error


def _unavailable(name: str | Path, reason: str) -> ComponentError:
    return ComponentError(
        f"The reranker {shown(name)} cannot be loaded: {reason}. Ways out: give the path of its folder; or download it "
        "once, with access to the hub; or use a reranker of your own, any object with rerank(query, texts)."
    )
