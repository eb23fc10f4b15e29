"""Compactions as they are noted: when a context was rebuilt, and how much smaller it became."""

from __future__ import annotations

from datetime import datetime

from tidal_plugins.model.compaction import Compacted, Compaction, Size
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Storage

MADE = "compactions"
"""Log of the contexts that were rebuilt, by the last episode that each stands in for. A line goes with its episode."""

KEPT = 1_000
"""Compactions of a scope that are kept."""


def note_compaction(storage: Storage, scope: Scope, made: Compaction, now: datetime) -> None:
    """Note a compaction. Call it inside the transaction that stores the context."""
    if not made.episodes:
        return
    value = {
        "stage": made.stage,
        "before": [made.before.tokens, made.before.bytes],
        "after": [made.after.tokens, made.after.bytes],
        "turns": len(made.episodes),
    }
    storage.append_log(scope, MADE, [Line(made.episodes[-1], now, value)])
    storage.trim_log(scope, MADE, keep=KEPT)


def noted_compactions(storage: Storage, scope: Scope, limit: int) -> list[Compacted]:
    """Return the last compactions of a scope, the newest first."""
    with storage.snapshot():
        lines = storage.read_log(scope, MADE, limit=limit, newest_first=True)
        known = storage.summaries(scope, {line.key for line in lines})
    return [
        Compacted(
            at=line.at,
            episode=line.key,
            thread=known[line.key].thread if line.key in known else None,
            stage=line.value["stage"],
            before=Size(*line.value["before"]),
            after=Size(*line.value["after"]),
            turns=line.value["turns"],
        )
        for line in lines
    ]
