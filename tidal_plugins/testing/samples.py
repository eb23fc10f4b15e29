"""Entries to test with, and texts that mean something to databases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Admission, Entry, Link, Scope, Tier
from tidal_plugins.storage.base import Passage, Record, Storage, Where
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.testing.clock import NOON

HERE: Scope = ("here",)
ALL = Where()
HOSTILE = [
    "' OR 1=1 --",
    '"',
    '""',
    "a' OR 'a'='a",
    "%",
    "_",
    "*",
    "NEAR(a b)",
    "scope:s1",
    "terms : x",
    "a\0b",
    "(",
    "-",
]


def entry(id: str, text: str = "text", *, scope: Scope = HERE, kind: str = "conversation", **fields: Any) -> Entry:
    """Return an entry of which only the interesting fields are given."""
    times = {"occurred_at": NOON, "recorded_at": NOON}
    return Entry(id=id, kind=kind, text=text, scope=scope, **{**times, **fields})


def record(id: str, text: str = "text", vector: Any = None, **fields: Any) -> Record:
    """Return a record of an entry that its words and ``vector`` make findable."""
    return Record(entry(id, text, **fields), [Passage(0, len(text), text.lower(), vector)])


def link(id: str, source: str, target: str, **fields: Any) -> Link:
    """Return a link of which only the interesting fields are given."""
    return Link(**{"id": id, "kind": "kind", "source": source, "target": target, "recorded_at": NOON, **fields})


def ids(found: Sequence[Any]) -> list[str]:
    return [item.id for item in found]


FULL = Entry(
    id="full",
    kind="kb",
    text="Grüße, 東京! \u202e «é» 🙂\nzweite Zeile\0Ende",
    scope=HERE,
    occurred_at=datetime(1969, 7, 20, 20, 17, 40, 123457, tzinfo=UTC),
    recorded_at=datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
    tier=Tier(1.25, NOON, 72.0, NOON + timedelta(days=20), NOON + timedelta(days=219), NOON + timedelta(days=14)),
    thread="s/1",
    episode="e1",
    position=7,
    speaker="Zoë",
    role="user",
    source="notes.md",
    channel="import",
    trust=0.7,
    importance=9.5,
    affect=Affect(-0.1, 0.30000000000000004, {"joy": 0.25, "Ärger": 0.0}),
    tags=("jazz", "piano ' -- %", "東京"),
    valid_from=NOON - timedelta(days=1),
    valid_until=NOON + timedelta(microseconds=1),
    metadata={"a": [1, {"b": None}], "ü": True, "quote\"'": 1.5, "": "x", "big": 2**70},
    admission=Admission(9.5, 0.3, 0.25, 0.61, "an importance of 9.5 is at least 8", NOON + timedelta(days=14)),
)


def best_cosines(store: Storage, scope: Scope, ids: Sequence[str], vector: Any) -> dict[str, float]:
    """Return by entry the best cosine of its passages with ``vector``."""
    passages, found = passage_vectors(store, scope, ids), dict[str, float]()
    for span, unit in zip(passages.spans, passages.units, strict=True):
        score = float(cosines(unit[None], vector)[0])
        found[span.id] = max(score, found.get(span.id, -1.0))
    return found


def cosines(vectors: Any, query: Any) -> Any:
    """Return the cosines of one vector with the rows of a matrix, in double precision."""
    vectors, query = np.asarray(vectors, np.float64), np.asarray(query, np.float64)
    return vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
