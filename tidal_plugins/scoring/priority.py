"""What is worth a place in a summary: formulas over what the rules of importance and the words of a text say."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping

LEAST = 0.6
"""Priority below which no sentence is worth a place, however much there is."""
STATED = 0.5
"""Share of a message's words from which on another text states it: a smaller part of it is worth little."""


def sentence_priority(
    importance: float,
    *,
    base: float,
    role: str | None = None,
    rise: float = 0.2,
    fall: float = 0.4,
    assistant: float = 0.65,
) -> float:
    """``e^(slope · (importance − base))`` for an importance in [1, 10]: 1 for what no rule speaks about [SIYA §2.2].

    Decisions, preferences, requirements and errors stand above it; below it the slope is steeper: chatter ends low. An
    assistant's sentences count less: what it did stands in the lines of its tools, and much else are questions.
    """
    above = importance - base
    return math.exp((rise if above > 0 else fall) * above) * (assistant if role == "assistant" else 1.0)


def tool_priority(
    kind: str, *, failed: float = 1.5, changed: float = 2.0, ran: float = 0.7, looked: float = 0.25
) -> float:
    """Return the worth of a tool's line beside a plain sentence's 1: changes and failures stand first,
    what only looked something up comes last [SIYA §2.2]."""
    return {"failed": failed, "changed": changed, "ran": ran}.get(kind, looked)


def specificity(text: str, *, each: float = 0.2, most: int = 2) -> float:
    """1, and ``each`` for every name, number, path or identifier up to ``most``: what cannot be guessed."""
    return 1 + each * min(most, len(set(_SPECIFIC.findall(text))))


_SPECIFIC = re.compile(r"(?<=[a-z0-9,;:] )[A-Z](?!\b)[\w'’-]*|\b\d[\w.:/-]*|\b\w+[_/.](?=\w)[\w/.]*|\b[a-z]+[A-Z]\w*")


def rarity(sources_with: int, sources: int, *, power: float = 1.5) -> float:
    """``ln(1 + sources / sources_with)^power``: what a word tells that stands in so many of the sources."""
    return float(math.log(1 + sources / max(1, sources_with)) ** power)


def information(
    words: Iterable[str],
    weights: Mapping[str, float],
    stated: Mapping[str, int],
    *,
    repeat: float = 0.85,
    power: float = 0.8,
) -> float:
    """``(Σ weight · repeat^n)^power`` over the words, each stated ``n`` times already: the second telling says less."""
    return float(math.fsum(weights[word] * repeat ** stated.get(word, 0) for word in words) ** power)


def states(said: Collection[str], words: Collection[str], *, share: float = STATED) -> bool:
    """Return whether what is said has enough of a message's words to tell what it tells."""
    return bool(words) and sum(word in said for word in words) >= share * len(words)
