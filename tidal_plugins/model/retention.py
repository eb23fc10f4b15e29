"""Retention: what went because it was too old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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


def combined(reports: Sequence[Retention]) -> Retention:
    """Return the reports of several scopes as one."""
    kinds = sum((Counter(report.forgotten) for report in reports), Counter[str]())
    ids = tuple(id_ for report in reports for id_ in report.ids)
    return replace(reports[0], forgotten=dict(kinds), ids=ids, kept=tuple(id_ for each in reports for id_ in each.kept))
