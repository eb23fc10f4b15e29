"""The ways to rank turns for a question that the recall benchmark compares."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.embedders import CachedEmbedder
from benchmarks.locomo import Conversation
from benchmarks.metrics import DEPTH
from tidal_plugins import (
    Affect,
    TidalMemory,
)
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS
from tidal_plugins.retrieval import pipeline
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.scoring.ranking import reciprocal_rank
from tidal_plugins.settings import Profile
from tidal_plugins.storage.base import Where
from tidal_plugins.tuning import RecallTuning

Arm = Callable[[str], list[str]]
"""A function that takes a question and returns the ids of turns, best first."""

POOL = 100
RRF = 60
PLAIN = "plain RRF"
WORDS, FLOOR_KEYWORDS, FLOOR_VECTORS = "FTS5, all words", "keywords only", "vectors only"

STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("no keywords", {"keywords": 0.0}),
    ("no length normalisation", {"brevity": 1e9}),
    ("no speaker match", {"speaker": 0.0}),
    ("assistant counts in full", {"assistant": 0.0}),
    ("no passage discount", {"passages": 0.0}),
    ("no recency of turns that go on", {"recency": 0.0}),
    ("no thread", {"thread": 0.0}),
    ("no neighbours", {"neighbours": 0.0}),
    ("long messages lean on others too", {"turn": 1e9}),
    ("who tells counts no more than who asks", {"time_mention": 0.0}),
    ("no thread, no neighbours, no time mention", {"thread": 0.0, "neighbours": 0.0, "time_mention": 0.0}),
    ("no times", {"time": 0.0}),
    ("no decay", {"decay": 0.0}),
    ("thread × 0.15", {"thread": 0.15}),
    ("thread × 0.4", {"thread": 0.4}),
    ("neighbours × 0.1", {"neighbours": 0.1}),
    ("neighbours × 0.2", {"neighbours": 0.2}),
    ("neighbours of the 10 best", {"reach": 10}),
    ("keywords × 0.3", {"keywords": 0.3}),
    ("keywords × 0.5", {"keywords": 0.5}),
    ("keywords × 0.7", {"keywords": 0.7}),
    ("importance × 0", {"importance": 0.0}),
    ("importance × 0.25", {"importance": 0.25}),
    ("importance × 0.5", {"importance": 0.5}),
    ("importance × 1", {"importance": 1.0}),
)
"""Settings of recall for ``balanced`` without each of its steps, and with more or less of some."""

NAMES_STAY = "names stay in the embedded query"


def recall_arm(memory: TidalMemory, profile: Profile) -> Arm:
    """Return recall as users call it."""

    def ask(question: str) -> list[str]:
        found = memory.recall(question, limit=DEPTH, profile=profile, affect=Affect())
        return [hit.entry.metadata["message"] for hit in found]

    return ask


def channel_arms(memory: TidalMemory, embedder: CachedEmbedder) -> dict[str, Arm]:
    """Return each channel of the store by itself, as a floor. No public call shows one, so this uses internals."""
    storage, scope, where = memory._services.storage, memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL])
    turns = turns_of(memory)

    def keywords(question: str) -> list[str]:
        return [turns[match.id] for match in storage.matching(scope, to_query(question, ()).terms, DEPTH, where)]

    def vectors(question: str) -> list[str]:
        return [turns[match.id] for match in storage.nearest(scope, embedder.embed([question])[0], DEPTH, where)]

    return {FLOOR_KEYWORDS: keywords, FLOOR_VECTORS: vectors}


def turns_of(memory: TidalMemory) -> dict[str, str]:
    """Return the ids of turns by the ids of their entries."""
    found = memory._services.storage.find(memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL]))
    return {entry.id: str(entry.metadata["message"]) for entry in found}


def plain_arms(conversation: Conversation, embedder: CachedEmbedder) -> dict[str, Arm]:
    """Return textbook search over whole turns: FTS5 with all their words, exact cosine, and RRF of the two."""
    ids = [turn.id for turn in conversation.turns]
    texts = [f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in conversation.turns]
    matrix = embedder.embed(texts)
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE turns USING fts5 (text)")
    table.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", enumerate(texts))

    def words(question: str) -> list[str]:
        cleaned = "".join(c if c.isalnum() else " " for c in question).split()
        wanted = " OR ".join(f'"{word}"' for word in cleaned)
        sql = f"SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT {POOL}"
        return [ids[row] for (row,) in table.execute(sql, (wanted,))] if wanted else []

    def vectors(question: str) -> list[str]:
        near = matrix @ embedder.embed([question])[0]
        return [ids[row] for row in (-near).argsort(kind="stable")[:POOL]]

    def both(question: str) -> list[str]:
        places = [{id_: place for place, id_ in enumerate(arm(question), 1)} for arm in (words, vectors)]
        ids = {id_ for place in places for id_ in place}
        fused = {id_: reciprocal_rank([place.get(id_, 0) for place in places], k=RRF) for id_ in ids}
        return sorted(fused, key=lambda id_: -fused[id_])

    return {WORDS: words, PLAIN: both}


def variants() -> dict[str, dict[str, Any]]:
    """Return the ablations that differ from the defaults."""
    defaults = RecallTuning().model_dump()
    return {name: change for name, change in STEPS if any(defaults[key] != value for key, value in change.items())}


def names_stay(arm: Arm) -> Arm:
    """Return an arm of recall that embeds a question unchanged. No setting does that, so this uses internals."""

    def ask(question: str) -> list[str]:
        vars(pipeline).update(to_query=lambda text, speakers: replace(to_query(text, speakers), meaning=text))
        try:
            return arm(question)
        finally:
            vars(pipeline).update(to_query=to_query)

    return ask
