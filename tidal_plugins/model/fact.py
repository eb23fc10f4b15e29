"""Named facts, what is claimed of them, and later statements that take the place of earlier ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tidal_plugins.model.entry import Scope, derive_id


@dataclass(frozen=True, slots=True)
class Fact:
    """One value that a key has or had.

    Attributes:
        key: the key, as it was last given.
        value: the value.
        since: when it became true.
        until: when it ceased to be; ``None`` if it still holds.
        recorded_at: when it was stored.
        source: the citation or the name of its origin.
    """

    key: str
    value: Any
    since: datetime
    until: datetime | None
    recorded_at: datetime
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a text about a fact.

    Attributes:
        key: the key of the fact.
        value: the value that the text states, or denies.
        quote: the sentence that says so.
        negated: whether the text denies the value.
        explicit: whether the text sets the value («X = Y», «X changed to Y»), so that any other value contradicts it.
            Otherwise only the plain opposite does.
    """

    key: str
    value: Any
    quote: str
    negated: bool = False
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class FactConflict:
    """A text that contradicts a fact, or what a person said before, open until somebody resolves it.

    Attributes:
        id: the id to resolve it by.
        key: the key of the fact; between two texts, the words that both are about.
        fact: the value that the fact has; between two texts, the earlier statement.
        claim: the value that the text states, or denies; between two texts, the later statement.
        negated: whether the text denies the value.
        quote: the sentence that says so.
        entry: the id of the text's entry.
        citation: how to cite the text.
        at: when it was said.
        against: the id of the entry with the earlier statement; ``None`` for a conflict with a fact.
    """

    id: str
    key: str
    fact: Any
    claim: Any
    negated: bool
    quote: str
    entry: str
    citation: str
    at: datetime
    against: str | None = None


SUPERSEDES = "supersedes"
"""Kind of the links. Their source is the later entry."""

CORRECTED = "corrected"
"""The reason for a link from an entry that was corrected to what it said before."""


def supersession_id(scope: Scope, later: str, earlier: str) -> str:
    """Return the id of the link between two entries, which is one however often it is found."""
    return derive_id(scope, SUPERSEDES, later, earlier)


@dataclass(frozen=True, slots=True)
class Replacement:
    """The values that two statements give to one thing, and why they do.

    Attributes:
        old: the value that the earlier statement names, in its words.
        new: the value that holds instead, in the words of the later one; empty where it only says that ``old`` ended.
        reason: the words that say that something changed; empty where the two say the same but for the value.
        confidence: how sure it is, in [0, 1].
    """

    old: str
    new: str
    reason: str
    confidence: float

    def __str__(self) -> str:
        cue = f" («{self.reason}»)" if self.reason else ""
        return f"{self.new} instead of {self.old}{cue}" if self.new else f"no longer {self.old}{cue}"


@dataclass(frozen=True, slots=True)
class Supersession:
    """A link from a later entry to the earlier one that it supersedes.

    Attributes:
        later: the id of the entry that holds the newer value.
        earlier: the id of the entry that it supersedes.
        replacement: both values, the reason and the confidence.
        since: the time from which the newer value holds: when it was said.
        undone_at: when somebody took the link back; it counts for nothing from then on. ``None`` if it stands.
    """

    later: str
    earlier: str
    replacement: Replacement
    since: datetime
    undone_at: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that ``json`` takes."""
        times = {"since": self.since.isoformat(), "undone_at": self.undone_at and self.undone_at.isoformat()}
        return {**asdict(self), **times}

    def __str__(self) -> str:
        return f"{self.later} supersedes {self.earlier}: {self.replacement}"
