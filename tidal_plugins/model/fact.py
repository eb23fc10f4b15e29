"""Persistent facts: a value under a key, what it was before, and what contradicts it [Capsule]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


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
