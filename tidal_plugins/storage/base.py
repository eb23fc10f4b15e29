"""The storage contract: the methods that an engine must have for the mechanisms above it.

Engines know no feature names. Five small protocols serve every mechanism: :class:`Entries`, :class:`Search`,
:class:`Links`, :class:`Log` and :class:`Documents`. An engine has them all, and the lifecycle of :class:`Storage`.

Every call names its scope and never returns anything of another one. Writes belong inside
:meth:`Storage.transaction`, which makes one logical write one transaction; several reads that must agree belong inside
:meth:`Storage.snapshot`. A row that is not as it was written is left out of what a call returns, and noted with
:func:`tidal_plugins.storage.damage.note`; one about the whole store (``META``) raises ``Corrupt``. The suite
``tidal_plugins.testing.store.StoreContract`` states the behaviour in full and runs on every engine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Link, Scope
from tidal_plugins.storage.entries import (
    HEAD,
    TAIL,
    Adjacent,
    Corpus,
    Entries,
    EntrySummary,
    Match,
    Passage,
    PassageVectors,
    Record,
    Span,
    Statistics,
    Volume,
    Where,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.storage.columns.view import Columns

STORE: Scope = ()
"""The scope of documents about the whole store. Scopes of users have at least one segment."""


META = "meta"
"""The collection of values about the whole store."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value with the version that the next write must name."""

    key: str
    value: Any
    version: int


class Documents(Protocol):
    """Stores documents by collection and key, with as many earlier versions as asked."""

    @abstractmethod
    def write_documents(
        self, scope: Scope, collection: str, values: Mapping[str, Any], *, expected: int | None = None, keep: int = 0
    ) -> dict[str, int]:
        """Replace documents by key, all or none, and return their new versions. ``expected`` is the version that each
        must have now (0: none), else ``Conflict``. Of their earlier versions the last ``keep`` stay readable, none
        before them."""

    @abstractmethod
    def documents(
        self,
        scope: Scope,
        collection: str,
        keys: Collection[str] | None = None,
        *,
        versions: bool = False,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Document]:
        """List a collection's documents by key, all or those of ``keys``: at most ``limit``, ``after`` skips that many.

        With ``versions=True`` each current document is followed by its earlier versions that were kept, newest first.
        """

    @abstractmethod
    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        """Remove documents with all their versions; return how many documents there were. Versions begin anew."""


@dataclass(frozen=True, slots=True)
class WhereLinks:
    """A filter over links. ``None`` leaves a field unfiltered; an empty collection matches nothing.

    ``ends`` asks for either end among them, ``sources`` and ``targets`` for one. ``valid_at`` is when it was true,
    ``known_at`` when it was believed. ``lasting_at`` leaves out what has expired by then, ``expired_at`` all else.
    """

    ids: Collection[str] | None = None
    kinds: Collection[str] | None = None
    ends: Collection[str] | None = None
    sources: Collection[str] | None = None
    targets: Collection[str] | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    valid_at: datetime | None = None
    known_at: datetime | None = None
    lasting_at: datetime | None = None
    expired_at: datetime | None = None


ALL_LINKS = WhereLinks()


class Step(NamedTuple):
    """A link as a walk sees it: from ``node`` to the ``other`` end, ``forward`` where ``node`` is its source."""

    node: str
    other: str
    forward: bool
    link: str
    kind: str
    weight: float
    anchored_at: datetime | None


