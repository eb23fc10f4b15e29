"""The storage contract: what an engine must do for the mechanisms above it.

Engines know no feature names. Four shelves serve every mechanism:

* *entries*: the unified index and the episodes, found by id, by filter, by vector and by keywords;
* *links*: what joins two nodes, found from either end, the strongest first;
* *log*: lines under a key, appended in order, cut off at the old end;
* *documents*: small JSON values with a version, replaced as a whole, as many earlier versions kept as asked.

Every call names its scope and never returns anything of another one. Writes belong inside
:meth:`Storage.transaction`, which makes one logical write one transaction; several reads that must agree belong inside
:meth:`Storage.snapshot`. The suite ``tidal_plugins.testing.StoreContract`` states the behaviour in full and runs on
every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry, Scope, Tier
from tidal_plugins.model.link import Link

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of an entry's text that is found on its own: ``text[start:end]``.

    ``terms`` are its analysed words, separated by spaces, for the keyword index; ``vector`` its embedding (any
    length but zero), or ``None`` where only keywords should find it. Without terms only the vector does.
    """

    start: int
    end: int
    terms: str
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Record:
    """An entry with what makes it findable. Without passages it is found by id and filter only."""

    entry: Entry
    passages: Sequence[Passage] = ()


@dataclass(frozen=True, slots=True)
class Where:
    """A filter over entries. ``None`` leaves a field unfiltered; an empty collection matches nothing.

    ``since`` (inclusive) and ``until`` (exclusive) are event times. ``tags`` asks for any of them, ``metadata`` for
    equality of every item. ``known_at`` leaves out what was stored later, ``active_at`` what is not valid at that time
    and, without ``include_archived``, what is archived or has expired by then; ``exclude`` the entries and episodes
    with these ids, ``not_channels`` what was written by these. ``cooled_by`` asks for those that have turned cold by
    then and whose tier is stored as it was before.
    """

    ids: Collection[str] | None = None
    kinds: Collection[str] | None = None
    threads: Collection[str] | None = None
    episodes: Collection[str] | None = None
    positions: Collection[int] | None = None
    speakers: Collection[str] | None = None
    sources: Collection[str] | None = None
    tags: Collection[str] | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    known_at: datetime | None = None
    active_at: datetime | None = None
    include_archived: bool = False
    exclude: Collection[str] = ()
    not_channels: Collection[str] = ()
    cooled_by: datetime | None = None


class Match(NamedTuple):
    """An entry that a channel found: its score (higher is better) and the passage that speaks for it.

    ``words`` counts the analysed words of the passage.
    """

    id: str
    score: float
    start: int
    end: int
    words: int


class Sketch(NamedTuple):
    """What ranking needs to know of an entry, without all of its text.

    ``passages`` counts its passages and ``words`` their analysed words; ``head`` and ``tail`` are where its text begins
    and ends.
    """

    id: str
    importance: float
    speaker: str | None
    role: str | None
    affect: Affect | None
    tier: Tier | None
    passages: int
    thread: str | None = None
    words: int = 0
    head: str = ""
    tail: str = ""
    occurred_at: datetime | None = None


