"""The state that the steps of a write share: what one turn, or one note, becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.storage.base import Record

if TYPE_CHECKING:
    from tidal_plugins.facts.conflicts import Said

How = Literal["cited", "echoed"]
"""Way in which an answer used a memory that it was shown."""


@dataclass(frozen=True, slots=True)
class Writing:
    """The place and the time of a write."""

    writer: Writer
    scope: Scope
    now: datetime


@dataclass(slots=True)
class Plan:
    """New entries on their way into the store. The steps fill in what they find out."""

    entries: list[Entry]
    records: Mapping[str, Record] = field(default_factory=dict)
    """The records of the whole batch, by entry id."""
    nearest: Mapping[str, float] = field(default_factory=dict)
    """The cosine of each new entry to the nearest known one. Only the write gate asks for it."""
    claims: list[Said] = field(default_factory=list)
    """The claims of the entries about facts."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What each entry says and in which voice, as a keyed hash, by entry id."""
    intensity: float = 0.0
    """The strength of the strongest feeling, in [0, 1]."""
    repetitions: set[str] = field(default_factory=set)
    """The ids of entries that repeat a known one word for word."""


@dataclass(slots=True)
class TurnPlan(Plan):
    """One exchange on its way into the store."""

    episode: Episode = field(kw_only=True)
    known: Episode | None = field(kw_only=True)
    """The episode as it is stored already."""
    fresh: Episode = field(kw_only=True)
    """The episode with only the messages that are new: its feeling and its entries come from these."""
    affect: AffectLoop = field(kw_only=True)
    query: Affect = field(default_factory=Affect)
    answer: Affect = field(default_factory=Affect)
    feelings: Mapping[str, Affect] = field(default_factory=dict)
    """The feeling of each entry's text, by entry id."""
    shown: Mapping[str, How | None] = field(default_factory=dict)
    """The ids of the memories that were shown before the turn, with how its answer used them."""
    forgotten: bool = False

    @property
    def nothing_new(self) -> bool:
        return self.forgotten or (self.known is not None and self.known.messages == self.episode.messages)

    @property
    def standing(self) -> Episode:
        """Return the episode as it is stored already, when there is nothing new."""
        return self.episode if self.forgotten or self.known is None else self.known
