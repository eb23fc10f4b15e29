"""Identity of an embedder: vectors of two embedders must never meet, in a search or in weights that read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tidal_plugins.embedding.scale import NOTES, QUESTIONS, Scale, distances, scale
from tidal_plugins.embedding.weights import DEFAULT_ID
from tidal_plugins.errors import EmbedderMismatch, EmbeddingError, TidalError
from tidal_plugins.interrupts import pass_interrupt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.model.entry import Scope
    from tidal_plugins.protocols import Embedder

EMBEDDER = "embedder"
"""Key of the identity among the values about the whole store."""
_PLACE = (), "meta", EMBEDDER
PROBE = "The quick brown fox jumps over the lazy dog."
SAME = 0.98
"""Cosine of two probe vectors from which they count as the same model: quantised weights give .99."""

USUAL_IDS = (DEFAULT_ID, "hashing-v1-")
"""How the ids of the embedders begin whose unrelated texts lie as far apart as the default one's, or nearly so."""

WAYS_OUT = (
    "open it with the embedder that wrote it, give it the vectors of another one with memory.reembed(embedder), "
    "or start a new file"
)


class StoredDocument(Protocol):
    """A document of a store."""

    @property
    def value(self) -> Any: ...
    @property
    def version(self) -> int: ...


class Documents(Protocol):
    """The part of a store that keeps the identity."""

    def transaction(self) -> AbstractContextManager[None]: ...
    def documents(self, scope: Scope, collection: str, keys: Collection[str]) -> Sequence[StoredDocument]: ...
    def write_documents(self, scope: Scope, collection: str, values: Mapping[str, Any]) -> Mapping[str, int]: ...


class QueryVector(NamedTuple):
    """The vector of a query, with the embedder that made it and the scale of its cosines with the store's vectors."""

    vector: NDArray[np.float32]
    embedder: Embedder
    scale: Scale


class _Choice(NamedTuple):
    """The embedders for the vectors that a store holds.

    ``reader`` embeds queries, and ``own`` says whether the store's vectors are its own. ``version`` is that of the
    store's identity, 0 for a store without one; ``given`` are the embedders to choose from. ``scale`` is that of the
    vectors.
    """

    reader: Embedder
    own: bool
    stored: Mapping[str, Any] | None
    version: int
    given: Sequence[Embedder]
    scale: Scale = Scale()


class StoreEmbedder:
    """The embedders of an open store. The identity of the store's vectors decides which of them is used.

    There is one, and for a renewal of all vectors a second one. Their output is checked.
    """

    def __init__(self, embedder: Embedder, store: Documents) -> None:
        self._store = store
        self._given: Sequence[Embedder] = (embedder,)
        self._last = _Choice(embedder, True, None, -1, self._given)

    @property
    def embedder(self) -> Embedder:
        """Return the embedder that was last used for queries."""
        return self._last.reader

    def admit(self, embedder: Embedder) -> None:
        """Let an embedder be used, too, as soon as the store holds its vectors."""
        with suppress(EmbedderMismatch):
            self.reader()
        self._given = (embedder, self.embedder)

    def embed_queries(self, texts: Sequence[str], *, checked: bool = True) -> list[QueryVector]:
        """Return a unit vector for each text, to compare with those of the store.

        Unless it is ``checked`` that the store still holds the vectors of the embedder that was used last, the caller
        asks :meth:`current` in the snapshot in which it compares.

        Raises ``EmbedderMismatch`` if the store holds another embedder's vectors, and ``EmbeddingError`` if the
        embedder fails or returns vectors that cannot be used.
        """
        choice = self._choice() if checked or self._last.version < 0 else self._last
        return [QueryVector(row, choice.reader, choice.scale) for row in embed(choice.reader, texts, queries=True)]

    def current(self, vector: QueryVector, text: str) -> QueryVector:
        """Return a query's vector, made anew if the open snapshot sees a store that was re-embedded since."""
        choice = self._choice()
        if vector.embedder is not choice.reader:
            return self.embed_queries([text])[0]
        return vector if vector.scale == choice.scale else vector._replace(scale=choice.scale)

    def embed_passages(self, texts: Sequence[str], *, checked: bool = True) -> tuple[NDArray[np.float32], int]:
        """Return a unit row for each text, to be stored, and the :meth:`version` for which the rows are.

        Unless it is ``checked`` that the store still holds the vectors of the embedder that was used last, the caller
        compares the version in the transaction that stores the rows. A store without an identity gets that of this
        embedder. Raises the same as :meth:`embed_queries`.
        """
        last = self._last
        choice = self._choice() if checked or last.version <= 0 or last.given is not self._given else last
        writer, rows = (choice.reader, embed(choice.reader, texts)) if choice.own else _written(choice, texts)
        return rows, choice.version or self._claim(writer)  # only now that it has shown that it works

    def reader(self) -> Embedder:
        """Return the embedder for queries, as the open snapshot sees the store. Raises ``EmbedderMismatch``."""
        return self._choice().reader

    def version(self) -> int:
        """Return a number that changes with the identity of the store's vectors, as the open transaction sees it."""
        document = _document(self._store)
        return document.version if document else 0

    def _choice(self) -> _Choice:
        given, document, choice = self._given, _document(self._store), self._last
        stored, version = (document.value, document.version) if document else (None, 0)
        if (choice.version, choice.stored) != (version, stored) or choice.given is not given:
            choice = self._last = _chosen(given, stored, version)._replace(scale=scale(stored))
        return choice

    def _claim(self, embedder: Embedder) -> int:
        """Make an embedder the store's, and return the version; 0 if another one was quicker."""
        own = introduced(embedder)
        with self._store.transaction():
            if identity(self._store) is not None:
                return 0
            version = write_identity(self._store, own)
        self._last = _Choice(embedder, True, own, version, self._given, scale(own))
        return version


