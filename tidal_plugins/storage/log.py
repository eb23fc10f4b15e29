"""The contract of the log: lines under a key, appended in order, cut off at the old end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope


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
