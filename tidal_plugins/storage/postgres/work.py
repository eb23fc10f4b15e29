"""Blocks of one thread on a PostgreSQL database, with what each knows and still has to send."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tidal_plugins.errors import Busy, StorageError
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.blocks import Block
from tidal_plugins.storage.postgres.numbers import number_of

if TYPE_CHECKING:
    import psycopg

ALL = "all"
"""Stands for every scope where a statement is about the whole store."""

ANY = ""
"""Stands for the scope that is set already: every one may see the tables without scopes, and the rows of the store."""

SHARDS = 64
"""Rows over which the figures of the whole store are spread, so that writers of other scopes rarely meet."""

_ENDED = "an earlier error has ended this transaction, nothing of it was written; begin anew"
_FORKED = "this process was forked inside a transaction, which its parent ends; begin one here"

_COUNT = """
    UPDATE tidal_corpus SET passages = passages + %s, words = words + %s, vectors = vectors + %s, renewed = renewed + %s
    WHERE shard = %s
"""

Statement = tuple[str, Sequence[Any]]
"""SQL with its parameters."""


class Limit(Block):
    """A deadline of a thread's questions: ``end`` is a time of the monotonic clock."""

    def __init__(self, end: float, around: Limit | None) -> None:
        super().__init__(writes=False)
        self.end, self.around = end, around


class Work(Block):
    """An open transaction, a snapshot, or a ``single`` question, which the server answers without ``BEGIN`` and
    ``COMMIT``. It has a connection from its first statement on."""

    def __init__(self, writes: bool, *, single: bool = False) -> None:
        super().__init__(writes)
        self.single = single
        self.connection: psycopg.Connection[Any] | None = None
        self.begun = False
        self.failed: StorageError | None = None
        """The error that whatever follows raises, since an earlier one has ended the transaction."""
        self.settings: tuple[str, int] | None = None
        """The scope that is set, and the milliseconds that a statement may take, 0 if there is no limit."""
        self.locked: dict[Scope, list[int]] = {}
        """The scopes that a transaction has locked, each with the numbers that were drawn for lines of its logs."""
        self.later: list[tuple[Scope | str, Statement]] = []
        """Statements that go with the next one whose result is needed, or with the end: a round trip less for each."""
        self.versions: dict[tuple[Scope, str, str], int] = {}
        """Versions of the documents that a transaction has read or written, by scope, collection and key."""
        self.kept: dict[Hashable, Any] = {}
        """Results of a snapshot that it may be asked for again; what a transaction knows and nobody else can change."""
        self.counts: dict[int, list[int]] = {}
        """What a transaction adds to the figures of the whole store, by shard. It is written last, just before the end,
        so that writers of other scopes wait for none."""

    def fail(self, error: Exception) -> None:
        """Let whatever follows fail, with the same error if the whole may be repeated."""
        self.failed = error if isinstance(error, Busy) and error.overruled else StorageError(_ENDED)

    def forked(self) -> None:
        """Leave the transaction to the parent of this process, with its connection."""
        self.connection, self.begun, self.later = None, False, []
        self.failed = StorageError(_FORKED) if self.writes else None

    def count(self, scope: Scope, *added: int) -> None:
        """Add to the numbers of passages, words, vectors and renewed vectors of the whole store."""
        counts = self.counts.setdefault(number_of(scope) % SHARDS, [0, 0, 0, 0])
        counts[:] = [known + more for known, more in zip(counts, added, strict=True)]

    def counted(self) -> list[Statement]:
        """Return statements that add to the figures of the whole store, always in the same order of rows."""
        counts, self.counts = self.counts, {}
        return [(_COUNT, [*added, shard]) for shard, added in sorted(counts.items()) if any(added)]
