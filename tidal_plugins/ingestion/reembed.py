"""Re-embedding: every vector of a store is made anew by another embedder, while the store stays in use.

New vectors are stored beside the old ones in small transactions, and searches find the old ones until all of the new
are there. The last transaction puts these in place and writes down whose they are. A process that has the store open
reads that with every search and every write (:mod:`tidal_plugins.embedding.identity`).

Several processes share the passages: each claims those that it embeds next, in a document that every step reads first
in its transaction, so that their steps follow one another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidal_plugins.embedding.identity import PROBE, alike, embed, identity, introduced, write_identity
from tidal_plugins.errors import Conflict, TidalError
from tidal_plugins.ingestion.writer import Progress, Writer
from tidal_plugins.model.clock import aware, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.protocols import Embedder
from tidal_plugins.storage.base import META, STORE, Outdated, Renewal, latest_claim
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.shorthands import read_document, read_meta, write_document, write_meta
from tidal_plugins.storage.transactions import retry
from tidal_plugins.storage.workers import begin_work, end_work, has_ended, worker_name
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

HELD = "reembedding"
"""Collection with one document, in the scope of the store itself: the passages that each worker embeds, by its name."""

CLAIM = timedelta(minutes=5)
"""Time for which a worker holds the passages that it embeds."""

LATE = 3
"""Times that passages which were recorded meanwhile are embedded without holding up those who record."""

FIRST_REST, LONGEST_REST = 0.02, 1.0
"""Seconds between two looks at what other workers embed."""


def reembed(writer: Writer, embedder: Embedder, clock: Callable[[], datetime], progress: Progress | None = None) -> int:
    """Give a store the vectors of an embedder, and return how many passages were embedded by this call.

    It goes on where an earlier call with the same embedder ended, and shares the passages with one that is under way.
    Raises ``Conflict`` if another call begins it with another embedder meanwhile, and ``EmbeddingError`` if the
    embedder fails: the store keeps the vectors that it has.
    """
    check_progress(progress)
    new = introduced(embedder)
    if "distances" not in new:
        embed(embedder, [PROBE])  # one that does not work must not cost what has gathered for another
    run = _Run(writer, embedder, new, clock, worker_name(uuid4().hex))
    writer.embedder.admit(embedder)  # another process may be the one that puts the vectors in place
    begin_work(run.worker)
    try:
        run.begin()
        _renew(run, progress)
    finally:
        run.leave()
    while not run.removed():
        pass  # in small transactions, which hold up no writer
    return run.count


def _renew(run: _Run, progress: Progress | None) -> None:
    """Embed what no other call embeds, until the store has all vectors in place."""
    vectors: Vectors = {}
    rest = FIRST_REST
    while renewal := run.step(vectors):
        if progress and renewal.total:
            progress(renewal.done, renewal.total)
        vectors = run.embedded(renewal.missing)
        if renewal.missing or renewal.done == renewal.total:
            rest = FIRST_REST
        else:  # others embed the last ones
            time.sleep(rest)
            rest = min(2 * rest, LONGEST_REST)


@dataclass(slots=True)
class _Run:
    """One call of :func:`reembed`. ``new`` is the identity of the embedder, ``count`` how many passages it embedded."""

    writer: Writer
    embedder: Embedder
    new: Mapping[str, Any]
    clock: Callable[[], datetime]
    worker: str
    count: int = 0
    _all_listed: bool = False
    """Whether the last step listed every passage that lacked a new vector."""
    _late: int = 0
    """How often few passages were left, which were recorded meanwhile."""

    @retry
    def begin(self) -> None:
        """Write down for which embedder vectors gather from now on, and drop those that have gathered for another."""
        storage = self.writer.storage
        with storage.transaction():
            self._held()
            begun, done = read_meta(storage, NEXT), self._is_done()
            if begun is not None and (done or not alike(begun, self.new)):
                storage.renew_vectors({}, 0, anew=True)
                storage.erase_documents(STORE, META, [NEXT])
                storage.erase_documents(STORE, HELD, [HELD])
            if not done:
                write_meta(storage, NEXT, self.new)

    @retry
    def step(self, vectors: Vectors) -> Renewal | None:
        """Store new vectors, claim passages to embed next, and return how far the renewal is, or ``None`` if the store
        has them all in place."""
        storage = self.writer.storage
        with storage.transaction():
            held = self._held()
            begun = read_meta(storage, NEXT)
            if begun is None and self._is_done():
                return None
            if begun is None or not alike(begun, self.new):
                raise Conflict(f"another call gives this store the vectors of {(begun or identity(storage))['id']}")
            others = self._of_others(held)
            renewal = storage.renew_vectors(vectors, BATCH + len(others))
            if self._all_listed and not others and 0 < renewal.total - renewal.done < BATCH:
                self._late += 1  # these were recorded since the last step
                if self._late > LATE:  # here no writer can add to them once more
                    renewal = storage.renew_vectors(self.embedded(renewal.missing), BATCH)
            self._all_listed = len(renewal.missing) == renewal.total - renewal.done
            if renewal.done == renewal.total:
                write_identity(storage, self.new)
                storage.erase_documents(STORE, META, [NEXT])
                storage.erase_documents(STORE, HELD, [HELD])
                return renewal
            missing = [passage for passage in renewal.missing if passage.key not in others][:BATCH]
            self._hold(held, [passage.key for passage in missing])
            return replace(renewal, missing=missing)

    def leave(self) -> None:
        """Let others embed at once what this call has claimed and not embedded."""
        storage = self.writer.storage
        end_work(self.worker)
        with suppress(TidalError), storage.transaction():  # if that fails, they can when the claim has ended
            held = self._held()
            if self.worker in held:
                self._hold(held, ())

    @retry
    def removed(self) -> bool:
        """Remove some of the vectors that were replaced; return whether none is left."""
        storage = self.writer.storage
        with storage.transaction():
            self._held()
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

    def _held(self) -> dict[str, Any]:
        """Return what each worker holds, and let no other call go on before the transaction ends.

        Every transaction of a call begins with this: two that had both read what they then write would wait for each
        other.
        """
        document = read_document(self.writer.storage, STORE, HELD, HELD)
        return dict(document.value) if document else {}

    def _of_others(self, held: Mapping[str, Any]) -> set[int]:
        """Return the keys of the passages that other workers hold."""
        now = aware(self.clock())
        begun, latest = to_micros(now), to_micros(latest_claim(now, now + CLAIM))
        return {
            key
            for worker, claim in held.items()
            if worker != self.worker and begun < claim["until"] <= latest and not has_ended(worker)
            for key in claim["passages"]
        }

    def _hold(self, held: Mapping[str, Any], passages: Collection[int]) -> None:
        """Hold passages, and no longer those that were held before."""
        claims = {worker: claim for worker, claim in held.items() if worker != self.worker and not has_ended(worker)}
        if passages:
            claims[self.worker] = {"until": to_micros(aware(self.clock()) + CLAIM), "passages": list(passages)}
        if claims:
            write_document(self.writer.storage, STORE, HELD, HELD, claims)
        else:
            self.writer.storage.erase_documents(STORE, HELD, [HELD])

    def _is_done(self) -> bool:
        current = identity(self.writer.storage)
        return current is not None and alike(current, self.new)
