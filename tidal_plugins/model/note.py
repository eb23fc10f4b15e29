"""Note: something to remember, before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from tidal_plugins.model.trust import Channel


@dataclass(frozen=True, slots=True)
class Note:
    """A skill, a knowledge document or a fact to remember.

    Attributes:
        text: the text.
        kind: ``skill``, ``kb`` or ``fact``.
        source: where the text comes from, such as a path or a title. It is searched and shown with the text.
        tags: labels, at most 100 of at most 1,000 characters. Default: estimated.
        importance: in [1, 10]. Default: estimated.
        speaker: who said it, by name.
        role: the role of the speaker.
        thread: the conversation that it belongs to.
        occurred_at: when it happened; an aware time. Default: now.
        valid_until: the time until which it holds.
        channel: who wrote it: ``user``, ``agent``, ``tool`` or ``document``. Only a user's words may become a rule or a
            priority.
        trust: how far it is trusted, in [0, 1]. Default: by its channel, 1.0, 0.8, 0.5 and 0.7.
        metadata: further fields, as JSON values.
    """

    text: str
    kind: str = "kb"
    source: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    speaker: str | None = None
    role: str | None = None
    thread: str | None = None
    occurred_at: datetime | None = None
    valid_until: datetime | None = None
    channel: Channel = "document"
    trust: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class NoteFields(TypedDict, total=False):
    """The fields of a :class:`Note` except its text, as keyword arguments."""

    kind: str
    source: str | None
    tags: Sequence[str] | None
    importance: float | None
    speaker: str | None
    role: str | None
    thread: str | None
    occurred_at: datetime | None
    valid_until: datetime | None
    channel: Channel
    trust: float | None
    metadata: Mapping[str, Any] | None
