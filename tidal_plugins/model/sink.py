"""Sinks: the graph of one scope as another graph engine gets it, in batches, and the result of mirroring it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tidal_plugins.model.graph import Category, Evidence

Status = Literal["holds", "ended", "planned", "denied", "superseded"]


@dataclass(frozen=True, slots=True)
class SinkEntity:
    """An entity; those that were merged into it are among its ``aliases``."""

    id: str
    name: str
    type: str
    category: Category
    aliases: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class SinkEpisode:
    """An episode that the graph rests on: ``mentions`` are ids of entities, ``relations`` of what it is evidence for.

    ``text`` has its messages, one after another, for a sink that wants them, with secrets masked; else it is empty.
    """

    id: str
    thread: str | None
    at: datetime
    mentions: tuple[str, ...]
    relations: tuple[str, ...]
    text: str = ""

    @property
    def citation(self) -> str:
        """Return the episode as a citation, such as ``[ep:0190…]``."""
        return f"[ep:{self.id}]"


@dataclass(frozen=True, slots=True)
class SinkRelation:
    """One version of a relation.

    Attributes:
        id: the version's own id.
        relation: the relation's id, as ``memory.graph`` knows it. It is the ``id`` of what is believed now.
        subject: the id of an entity.
        predicate: what the one is or does to the other, in snake case.
        object: the id of an entity.
        negated: whether it is denied.
        status: ``superseded`` is no longer believed, ``denied`` is said not to be, ``ended`` was true, ``planned``
            becomes true, and ``holds`` is true now, at the time of mirroring.
        fact: the relation in words.
        confidence: in (0, 1], when it was last confirmed; ``memory.graph`` lets it fade from then on.
        confirmed_at: when that was.
        valid_from: when it became true, as far as anybody said.
        valid_until: when it ended, as far as anybody said.
        recorded_at: since when it is believed.
        superseded_at: until when it was believed.
        evidence: where it was said, newest first, by citations without words.
    """

    id: str
    relation: str
    subject: str
    predicate: str
    object: str
    negated: bool
    status: Status
    fact: str
    confidence: float
    confirmed_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class SinkIds:
    """Ids of entities, episodes and relations."""

    entities: frozenset[str] = frozenset()
    episodes: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """Changes that a sink applies: what is ``removed`` first, then entities, episodes and relations, each whole.

    ``graph`` is an id of letters and digits that stands for one scope of one store, so that several may share an
    engine; ``scope`` is the name of the scope, such as ``user/42``.
    """

    graph: str
    scope: str
    removed: SinkIds = SinkIds()
    entities: tuple[SinkEntity, ...] = ()
    episodes: tuple[SinkEpisode, ...] = ()
    relations: tuple[SinkRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The result of mirroring a graph: how much was written, new or changed, how much was removed, and what stayed."""

    entities: int = 0
    episodes: int = 0
    relations: int = 0
    removed: int = 0
    unchanged: int = 0

    def __str__(self) -> str:
        wrote = f"{self.entities:,} entities, {self.episodes:,} episodes and {self.relations:,} relations written"
        return f"{wrote}, {self.removed:,} removed, {self.unchanged:,} unchanged"