class Beside(NamedTuple):
    """An entry that stands near another one in its thread: ``places`` after it, or before it where negative."""

    id: str
    other: str
    places: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the scores of :meth:`Storage.matching` depend on: how many passages the keyword index holds, and how many
    words they have on average."""

    passages: int
    mean_words: float


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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log: a JSON value under a key. ``seq`` orders the lines; the log sets it."""

    key: str
    at: datetime
    value: Any
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value with the version that the next write must name."""

    key: str
    value: Any
    version: int


class Storage(ABC):
    """Base of every engine. Methods may be called from any thread and process."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing: commits durably at the end, rolls back on any exception. Joins one that is open."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside see one state of the store. Joins what is open."""

    # entries

    @abstractmethod
    def put(self, scope: Scope, records: Iterable[Record]) -> list[str]:
        """Store the records whose ids are new, whole; return the ids stored. A known id is left as it is.

        Raises ``InvalidVector`` before anything is written.
        """

    @abstractmethod
    def replace(self, scope: Scope, record: Record) -> None:
        """Store ``record`` in place of the entry of the same id, which must exist (``NotFound``)."""

    @abstractmethod
    def retier(self, scope: Scope, tiers: Mapping[str, Tier]) -> None:
        """Set the tiers of entries by id; unknown ids raise ``NotFound``."""

    @abstractmethod
    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        """Return the entries found, by id, checksums verified (``Corrupt``)."""

    @abstractmethod
    def sketch(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, Sketch]:
        """Return what ranking needs of the entries found, by id, without reading their texts; with ``where``, of those
        that it lets through."""

    @abstractmethod
    def beside(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Beside]:
        """Return what stands at most ``reach`` places before and after each entry of a thread, among the entries of
        its thread and kind that a filter lets through, in the order of :meth:`find`."""

    @abstractmethod
    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        """List entries by event time, then by the order in which they were stored; ``after`` skips that many."""

    @abstractmethod
    def erase(self, scope: Scope, ids: Collection[str]) -> int:
        """Remove entries from every index, with the links that end at them and the log's lines under their ids;
        return how many entries there were."""

    @abstractmethod
    def erasures(self, scope: Scope) -> int:
        """Return a number that rises whenever entries are erased or replaced: what was read of them, and of the log
        under their ids, holds until then."""

    @abstractmethod
    def scrub(self) -> bool:
        """Overwrite what erased entries left behind in files and indexes. ``False``: a reader kept some of it.

        It may rewrite the whole store, so call it once after many erasures, outside transactions.
        """

    @abstractmethod
    def speakers(self, scope: Scope) -> list[str]:
        """Return the names of everyone who speaks in the scope."""

    @abstractmethod
    def count(self, scope: Scope, where: Where) -> int:
        """Return how many entries a filter lets through."""

    @abstractmethod
    def volume(self, scope: Scope, where: Where) -> int:
        """Return how many characters the texts of those entries have together."""

    @abstractmethod
    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        """List the scopes whose first segments are ``prefix`` and in which a filter lets an entry through, sorted."""

    # channels

    @abstractmethod
    def nearest(self, scope: Scope, vector: NDArray[np.float32], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage has the highest cosine with ``vector``, exactly, best first."""

    @abstractmethod
    def nearest_each(
        self, scope: Scope, vectors: Sequence[NDArray[np.float32]], k: int, where: Where
    ) -> list[list[Match]]:
        """Return :meth:`nearest` of each vector, all from one state of the store."""

    @abstractmethod
    def matching(self, scope: Scope, terms: Sequence[str], k: int, where: Where) -> list[Match]:
        """Return the ``k`` entries whose best passage scores highest in BM25 for any of ``terms``, best first."""

    @abstractmethod
    def corpus(self) -> Corpus:
        """Return the statistics of the keyword index, of the whole store."""

    @abstractmethod
    def cosines(self, scope: Scope, ids: Collection[str], vector: NDArray[np.float32]) -> dict[str, Match]:
        """Return the best cosine of each entry that has a vector."""

    @abstractmethod
    def vectors(self, scope: Scope, passages: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, of length 1, of one passage of each entry: by its id, where the passage starts in its
        text. Entries without that passage or its vector are left out; ``Corrupt`` for what was not written so."""

    # links

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

    # log

    @abstractmethod
    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        """Append lines and return their ``seq``: above every earlier one of this log, with gaps, never used again."""

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
    def trim_log(self, scope: Scope, log: str, keep: int) -> int:
        """Remove all but the last ``keep`` lines; return how many went."""

    @abstractmethod
    def thin_log(self, scope: Scope, log: str, before: datetime) -> int:
        """Remove the lines from before a time, but for the last one under each key; return how many went."""

    @abstractmethod
    def erase_log(self, scope: Scope, log: str, keys: Collection[str]) -> int:
        """Remove the lines under these keys; return how many there were."""

    # documents

    @abstractmethod
    def read_document(self, scope: Scope, collection: str, key: str) -> Document | None:
        """Return the current document, or ``None``."""

    @abstractmethod
    def write_document(
        self, scope: Scope, collection: str, key: str, value: Any, *, expected: int | None = None, keep: int = 0
    ) -> int:
        """Replace a document and return its new version; ``expected`` is the version it must have now (0: none),
        else ``Conflict``. Of its earlier versions the last ``keep`` stay readable, none before them."""

    @abstractmethod
    def documents(self, scope: Scope, collection: str, keys: Collection[str] | None = None) -> list[Document]:
        """List a collection's documents by key, all or those of ``keys``."""

    @abstractmethod
    def versions(self, scope: Scope, collection: str, key: str) -> list[Document]:
        """List a document's versions, the current one first and then those that were kept, newest first."""

    @abstractmethod
    def erase_documents(self, scope: Scope, collection: str, keys: Collection[str]) -> int:
        """Remove documents with all their versions; return how many documents there were. Versions begin anew."""

    # the store itself

    @abstractmethod
    def read_meta(self, name: str) -> Any:
        """Return a JSON value about the whole store, or ``None``."""

    @abstractmethod
    def write_meta(self, name: str, value: Any) -> None:
        """Set a JSON value about the whole store."""

    @abstractmethod
    def close(self) -> None:
        """Release files and memory. Using the store afterwards raises ``Closed``."""
