"""Reports of what upkeep did or found: forgetting, retention, consolidation, checks, backups and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tidal_plugins.model.entry import Entry

if TYPE_CHECKING:
    from tidal_plugins.model.graph import ReaderUsage


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of ``forget`` and ``erase_scope``. It is false if nothing went, or would go.

    Attributes:
        count: how many entries and episodes went; a fact that lost a value counts as one.
        shelves: how many things went from each place: entries by their kind (``conversation``, ``episode``, ``kb`` …),
            or as ``damaged`` if their rows could not be read, and texts that memory had made of them by their
            collection (``dossiers``, ``capsules`` …), which are made anew from the rest when they are next needed.
        ids: the ids of the entries, episodes and facts, sorted; none for ``erase_scope``.
        blanked: the ids of the episodes that stay and lost a message.
        remains: why bytes of it are still in the file, or where the text still stands, a sentence each. Empty if
            nothing is left.
        links: how many links ended at what went: associations, supersessions, and the words by which facts are found.
            Not counted by ``erase_scope``.
        dry_run: whether it only says what would go.
    """

    count: int = 0
    shelves: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    blanked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    links: int = 0
    dry_run: bool = False

    @property
    def complete(self) -> bool:
        """Return whether nothing of it is left, in the file or elsewhere in the scope."""
        return not self.remains

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        went = ", ".join(f"{count:,} {shelf}" for shelf, count in sorted(self.shelves.items()))
        done = "would go" if self.dry_run else "removed"
        return "; ".join([f"{self.count:,} {done}" + (f" ({went})" if went else ""), *self.remains])


@dataclass(frozen=True, slots=True)
class Erasure:
    """A forgetting as it is noted, with counts and no text or id of what went.

    Attributes:
        at: when it was.
        count: how many entries and episodes went, as in the receipt.
        shelves: how many things went from each place, as in the receipt.
        links: how many links ended at what went.
        blanked: how many episodes stayed and lost a message.
    """

    at: datetime
    count: int
    shelves: Mapping[str, int] = field(default_factory=dict)
    links: int = 0
    blanked: int = 0


@dataclass(frozen=True, slots=True)
class Seed:
    """A thought seed: two memories from different sources or threads that keep coming up together [Tidal §4].

    ``weight`` is the weight of their association, ``why`` says where they come from, and ``text`` says in one sentence
    what both state.
    """

    first: Entry
    second: Entry
    weight: float
    why: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text} [{self.first.citation}] [{self.second.citation}]"


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The report of a maintenance run.

    Attributes:
        run: the id by which the run can be undone; ``None`` if it changed nothing that can be undone.
        at: when it ran.
        retention: what ``Settings.retention`` no longer kept, which cannot be undone; ``None`` without rules.
        learned: how many episodes were read into the graph.
        settled: how many entries turned cold.
        pruned: how many faded associations were removed.
        facts: the ids of the facts that it made of recurring memories.
        dossiers: the topics whose dossiers were checked.
        seeds: the thought seeds.
        ephemeral: the share in [0, 1] of new entries that the write gate keeps only for a while.
        errors: the steps that failed, with the reasons; the other steps were done.
    """

    run: str | None
    at: datetime
    learned: int = 0
    settled: int = 0
    pruned: int = 0
    facts: tuple[str, ...] = ()
    dossiers: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    ephemeral: float = 0.0
    errors: tuple[str, ...] = ()
    retention: Retention | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceRun:
    """A maintenance run as it is noted, with counts and no text or id of a memory.

    A run that went on with one that was cut off is noted with what was done since.

    Attributes:
        at: when it ran.
        run: the id by which it can be undone, as long as it can; ``None`` if it changed nothing that can be undone.
        forgotten: how many turns and entries ``Settings.retention`` no longer kept.
        learned: how many episodes were read into the graph.
        settled: how many entries turned cold.
        pruned: how many faded associations were removed.
        facts: how many facts it made of recurring memories.
        seeds: how many thought seeds it named.
        errors: the steps that failed, each with the name of its error.
    """

    at: datetime
    run: str | None = None
    forgotten: int = 0
    learned: int = 0
    settled: int = 0
    pruned: int = 0
    facts: int = 0
    seeds: int = 0
    errors: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether it did anything, or failed to."""
        counts = (self.forgotten, self.learned, self.settled, self.pruned, self.facts)  # seeds are named each time
        return bool(self.run or any(counts) or self.errors)


@dataclass(frozen=True, slots=True)
class Retention:
    """The report of what retention forgot.

    Attributes:
        at: when it ran.
        dry_run: whether it only looked.
        forgotten: how many turns and entries went, by kind; a turn counts once, as ``conversation``.
        ids: their ids.
        kept: the ids of turns and entries that are too old, and stay as long as a fact that rests on them.
    """

    at: datetime
    dry_run: bool = False
    forgotten: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def combined(reports: Sequence[Retention]) -> Retention:
    """Return the reports of several scopes as one."""
    kinds = sum((Counter(report.forgotten) for report in reports), Counter[str]())
    ids = tuple(id_ for report in reports for id_ in report.ids)
    return replace(reports[0], forgotten=dict(kinds), ids=ids, kept=tuple(id_ for each in reports for id_ in each.kept))