class Links(Protocol):
    """Stores links and finds them by their ends, the strongest first."""

    @abstractmethod
    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        """Store links, each in place of the one of the same id."""

    @abstractmethod
    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        """List links in the order in which they were first stored, or those that last longest first, then the
        heaviest."""

    @abstractmethod
    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        """Return the ``each`` strongest links of every kind at either end of every node, in one query.

        They come by node, in the order given; what lasts longest first, then the heaviest. A link between two of the
        nodes is two steps, one from each; a link from a node to itself is one.
        """

    @abstractmethod
    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        """Remove the links that a filter lets through; return how many there were."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a line: the worker that holds the line, and the time until which it does."""

    by: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log: a JSON value under a key. ``seq`` orders the lines; the log sets it. ``claim`` is the last
    claim on the line, which may have ended."""

    key: str
    at: datetime
    value: Any
    seq: int = 0
    claim: Claim | None = field(default=None, compare=False)


class Log(Protocol):
    """Appends lines to named logs and reads them in order."""

    @abstractmethod
    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        """Append lines and return their ``seq``: above every earlier one of this log, with gaps, never used again."""

    def append_logs(self, scope: Scope, lines: Mapping[str, Collection[Line]]) -> None:
        """Append lines to several logs."""
        for log, some in lines.items():
            self.append_log(scope, log, some)

    @abstractmethod
    def read_log(
        self,
        scope: Scope,
        log: str,
        *,
        keys: Collection[str] | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Line]:
        """List lines in the order in which they were appended: those under ``keys``, at ``since`` or later, whose
        ``seq`` is above ``after``."""

    @abstractmethod
    def trim_log(
        self,
        scope: Scope,
        log: str,
        *,
        keep: int | None = None,
        before: datetime | None = None,
        keys: Collection[str] | None = None,
    ) -> int:
        """Remove lines and return how many there were.

        ``keep`` removes all but the last that many lines. ``before`` removes the lines from before a time, but for the
        last line of each key. ``keys`` removes the lines under these keys. Exactly one of the three must be given
        (``InvalidInput``).
        """

    @abstractmethod
    def claim_log(
        self,
        scope: Scope,
        log: str,
        seqs: Collection[int],
        *,
        by: str,
        now: datetime,
        until: datetime,
        limit: int | None = None,
        ended: Collection[str] = (),
    ) -> list[int]:
        """Hold lines for the worker ``by`` until a time, and return the ``seq`` of those that it holds, in order.

        These are the first ``limit`` of the lines ``seqs`` that are still there and that no other worker holds at
        ``now``. A claim of a worker in ``ended`` does not count, nor does one that ends after ``until`` by more than
        its own length: it was made by a clock that is wrong. Times are the callers', whose clocks should agree.

        A claim changes nothing else: a line is read, trimmed and erased as before. On a server, the claim of a line
        waits neither for writers of the scope nor for other claims. A claim need not survive a crash of the machine.
        """


def latest_claim(now: datetime, until: datetime) -> datetime:
    """Return the time after which no claim ends that a clock made which is right."""
    return until + (until - now)


def check_one_given(**given: object) -> None:
    """Raise ``InvalidInput`` unless exactly one argument is not ``None``."""
    if sum(value is not None for value in given.values()) != 1:
        raise InvalidInput(f"give exactly one of {', '.join(given)}")


class Outdated(NamedTuple):
    """A passage whose vector awaits its replacement: ``text[start:end]`` of the entry ``id``. ``key`` names the
    passage in the store, and no other one ever."""

    key: int
    scope: Scope
    id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Renewal:
    """How far the renewal of all vectors is: ``done`` passages of ``total`` have a new one. ``missing`` are the first
    of those that have none. ``replaced`` vectors were in use before the last renewal and are yet to be removed."""

    missing: Sequence[Outdated]
    done: int
    total: int
    replaced: int = 0


class Search(Protocol):
    """Finds entries by their passages."""

    @abstractmethod
    def columns(self, scope: Scope, *, whole: bool = True) -> Columns:
        """Return what ranking reads of the scope's entries, in arrays. Call it inside a snapshot, and use the columns
        there. Damaged rows are left out and noted.

        Unless they are to be ``whole``, an engine may leave out entries that no search of these columns has found yet.
        """

    @abstractmethod
    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage has the highest cosine with ``vector``, best first.

        An engine may choose in a large scope which passages it compares, so that it may miss some; their scores are
        exact.
        """

    @abstractmethod
    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage scores highest in BM25 for any of ``terms``, best first.
        The first 64 of them count."""

    @abstractmethod
    def renew_vectors(self, vectors: Mapping[int, NDArray[np.float32]], most: int, *, anew: bool = False) -> Renewal:
        """Store new vectors of passages, of all scopes, by key, and list ``most`` of the passages that lack one.

        The new vectors may have another size than those in use. Searches find the latter until every passage that has
        a vector has a new one: then all of these take their place at once, and ``done`` is ``total``. A new vector goes
        with its passage; unknown keys are passed over. Each call may remove ``most`` of the vectors that were replaced
        earlier. ``anew`` drops the new vectors that were stored before. Raises ``InvalidInput`` before anything is
        written.
        """


__all__ = [
    "ALL_LINKS", "HEAD", "STORE", "TAIL", "Adjacent", "Claim", "Corpus", "Document", "Documents", "Entries",
    "EntrySummary", "Line", "Links", "Log", "META", "Match", "Outdated", "Passage", "PassageVectors", "Record",
    "Renewal", "Search", "Span", "Statistics", "Step", "Storage", "Volume", "Where", "WhereLinks",
]  # fmt: skip


@runtime_checkable
class Storage(Entries, Search, Links, Log, Documents, Protocol):
    """An engine. Methods may be called from any thread."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make the writes inside all or nothing: commit them durably at the end, roll back on any exception. Joins a
        transaction that is open."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads inside see one state of the store. Joins what is open."""

    @abstractmethod
    def scrub(self) -> bool:
        """Overwrite what erased entries left behind in files and indexes. Return ``False`` when a reader kept some.

        It may rewrite the whole store: call it once after many erasures, outside transactions. Raises ``StorageError``
        if it cannot be done.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files and memory. Using the store afterwards raises ``Closed``."""
