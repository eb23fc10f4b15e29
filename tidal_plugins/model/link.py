"""Link: two nodes that have to do with each other, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

REPEAT = "repeat"
"""Kind of the link from an entry that says again what another one said to that one, word for word."""

WORDING = "wording"
"""Kind of the link from an entry that was corrected to each entry that keeps an earlier wording of it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of some ``kind`` between two nodes, which are entries or anything else that has an id.

    ``weight`` is the weight at ``anchored_at``. The writer of a link knows how it fades, and sets ``expires_at`` to the
    time from which the link counts for nothing (``None``: never). Of links that fade alike, the one that lasts longest
    is therefore the strongest at any time. ``valid_from`` and ``valid_until`` say when the link was true,
    ``recorded_at`` and ``superseded_at`` when it was believed. Several links may join the same nodes; links with the
    same id are one.
    """

    id: str
    kind: str
    source: str
    target: str
    recorded_at: datetime
    weight: float = 1.0
    anchored_at: datetime | None = None
    expires_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