WORDS = {
    "scopes": ("scope", "scopes"),
    "entries": ("entry", "entries"),
    "passages": ("passage", "passages"),
    "vectors": ("vector", "vectors"),
    "links": ("link", "links"),
    "log": ("line of a log", "lines of logs"),
    "documents": ("document", "documents"),
    "earlier_documents": ("earlier version of a document", "earlier versions of documents"),
    "volumes": ("count of a kind", "counts of kinds"),
    "gone": ("note of what went", "notes of what went"),
    "saved_columns": ("saved piece of columns", "saved pieces of columns"),
    "keywords": ("keyword index", "keyword index"),
    "wal": ("log of the file", "log of the file"),
}
"""What reports call a row of a table, and several. Other places are called by their names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a check found.

    Attributes:
        table: where it is: a table such as ``entries`` or ``links``, or ``pages``, ``schema``, ``keywords``,
            ``counts``, ``embedder``, ``wal``.
        name: the name of the row, such as the id of an entry or of a link; empty for a fault of the whole table.
        problem: the fault in words.
        repairable: whether ``check(repair=True)`` can rebuild it from what is intact. The rest is lost.
        repaired: whether this check has done so.
    """

    table: str
    name: str
    problem: str
    repairable: bool = False
    repaired: bool = False

    def __str__(self) -> str:
        state = "repaired" if self.repaired else "can be repaired" if self.repairable else "lost"
        one, several = WORDS.get(self.table, (self.table, self.table))
        return f"{f'{one} {self.name}' if self.name else several}: {self.problem} ({state})"


@dataclass(frozen=True, slots=True)
class Check:
    """The report of ``memory.check()``.

    Attributes:
        rows: how many rows each table has.
        faults: what is wrong, without what was repaired by this very check.
        repaired: what this check has repaired.
        waiting: how many scopes have work in the queue.
        log_bytes: the size of the file's write-ahead log, 0 for an engine without one.
        embedder: the id of the embedder that the vectors are from, if the store has any.
    """

    rows: Mapping[str, int]
    faults: tuple[Fault, ...] = ()
    repaired: tuple[Fault, ...] = ()
    waiting: int = 0
    log_bytes: int = 0
    embedder: str | None = None

    @property
    def ok(self) -> bool:
        """Return whether there is no fault left."""
        return not self.faults

    @property
    def lost(self) -> tuple[Fault, ...]:
        """Return the faults that no repair can mend: only a backup has what was there."""
        return tuple(fault for fault in self.faults if not fault.repairable)

    def __str__(self) -> str:
        found = [str(fault) for fault in (*self.repaired, *self.faults)]
        words = {table: WORDS.get(table, (table, table)) for table in self.rows}
        rows = ", ".join(f"{number:,} {words[table][number != 1]}" for table, number in self.rows.items())
        faults = "1 fault" if len(self.faults) == 1 else f"{len(self.faults) or 'no'} faults"
        return "\n".join([f"{faults} in {rows}", *found])


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a store: the file, the time of the state that it holds, and the path that it was made of.

    ``rows`` are the rows of each table, ``size`` is in bytes.
    """

    path: str
    at: datetime
    source: str
    rows: Mapping[str, int]
    size: int


def _no_usage() -> ReaderUsage:
    from tidal_plugins.model.graph import ReaderUsage

    return ReaderUsage()


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of one scope and of the file it is in, as of one moment. They hold no text of a memory.

    Attributes:
        entries: entries of the scope, of every kind, episodes included.
        waiting: turns and notes of the scope that wait for the background: to be appraised after an import, to be read
            for the graph, or for what they supersede.
        file_bytes: size of the file; 0 for an engine that has none.
        log_bytes: size of the log beside it (WAL), which a checkpoint empties.
        unscrubbed_bytes: bytes among which a forgotten text may still stand: 0, or the file and its log as long as a
            reader kept them from being rewritten. The next opening tries again.
        slow: questions since the store was opened here that took more than a tenth of
            ``Settings.storage.query_deadline``.
        timeouts: questions and channels of a recall that took longer than the whole deadline.
        log_lost: whether the file was once opened without its log, which held the last writes of a process that had
            ended without closing. ``check(repair=True)`` reports it for the last time.
        log_readers: who is reading while the log has more than 64 MiB, and so may keep it from beginning anew: threads
            of this process, and on Linux other processes that are in sight.
        reader: the work and the cost of the model that reads turns for the graph.
        kinds: how many entries of each kind there are, episodes included.
        tiers: how many entries are ``warm``, ``cold``, ``archived`` or ``expired``, or ``permanent`` because they do
            not fade; episodes are left out.
    """

    entries: int
    waiting: int
    file_bytes: int
    log_bytes: int
    unscrubbed_bytes: int
    slow: int
    timeouts: int
    log_lost: bool = False
    log_readers: tuple[str, ...] = ()
    reader: ReaderUsage = field(default_factory=lambda: _no_usage())
    kinds: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
