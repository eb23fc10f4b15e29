"""Sessions: signals that one agent writes for one user under a policy [tidalDB]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

Action = Literal["remember", "forget"]
"""What an agent may do in a session beside signals: store a note, and remove memories for good."""

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)


class SignalType(BaseModel):
    """The effect of signals of one type: how fast they fade, and whether they raise or lower an entry."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    half_life: float = Field(24.0, gt=0)
    """Hours."""
    sign: Literal[-1, 0, 1] = 1
    """Its effect on the ranking of a whole scope; 0 for none."""


class Policy(BaseModel):
    """The rules for the signals of a session, and for its actions. They are checked when the policy is built.

    Attributes:
        allow: the types of signals, and the actions ``remember`` and ``forget``, that are allowed; if it is empty,
            everything that is not denied.
        deny: the types and actions that are denied.
        max_duration: how long a session may last; ``None`` for no limit.
        max_signals: how many signals and actions it may have; ``None`` for no limit, 0 for none at all.

    Raises pydantic's ``ValidationError``, a ``ValueError``, for a type that is both allowed and denied.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    max_duration: timedelta | None = Field(None, ge=timedelta(0))
    max_signals: int | None = Field(None, ge=0)

    @field_serializer("allow", "deny", when_used="json")
    def _in_order(self, types: frozenset[str]) -> list[str]:
        """Return a set in a fixed order: equal sets come in another order in the next process."""
        return sorted(types)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if both := self.allow & self.deny:
            raise ValueError(f"a policy both allows and denies {', '.join(sorted(both))}: take it out of one list")
        return self


class Counts(NamedTuple):
    """The signals of one type in the last ``minute``, ``hour``, ``day`` and ``week``."""

    minute: int = 0
    hour: int = 0
    day: int = 0
    week: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """An accepted signal. ``score`` is the score of its type for this entry, now."""

    type: str
    entry: str
    weight: float
    at: datetime
    score: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """The note of an agent about an entry."""

    entry: str
    type: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A decision on a signal. ``reason`` says why it was refused."""

    at: datetime
    type: str
    entry: str
    weight: float
    accepted: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The state of a session: its user, agent and policy, and how many signals it has accepted and refused."""

    id: int
    user: str | None
    agent: str | None
    policy: Policy
    policy_name: str | None
    metadata: Mapping[str, Any]
    opened_at: datetime
    closed_at: datetime | None = None
    accepted: int = 0
    rejected: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def remaining(self) -> int | None:
        """Return how many signals its policy still admits; ``None`` for no limit."""
        most = self.policy.max_signals
        return None if most is None else max(0, most - self.accepted)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """Everything that a session holds; of a closed session, as it was when it closed.

    ``scores`` are by type and entry, faded to ``at``; ``counts`` are by type.
    """

    info: SessionInfo
    at: datetime
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    annotations: Sequence[Annotation] = ()

    @property
    def entries(self) -> frozenset[str]:
        """Return the ids of the entries that have signals."""
        return frozenset(entry for by_entry in self.scores.values() for entry in by_entry)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """The totals of a session."""

    id: int
    signals_written: int
    rejections: int
    duration: timedelta
    by_type: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SignalTally:
    """The signals of a whole scope: scores by type and entry, faded to ``at``, and counts by type."""

    at: datetime
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    counts: Mapping[str, Counts] = field(default_factory=dict)
