"""Erasures as they are noted: when something was forgotten and how much, without a text or an id of it."""

from __future__ import annotations

from datetime import datetime

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.receipt import Erasure, Receipt
from tidal_plugins.storage.base import Line, Storage

ERASURES = "forgettings"
"""Log of what was forgotten in a scope."""

KEPT = 1_000
"""Erasures of a scope that are kept."""

_KEY = "erasure"


def note_erasure(storage: Storage, scope: Scope, receipt: Receipt, now: datetime) -> None:
    """Note a forgetting, unless nothing went. Call it inside the transaction that erases."""
    if not receipt:
        return
    value = {
        "count": receipt.count,
        "shelves": dict(receipt.shelves),
        "links": receipt.links,
        "blanked": len(receipt.blanked),
    }
    storage.append_log(scope, ERASURES, [Line(_KEY, now, value)])
    storage.trim_log(scope, ERASURES, keep=KEPT)


def noted_erasures(storage: Storage, scope: Scope, limit: int) -> list[Erasure]:
    """Return the last erasures of a scope, the newest first."""
    lines = storage.read_log(scope, ERASURES, limit=limit, newest_first=True)
    return [
        Erasure(line.at, line.value["count"], line.value["shelves"], line.value["links"], line.value["blanked"])
        for line in lines
    ]
