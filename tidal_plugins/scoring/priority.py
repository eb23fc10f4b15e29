"""Worth of a sentence by what the tagger read in it, and priorities of texts in a summary."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from tidal_plugins.model.sentence import SentenceTags, Tag
from tidal_plugins.patterns import lazy_re

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
MIN_PRIORITY = 0.6
"""Priority below which no sentence is worth a place, however much there is."""
STATED = 0.5
"""Share of a message's words from which on another text states it: a smaller part of it is worth little."""


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


def sentence_priority(
    worth: float, *, least: float, role: str | None = None, power: float = 0.4, assistant: float = 0.65
) -> float:
    """Return ``(worth / least)^power`` for a worth in [``least``, 1] [SIYA §2.2].

    A statement that carries nothing has 1. Decisions, preferences, requirements and figures have more. An assistant's
    sentences count less: the lines of its tools state its actions, and many of its sentences are questions.
    """
    return float((worth / least) ** power) * (assistant if role == "assistant" else 1.0)


def tool_priority(
    kind: str,
    *,
    check: bool = False,
    failed: float = 1.5,
    changed: float = 2.0,
    checked: float = 2.0,
    ran: float = 0.7,
    looked: float = 0.25,
) -> float:
    """Return the priority of a tool's line; a plain sentence has 1.

    Changes, the verdict of a ``check`` (tests, a build, a linter) and failures come first, mere reading last
    [SIYA §2.2].
    """
    if check:
        return checked
    return {"failed": failed, "changed": changed, "ran": ran}.get(kind, looked)


def specificity(text: str, *, each: float = 0.2, most: int = 2) -> float:
    """Return 1 plus ``each`` for every name, number, path or identifier, up to ``most``. These cannot be guessed."""
    found: set[str] = set()
    for match in (_SPECIFIC if _INSIDE.search(text) else _NAME_OR_NUMBER).finditer(text):
        found.add(match[0])
        if len(found) >= most:
            break
    return 1 + each * len(found)


_NAME_OR_NUMBER = lazy_re(r"[A-Z\d](?:(?<=[a-z0-9,;:] [A-Z])(?!\b)[\w'’-]*|(?<=\d)(?<!\w\d)[\w.:/-]*)")
"""Names and numbers, led by one set of characters, which lets the engine skip everything else."""
_INSIDE = lazy_re(r"[_/.A-Z](?:(?<=[a-z][A-Z])|(?<=[_/.])(?=\w))")
"""What paths and identifiers have inside, and few other texts."""
_SPECIFIC = lazy_re(r"(?<=[a-z0-9,;:] )[A-Z](?!\b)[\w'’-]*|\b\d[\w.:/-]*|\b\w+[_/.](?=\w)[\w/.]*|\b[a-z]+[A-Z]\w*")


def rarity(sources_with: int, sources: int, *, power: float = 1.5) -> float:
    """Return ``ln(1 + sources / sources_with)^power``: the information of a word in ``sources_with`` of the sources."""
    return float(math.log(1 + sources / max(1, sources_with)) ** power)


def restated(weight: float, times: int, *, repeat: float = 0.85) -> float:
    """Return ``weight · repeat^times``: what is left of a word's weight when it was stated so many times already."""
    return weight * repeat**times


def information(weights: Iterable[float], *, power: float = 0.8) -> float:
    """Return ``(Σ weight)^power`` over the words of a text, each with what is left of its weight (``restated``)."""
    return float(math.fsum(weights) ** power)


def states(said: Collection[str], words: Collection[str], *, share: float = STATED) -> bool:
    """Return whether a statement has enough of a message's words to replace it."""
    return bool(words) and sum(word in said for word in words) >= share * len(words)
