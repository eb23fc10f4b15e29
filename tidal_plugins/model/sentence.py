"""What a sentence does, and what it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Act = Literal["statement", "question", "request", "social"]
"""What a sentence does. ``social``: thanks, greetings, praise, acknowledgements and reactions without a content."""

Tag = Literal["lasting", "vital", "change", "plan", "done", "preference", "rule", "identity", "advice", "number"]
"""What a sentence carries. ``lasting``: still true and useful in months. ``vital``: to forget it could do harm.
``change``: something is not as before. ``plan``: what somebody will do. ``done``: what was done. ``rule``: what holds
from now on for what others do. ``identity``: who somebody is. ``advice``: what the other one should do. ``number``: a
figure, date, time or amount."""

ACTS: tuple[Act, ...] = get_args(Act)
TAGS: tuple[Tag, ...] = get_args(Tag)


@dataclass(frozen=True, slots=True)
class SentenceTags:
    """How a sentence was read: its act, its tags, and the chance of each act and tag, from 0 to 1."""

    act: Act
    tags: frozenset[Tag]
    scores: Mapping[str, float]
