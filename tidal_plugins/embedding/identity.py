"""Identity of an embedder: vectors of two embedders must never meet, in a search or in weights that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from tidal_plugins.errors import BadEmbedding, EmbedderMismatch, EmbeddingError, TidalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.model.entry import Scope
    from tidal_plugins.protocols import Embedder

_PLACE = (), "meta", "embedder"
"""Scope, collection and key of the identity: it is of the whole store."""
PROBE = "The quick brown fox jumps over the lazy dog."
SAME = 0.98
"""Cosine of two probe vectors from which they count as the same model: quantised weights give .99."""


class Documents(Protocol):
    """The part of a store that keeps the identity."""

    def transaction(self) -> AbstractContextManager[None]: ...
    def read_document(self, scope: Scope, collection: str, key: str) -> Any: ...
    def write_document(self, scope: Scope, collection: str, key: str, value: Any) -> int: ...


def identity(store: Documents) -> Any:
    """Return which embedder a store was written with, or ``None``."""
    document = store.read_document(*_PLACE)
    return document and document.value


class StoreEmbedder:
    """An embedder bound to a store: its output is checked, and so is that the store was written with it."""

    def __init__(self, embedder: Embedder, store: Documents) -> None:
        self.embedder = embedder
        self._store = store
        self._verified = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text, shape ``(len(texts), dimensions)``.

        Raises ``EmbedderMismatch`` if the store holds another embedder's vectors, ``BadEmbedding`` if the embedder
        returns vectors that cannot be stored, and ``EmbeddingError`` if it fails.
        """
        if texts:
            self.verify()
        return _embed(self.embedder, texts)

    def verify(self) -> None:
        """Raise ``EmbedderMismatch`` where the store holds another embedder's vectors."""
        if not self._verified and (stored := identity(self._store)) is not None:
            self._compare(stored)
            self._verified = True

    def claim(self) -> None:
        """Make this embedder the store's, or raise ``EmbedderMismatch``. Call it before the first write."""
        if not self._verified:
            own = self._identity()
            with self._store.transaction():
                stored = identity(self._store)
                if stored is None:
                    self._store.write_document(*_PLACE, own)
            if stored is not None:
                self._compare(stored)
            self._verified = True

    def _identity(self) -> dict[str, Any]:
        own = getattr(self.embedder, "id", None)
        identity: dict[str, Any] = {"id": own or _name(self.embedder), "dimensions": _dimensions(self.embedder)}
        if not own:
            identity["probe"] = _probe(self.embedder)
        return identity

    def _compare(self, stored: dict[str, Any]) -> None:
        current = {"id": getattr(self.embedder, "id", None) or _name(self.embedder)}
        same = stored["id"] == current["id"] and stored["dimensions"] == _dimensions(self.embedder)
        if same and "probe" in stored:
            same = _cosine(stored["probe"], _probe(self.embedder)) >= SAME
        if not same:
            raise EmbedderMismatch(
                f"this store was written with {stored['id']} ({stored['dimensions']} dimensions) and cannot be read "
                f"with {current['id']} ({self.embedder.dimensions}); open it with the embedder that wrote it, "
                "or start a new file"
            )


def fingerprint(embedder: Embedder) -> dict[str, Any]:
    """Return the identity of an embedder: its id, its dimensions, and the quantised vector of a probe text."""
    identity = getattr(embedder, "id", None) or _name(embedder)
    return {"id": identity, "dimensions": embedder.dimensions, "probe": _probe(embedder)}


def fits(embedder: Embedder, known: Mapping[str, Any]) -> bool:
    """Return whether an embedder has that :func:`fingerprint`, by its id or, without one, by its vectors."""
    own = getattr(embedder, "id", None)
    if (own and own != known["id"]) or embedder.dimensions != known["dimensions"]:
        return False
    return bool(own) or _cosine(known["probe"], _probe(embedder)) >= SAME


def _embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    import numpy as np

    dimensions = _dimensions(embedder)
    if not texts:
        return np.empty((0, dimensions), np.float32)
    try:
        rows = np.asarray(embedder.embed(texts), dtype=np.float64)
    except TidalError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise EmbeddingError(f"{_name(embedder)}.embed did not return rows of numbers: {reason}") from error
    if rows.shape != (len(texts), dimensions):
        raise BadEmbedding(
            f"{_name(embedder)}.embed returned shape {rows.shape} for {len(texts)} texts; "
            f"expected {(len(texts), dimensions)}"
        )
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise BadEmbedding(f"{_name(embedder)}.embed returned a vector that is zero, NaN or infinite")
    return np.asarray(rows / lengths, dtype=np.float32)


def _dimensions(embedder: Embedder) -> int:
    try:
        return embedder.dimensions
    except TidalError:
        raise
    except Exception as error:
        raise EmbeddingError(f"{_name(embedder)}.dimensions failed: {type(error).__name__}: {error}") from error


def _probe(embedder: Embedder) -> list[int]:
    return [round(float(value) * 127) for value in _embed(embedder, [PROBE])[0]]


def _name(embedder: object) -> str:
    return f"{type(embedder).__module__}.{type(embedder).__qualname__}"


def _cosine(a: Sequence[int], b: Sequence[int]) -> float:
    import numpy as np

    x, y = np.asarray(a, float), np.asarray(b, float)
    return float(x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-9))
