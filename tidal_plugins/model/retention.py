"""Retention: what went because it was too old."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


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
