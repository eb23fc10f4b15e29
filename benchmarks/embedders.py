"""The embedders that benchmarks can be run with, and their option."""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidal_plugins import Exchange, HashingEmbedder, Message, OnnxEmbedder, SentenceTransformerEmbedder
from tidal_plugins.english.words import STOP_WORDS
from tidal_plugins.protocols import Embedder, SentenceEncoder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "int8": OnnxEmbedder,
    "fp32": lambda: OnnxEmbedder(precision="fp32"),
    "sentence-transformers": lambda: SentenceTransformerEmbedder(batch_size=64),
    "hashing": HashingEmbedder,
}


def add_embedder(parser: argparse.ArgumentParser) -> None:
    """Add the option that names an embedder."""
    told = "int8: the default; fp32 and sentence-transformers: the original vectors; hashing: a smoke test"
    parser.add_argument("--embedder", choices=tuple(EMBEDDERS), default="int8", help=told)


class CachedEmbedder:
    """Embeds each text once, and measures the time: ``seconds`` in total, ``single`` by single text in milliseconds."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: dict[str, NDArray[np.float32]] = {}
        self.id: str = getattr(inner, "id")  # noqa: B009 (it is no part of the protocol, and all of these have it)
        self.reads: tuple[str, ...] = getattr(inner, "reads", ())
        self.dimensions = inner.dimensions
        if isinstance(inner, SentenceEncoder):
            self.forms = inner.forms  # so that sentences are read as with the embedder itself
        self.seconds = 0.0
        self.single: list[float] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        start = time.perf_counter()
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, np.asarray(self._inner.embed(new), np.float32), strict=True))
            if len(new) == len(texts) == 1:
                self.single.append(1000 * (time.perf_counter() - start))
        rows = np.stack([self._known[text] for text in texts]) if texts else np.empty((0, self.dimensions), np.float32)
        self.seconds += time.perf_counter() - start
        return rows


# FROM synthetic: Texts, questions and vectors for benchmarks of any size: drawn by chance, and the same on every run.


DATA = Path(__file__).parent / "data"
DIMENSIONS = 384
SEED = 20
START = datetime(2025, 1, 1, tzinfo=UTC)
QUERY_WORDS, TURN_WORDS = 12, 21
SESSION = 20
"""Number of exchanges in a session."""
NEIGHBOURS, TOWARDS, JITTER = 16, 0.5, 0.65
"""How a text's vector is drawn around that of a sentence: one of that many neighbours, up to that share of the way to
it, and noise of that length. Two texts of one sentence have a cosine of about .6, as a turn of LoCoMo has with the one
that is nearest to it (median .67)."""
POOL = 8191
"""Number of vectors of noise. Each text has the sum of two."""
SHIFTS = (33, 21, 37, 13, 27)
"""Bits of a text's hash that choose its sentence, the neighbour, the way to it, and both vectors of noise."""


def conversation(words: Words, entries: int) -> Iterator[Exchange]:
    """Yield exchanges of a user and an assistant that make that many entries."""
    for number in range((entries + 1) // 2):
        at = START + timedelta(minutes=30 * number)
        messages = (Message("user", words.turn()), Message("assistant", words.turn()))
        yield Exchange(messages, f"session-{number // SESSION}", f"turn-{number}", at)


class Words:
    """Generates sentences of English words: half of them stop words, the others by a law like Zipf's.

    A query shares a word with about an eighth of all turns, as measured on real dialogue.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        lexicon = files("vaderSentiment").joinpath("vader_lexicon.txt").read_text("utf-8").splitlines()
        self._rare = sorted({word for line in lexicon if (word := line.split("\t")[0]).isalpha()} - STOP_WORDS)
        Random(SEED).shuffle(self._rare)
        self._weights = [1 / (rank + 15) for rank in range(len(self._rare))]
        self._common = sorted(STOP_WORDS)

    def turn(self) -> str:
        return self._sentence(max(3, round(self._random.lognormvariate(0, 0.6) * TURN_WORDS * 0.83)))

    def query(self) -> str:
        return self._sentence(QUERY_WORDS) + "?"

    def _sentence(self, length: int) -> str:
        rare = self._random.choices(self._rare, self._weights, k=length)
        return " ".join(word if self._random.random() < 0.5 else self._random.choice(self._common) for word in rare)


class InstantEmbedder:
    """Embeds each text by chance near one of the vectors ``around``, those of real sentences (:func:`centres`).

    It has the id of the default model, so that feelings are read off its vectors, as they are by default.
    """

    id, reads = OnnxEmbedder().id, OnnxEmbedder().reads
    dimensions = DIMENSIONS

    def __init__(self, around: NDArray[np.float32]) -> None:
        self._around = around
        self._near = np.argsort(-around @ around.T, axis=1)[:, 1 : NEIGHBOURS + 1]
        self._noise = _unit(np.random.default_rng(SEED).standard_normal((POOL, DIMENSIONS)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        marks = np.asarray([zlib.crc32(text.encode()) for text in texts], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        sentence, neighbour, way, one, other = ((marks >> np.uint64(shift)).astype(np.int64) for shift in SHIFTS)
        sentence %= len(self._around)
        start = self._around[sentence]
        towards = self._around[self._near[sentence, neighbour % NEIGHBOURS]] - start
        noise = self._noise[one % POOL] + self._noise[other % POOL]
        return _unit(start + (TOWARDS * (way % 1000) / 1000)[:, None] * towards + JITTER / 2**0.5 * noise)


def centres() -> NDArray[np.float32]:
    """Return the vectors of the sentences in ``benchmarks/data``, by the default model."""
    texts = [text for name in ("chats.json", "domains.json") for text in _texts(json.loads((DATA / name).read_text()))]
    return OnnxEmbedder().embed(list(dict.fromkeys(texts)))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of turns in a tree of JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
