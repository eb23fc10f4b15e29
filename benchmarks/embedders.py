"""The embedders that benchmarks can be run with, and their option."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tidal_plugins import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder
from tidal_plugins.protocols import SentenceEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins import Embedder

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
        import numpy as np

        start = time.perf_counter()
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, np.asarray(self._inner.embed(new), np.float32), strict=True))
            if len(new) == len(texts) == 1:
                self.single.append(1000 * (time.perf_counter() - start))
        rows = np.stack([self._known[text] for text in texts]) if texts else np.empty((0, self.dimensions), np.float32)
        self.seconds += time.perf_counter() - start
        return rows
