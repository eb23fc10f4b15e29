"""Worth: what a sentence is worth in a document or a summary, by how it was read."""

from __future__ import annotations

from collections.abc import Mapping

from tidal_plugins.model.sentence import SentenceTags, Tag

WORTH: Mapping[Tag, float] = {
    "vital": 1.0,
    "rule": 0.8,
    "lasting": 0.7,
    "identity": 0.7,
    "change": 0.6,
    "plan": 0.6,
    "done": 0.6,
    "preference": 0.5,
    "number": 0.3,
}
"""What a tag that is sure makes a sentence worth. What it is worth by several tags adds up as chances do."""
LEAST = 0.15
"""Worth of a statement without any tag."""
IMPORTANT = 0.8
"""Worth of a sentence whose entry has an importance of 10; one of 5, which says nothing, adds none."""
ANSWERED = 0.5
"""Worth of what an agent says without reporting work, as a share of that of what a person says."""


def carried(read: SentenceTags, *, importance: float = 5.0) -> float:
    """Return what a sentence is worth by its tags and its importance in [1, 10], in [``LEAST``, 1]."""
    left = 1 - LEAST
    for tag, most in WORTH.items():
        left *= 1 - most * read.scores[tag]
    return 1 - left * (1 - IMPORTANT * max(0.0, (importance - 5) / 5))


def worth(read: SentenceTags, *, importance: float = 5.0, by_agent: bool = False) -> float:
    """Return what a sentence is worth by itself, in [0, 1]: next to nothing if it asks, thanks or greets."""
    value = carried(read, importance=importance) * (1 - read.scores["social"]) * (1 - read.scores["question"])
    return value * (ANSWERED + (1 - ANSWERED) * read.scores["done"]) if by_agent else value
