"""The contract of entries: the unified index and the episodes, found by id, by filter and by their neighbours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidal_plugins.model.entry import Entry, Scope, Tier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of an entry's text that is found on its own: ``text[start:end]``.

    ``terms`` are its analysed words, separated by spaces, for the keyword index. ``vector`` is its embedding (any
    length but zero), or ``None`` when only keywords should find it. A passage without terms is found by its vector
    only.
    """

    start: int
    end: int
    terms: str
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Record:
    """An entry with the passages that make it findable. Without passages it is found by id and filter only.

    ``passages=None`` leaves the index as it is when the entry replaces another one: only the entry changes. If it was
    ``appraised``, only its importance, affect and tier do, which readers take over as they do tiers.
    """

    entry: Entry
    passages: Sequence[Passage] | None = ()
    appraised: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Where:
    """A filter over entries. ``None`` leaves a field unfiltered; an empty collection matches nothing.

    ``since`` (inclusive) and ``until`` (exclusive) are event times. ``tags`` asks for any of them, ``metadata`` for
    equality of every item. ``known_at`` leaves out what was stored later. ``active_at`` leaves out what is not valid
    at that time and, without ``include_archived``, what is archived or has expired by then. ``exclude`` leaves out the
    entries and episodes with these ids, ``not_channels`` what was written by these. ``due_by`` asks for the entries
    whose stored tier is due to change by then: its ``cold_at`` is later than its anchor and not later than that time.
    ``least_importance`` leaves out what matters less.
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
    due_by: datetime | None = None
    least_importance: float | None = None


HEAD, TAIL = 400, 8
"""Characters of a text's beginning and end that columns give."""


class EntrySummary(NamedTuple):
    """An entry without its content: its thread, its tier, and how many passages it has."""

    id: str
    thread: str | None
    tier: Tier | None
    passages: int


class Match(NamedTuple):
    """An entry that a search found, with its score (higher is better) and its best passage.

    ``words`` counts the analysed words of the passage.
    """

    id: str
    score: float
    start: int
    end: int
    words: int


class Span(NamedTuple):
    """A passage of the entry ``id``: ``text[start:end]``, with ``words`` analysed words."""

    id: str
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """Passages and their vectors of length 1, row by row. The rows may be a view of the engine's memory: read only."""

    spans: Sequence[Span]
    units: NDArray[np.float32]


class Adjacent(NamedTuple):
    """An entry that stands near another one in its thread: ``places`` after it, or before it when negative."""

    id: str
    other: str
    places: int


class Corpus(NamedTuple):
    """The statistics that keyword scores depend on: how many passages the keyword index of the whole store holds, and
    how many words they have on average."""

    passages: int
    mean_words: float


class Volume(NamedTuple):
    """The number of entries of one sort, and the number of characters of their texts."""

    entries: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures about a scope that an engine keeps at hand, so that reading them costs no scan.

    ``corpus`` is of the whole store. ``speakers`` are the names of everyone who speaks in the scope, sorted.
    ``volumes`` are by kind and channel. ``erasures`` rises whenever entries are erased or their content is replaced:
    what was read of them, and of the log under their ids, holds until then.
    """

    corpus: Corpus
    speakers: Sequence[str] = ()
    volumes: Mapping[tuple[str, str], Volume] = field(default_factory=dict)
    erasures: int = 0


class Entries(Protocol):
    """Stores entries and finds them by id and by filter."""

    @abstractmethod
    def put(self, scope: Scope, records: Iterable[Record], *, replace: bool = False) -> list[str]:
        """Store the records whose ids are new and return their ids. A known id is left as it is.

        With ``replace=True`` each record is stored in place of the entry of the same id, which must exist
        (``NotFound``); a record whose ``passages`` are ``None`` leaves the index as it is. Either stores all of the
        records or none. Raises ``InvalidInput`` before anything is written.
        """

    @abstractmethod
    def get(self, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
        """Return the entries found, by id. Damaged ones are left out and noted."""

    @abstractmethod
    def summaries(self, scope: Scope, ids: Collection[str], where: Where | None = None) -> dict[str, EntrySummary]:
        """Return summaries of the entries found, by id. ``where`` filters them."""

    @abstractmethod
    def adjacent(self, scope: Scope, ids: Collection[str], reach: int, where: Where) -> list[Adjacent]:
        """Return the entries at most ``reach`` places before and after each entry of a thread. They are of its thread
        and kind, a filter lets them through, and :meth:`find` gives their order."""

    @abstractmethod
    def find(
        self, scope: Scope, where: Where, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> list[Entry]:
        """List entries by event time, then by the order in which they were stored; ``after`` skips that many."""

    @abstractmethod
    def erase(self, scope: Scope, ids: Collection[str] | None) -> int:
        """Remove entries from every index, with the links that end at them and the log's lines under their ids, and
        return how many entries there were. ``None`` removes all that a scope has, in every table."""

    @abstractmethod
    def scopes(self, prefix: Scope, where: Where) -> list[Scope]:
        """List the scopes whose first segments are ``prefix`` and in which a filter lets an entry through, sorted."""

    @abstractmethod
    def statistics(self, scope: Scope) -> Statistics:
        """Return the figures that the engine keeps about a scope."""
