"""Recurrence: the repeated use that turns an entry into knowledge [Tidal §2.4]."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tidal_plugins.model.clock import hours_between


def recurrence(uses: Iterable[tuple[datetime, str]], *, turns: int, hours: float) -> frozenset[str]:
    """Return the turns that use something within ``hours`` of each other [Tidal §2.4].

    Fewer than ``turns`` of them count as none. ``uses`` are times with the turns' ids, in any order; a turn counts
    once. Of several such spans the earliest counts, with every turn in it.
    """
    ordered = sorted(uses)
    for start, _ in ordered:
        within = frozenset(turn for at, turn in ordered if 0 <= hours_between(start, at) <= hours)
        if len(within) >= turns:
            return within
    return frozenset()
