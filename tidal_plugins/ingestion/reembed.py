"""Re-embedding: every vector of a store is made anew by another embedder, while the store stays in use.

New vectors are stored beside the old ones in small transactions, and searches find the old ones until all of the new
are there. The last transaction puts these in place and writes down whose they are. A process that has the store open
reads that with every search and every write (:mod:`tidal_plugins.embedding.identity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidal_plugins.embedding.identity import PROBE, alike, describe, embed, identity, write_identity
from tidal_plugins.errors import Conflict
from tidal_plugins.ingestion.writer import Progress, Writer
from tidal_plugins.model.entry import Scope
from tidal_plugins.protocols import Embedder
from tidal_plugins.storage.base import META, STORE, Outdated, Renewal
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.storage.shorthands import read_meta, write_meta
from tidal_plugins.validation import check_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = Mapping[int, NDArray[np.float32]]

BATCH = 200
"""Passages embedded at a time."""

REMOVED = 1_000
"""Vectors removed at a time after they were replaced."""

NEXT = "next_embedder"
"""The identity of the embedder whose vectors are gathering in the store."""


def reembed(writer: Writer, embedder: Embedder, progress: Progress | None = None) -> int:
    """Give a store the vectors of an embedder, and return how many passages were embedded.

    It goes on where an earlier call with the same embedder ended. Raises ``Conflict`` if another call begins it with
    another embedder meanwhile, and ``EmbeddingError`` if the embedder fails: the store keeps the vectors that it has.
    """
    check_progress(progress)
    embed(embedder, [PROBE])  # one that does not work must not cost what has gathered for another
    run = _Run(writer, embedder, describe(embedder))
    writer.embedder.admit(embedder)  # another process may be the one that puts the vectors in place
    run.begin()
    vectors: Vectors = {}
    while renewal := run.step(vectors):
        if progress and renewal.total:
            progress(renewal.done, renewal.total)
        vectors = run.embedded(renewal.missing)
    while not run.removed():
        pass  # in small transactions, which hold up no writer
    return run.count


@dataclass(slots=True)
class _Run:
    """One call of :func:`reembed`. ``new`` is the identity of the embedder, ``count`` how many passages it embedded."""

    writer: Writer
    embedder: Embedder
    new: Mapping[str, Any]
    count: int = 0
    _all_listed: bool = False
    """Whether the last step listed every passage that lacked a new vector."""

    @repeated
    def begin(self) -> None:
        """Write down for which embedder vectors gather from now on, and drop those that have gathered for another."""
        storage = self.writer.storage
        with storage.transaction():
            begun, done = read_meta(storage, NEXT), self._is_done()
            if begun is not None and (done or not alike(begun, self.new)):
                storage.renew_vectors({}, 0, anew=True)
                storage.erase_documents(STORE, META, [NEXT])
            if not done:
                write_meta(storage, NEXT, self.new)

    @repeated
    def step(self, vectors: Vectors) -> Renewal | None:
        """Store new vectors, and return how far the renewal is, or ``None`` if the store has them all in place."""
        storage = self.writer.storage
        with storage.transaction():
            begun = read_meta(storage, NEXT)
            if begun is None and self._is_done():
                return None
            if begun is None or not alike(begun, self.new):
                raise Conflict(f"another call gives this store the vectors of {(begun or identity(storage))['id']}")
            renewal = storage.renew_vectors(vectors, BATCH)
            if self._all_listed and 0 < renewal.total - renewal.done < BATCH:
                # These were recorded since the last step. Here no writer can add to them once more.
                renewal = storage.renew_vectors(self.embedded(renewal.missing), BATCH)
            self._all_listed = len(renewal.missing) == renewal.total - renewal.done
            if renewal.done == renewal.total:
                write_identity(storage, self.new)
                storage.erase_documents(STORE, META, [NEXT])
            return renewal

    @repeated
    def removed(self) -> bool:
        """Remove some of the vectors that were replaced; return whether none is left."""
        storage = self.writer.storage
        with storage.transaction():
            if read_meta(storage, NEXT) is not None:
                return True  # vectors gather for another embedder by now, and that call removes the old ones
            return not storage.renew_vectors({}, REMOVED).replaced

    @whole()
    def embedded(self, passages: Iterable[Outdated]) -> Vectors:
        """Return the new vectors of passages, by key. One whose entry was erased meanwhile has none."""
        by_scope: dict[Scope, list[Outdated]] = {}
        for passage in passages:
            by_scope.setdefault(passage.scope, []).append(passage)
        texts: dict[int, str] = {}
        for scope, some in by_scope.items():
            entries = self.writer.storage.get(scope, {passage.id for passage in some})
            for passage in some:
                if entry := entries.get(passage.id):
                    texts[passage.key] = self.writer.passage_text(entry, passage.start, passage.end)
        self.count += len(texts)
        return dict(zip(texts, embed(self.embedder, list(texts.values())), strict=True))

    def _is_done(self) -> bool:
        current = identity(self.writer.storage)
        return current is not None and alike(current, self.new)