def identity(store: Documents) -> Any:
    """Return which embedder's vectors a store holds, or ``None``."""
    document = _document(store)
    return document and document.value


def scale_of(store: Documents) -> Scale:
    """Return the scale of the vectors that a store holds."""
    return scale(identity(store))


def write_identity(store: Documents, described: Mapping[str, Any]) -> int:
    """Write down whose vectors a store holds, as :func:`introduced` returns it, and return the new version."""
    scope, collection, key = _PLACE
    return store.write_documents(scope, collection, {key: described})[key]


def describe(embedder: Embedder) -> dict[str, Any]:
    """Return the identity of an embedder: its dimensions and its id or, without one, its class and a probe."""
    own = getattr(embedder, "id", None)
    described: dict[str, Any] = {"id": own or _name(embedder), "dimensions": _dimensions(embedder)}
    return described if own else {**described, "probe": _probe(embedder)}


def introduced(embedder: Embedder) -> dict[str, Any]:
    """Return the identity of an embedder as a store keeps it: with the distances of which its scale is made, unless
    they are known to be usual."""
    described = describe(embedder)
    if str(described["id"]).startswith(USUAL_IDS):
        return described
    if hasattr(embedder, "embed_queries"):
        texts, questions = embed(embedder, NOTES), embed(embedder, QUESTIONS, queries=True)
    else:
        rows = embed(embedder, [*NOTES, *QUESTIONS])
        texts, questions = rows[: len(NOTES)], rows[len(NOTES) :]
    return {**described, "distances": distances(texts, questions)}


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two identities are of one embedder."""
    if (one["id"], one["dimensions"], "probe" in one) != (other["id"], other["dimensions"], "probe" in other):
        return False
    return "probe" not in one or _cosine(one["probe"], other["probe"]) >= SAME


def _document(store: Documents) -> StoredDocument | None:
    scope, collection, key = _PLACE
    return next(iter(store.documents(scope, collection, [key])), None)


def _chosen(given: Sequence[Embedder], stored: Mapping[str, Any] | None, version: int) -> _Choice:
    """Return the embedders for a store. Raises ``EmbedderMismatch`` where none of those given reads its vectors."""
    if stored is None:
        return _Choice(given[0], True, None, version, given)
    for embedder in given:
        if _wrote(embedder, stored):
            return _Choice(embedder, True, stored, version, given)
    for embedder in given:
        if stored["id"] in _reads(embedder) and stored["dimensions"] == _dimensions(embedder):
            return _Choice(embedder, False, stored, version, given)
    raise EmbedderMismatch(
        f"this store was written with {stored['id']} ({stored['dimensions']} dimensions) and cannot be read "
        f"with {_id(given[0])} ({_dimensions(given[0])}); {WAYS_OUT}"
    )


def _written(choice: _Choice, texts: Sequence[str]) -> tuple[Embedder, NDArray[np.float32]]:
    """Return the embedder whose own vectors the store holds, by way of the one that only reads them, and its rows."""
    assert choice.stored is not None
    id_, writer_for = choice.stored["id"], getattr(choice.reader, "writer_for", None)
    reason = f"this store holds vectors of {id_}, which {_id(choice.reader)} reads and cannot write; {WAYS_OUT}"
    try:
        writer: Embedder | None = writer_for(id_) if writer_for else None
        if writer is not None and _wrote(writer, choice.stored):
            return writer, embed(writer, texts)
    except EmbeddingError as error:
        if error.answered:
            raise
        raise EmbeddingError(f"{reason} ({error})") from error
    raise EmbedderMismatch(reason)


def _wrote(embedder: Embedder, stored: Mapping[str, Any]) -> bool:
    """Return whether vectors with that identity are an embedder's own."""
    if stored["id"] != _id(embedder):
        return False  # before anything is loaded
    return stored["dimensions"] == _dimensions(embedder) and alike(stored, describe(embedder))


