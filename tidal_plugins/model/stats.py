"""Stats: the figures by which an operator watches a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidal_plugins.model.reader import ReaderUsage


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of one scope and of the file it is in, as of one moment. They hold no text of a memory.

    Attributes:
        entries: entries of the scope, of every kind, episodes included.
        waiting: turns and notes of the scope that wait for the background: to be read for the graph, or for what they
            supersede.
        file_bytes: size of the file; 0 for an engine that has none.
        log_bytes: size of the log beside it (WAL), which a checkpoint empties.
        unscrubbed_bytes: bytes among which a forgotten text may still stand: 0, or the file and its log as long as a
            reader kept them from being rewritten. The next opening tries again.
        slow: questions since the store was opened here that took more than a tenth of
            ``Settings.storage.query_deadline``.
        timeouts: questions and channels of a recall that took longer than the whole deadline.
        log_lost: whether the file was once opened without its log, which held the last writes of a process that had
            ended without closing. ``check(repair=True)`` reports it for the last time.
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
    reader: ReaderUsage = field(default_factory=ReaderUsage)
    kinds: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
