"""Persistent facts: a value under a key, what it was before, and what contradicts it [Capsule]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One value that a key had or has: true from ``since`` until ``until`` (``None``: still), known from
    ``recorded_at`` on.

    ``source`` is the citation or the name of where it comes from.
    """

    key: str
    value: Any
    since: datetime
    until: datetime | None
    recorded_at: datetime
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text says of a fact: that it is ``value``, or where ``negated`` that it is not.

    ``quote`` is the sentence that says so. ``explicit``: it sets the value in so many words («X = Y», «X changed to
    Y»), so that any other value contradicts it; else only what is plainly its opposite does.
    """

    key: str
    value: Any
    quote: str
    negated: bool = False
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class FactConflict:
    """A text that contradicts a fact, open until somebody resolves it.

    ``fact`` is the value that the fact has, ``claim`` what the text says in ``quote`` (with ``negated``, that it is
    not so). ``entry`` is the text's id, ``citation`` how to cite it, ``at`` when it was said.
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
