"""Facts: the relations that a line of a file states, between entities by name and type."""

from __future__ import annotations

from typing import NamedTuple

from tidal_plugins.graph.code.code_file import FactKey

SURE = 0.95
"""Confidence of what a syntax tree says: as that of code in a text."""
LIKELY = 0.7
"""Confidence that an object is of the only class around whose name ends like its own: ``store`` of ``OrderStore``."""


class Thing(NamedTuple):
    """An entity by its name and its type."""

    name: str
    type: str


class Fact(NamedTuple):
    """A relation that a line of a file states, counted from 0."""

    subject: Thing
    predicate: str
    object: Thing
    line: int
    confidence: float = SURE

    @property
    def key(self) -> FactKey:
        return (*self.subject, self.predicate, *self.object)


def fact_of(key: FactKey) -> Fact:
    """Return a relation as it was kept, without its line."""
    return Fact(Thing(*key[:2]), key[2], Thing(*key[3:]), -1)