def fingerprint(embedder: Embedder) -> dict[str, Any]:
    """Return the identity of an embedder: its id, its dimensions, and the quantised vector of a probe text."""
    return {"id": _id(embedder), "dimensions": embedder.dimensions, "probe": _probe(embedder)}


def fits(embedder: Embedder, known: Mapping[str, Any]) -> bool:
    """Return whether an embedder has that :func:`fingerprint` or reads such vectors: by its id or, without one, by its
    vectors."""
    own = getattr(embedder, "id", None)
    if embedder.dimensions != known["dimensions"] or (own and known["id"] not in (own, *_reads(embedder))):
        return False
    return bool(own) or _cosine(known["probe"], _probe(embedder)) >= SAME


def embed(embedder: Embedder, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
    """Return one unit row per text, shape ``(len(texts), dimensions)``. Raises ``EmbeddingError``.

    With ``queries`` the embedder's ``embed_queries`` makes them, if it has that method. It gets equal texts once: an
    exchange of one message has the text of the message.
    """
    import numpy as np

    dimensions = _dimensions(embedder)
    if not texts:
        return np.empty((0, dimensions), np.float32)
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    ask = getattr(embedder, "embed_queries", embedder.embed) if queries else embedder.embed
    try:
        rows = np.asarray(ask(list(places)), dtype=np.float64)
    except TidalError:
        raise
    except Exception as error:
        pass_interrupt(error)
        reason = f"{type(error).__name__}: {error}"
        raise EmbeddingError(f"{_name(embedder)}.{ask.__name__} did not return rows of numbers: {reason}") from error
    if rows.shape != (len(places), dimensions):
        raise EmbeddingError(
            f"{_name(embedder)}.{ask.__name__} returned shape {rows.shape} for {len(places)} texts; "
            f"expected {(len(places), dimensions)}",
            answered=True,
        )
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        reason = f"{_name(embedder)}.{ask.__name__} returned a vector that is zero, NaN or infinite"
        raise EmbeddingError(reason, answered=True)
    unit = np.asarray(rows / lengths, dtype=np.float32)
    return unit if len(places) == len(texts) else unit[[places[text] for text in texts]]


def _dimensions(embedder: Embedder) -> int:
    try:
        return embedder.dimensions
    except TidalError:
        raise
    except Exception as error:
        pass_interrupt(error)
        raise EmbeddingError(f"{_name(embedder)}.dimensions failed: {type(error).__name__}: {error}") from error


def _probe(embedder: Embedder) -> list[int]:
    return [round(float(value) * 127) for value in embed(embedder, [PROBE])[0]]


def _id(embedder: Embedder) -> str:
    return getattr(embedder, "id", None) or _name(embedder)


def _reads(embedder: Embedder) -> Collection[str]:
    """Return the ids of other embedders with whose vectors its queries can be compared."""
    return getattr(embedder, "reads", ())


def _name(embedder: object) -> str:
    return f"{type(embedder).__module__}.{type(embedder).__qualname__}"


def _cosine(a: Sequence[int], b: Sequence[int]) -> float:
    import numpy as np

    x, y = np.asarray(a, float), np.asarray(b, float)
    return float(x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-9))
