"""A memory whose texts lie at set cosines with the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.tuned import tuned
from tidal_plugins import Affect, Message, Note, TidalMemory

QUESTION = "zebra"
"""A question that shares no word with the texts, so that only the vector channel finds them."""


class Directions:
    """Embeds each text at its cosine with the question, which is 0 if none is set.

    Texts are perpendicular to each other unless turned by degrees.
    """

    id = "directions"
    dimensions = 256

    def __init__(self, cosines: Mapping[str, float], degrees: Mapping[str, float] | None = None) -> None:
        self._cosines, self._degrees = cosines, degrees or {}
        self._axes: dict[str, int] = {}

    def embed(self, texts: Sequence[str]) -> Any:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        row = np.zeros(self.dimensions, np.float32)
        if text == QUESTION:
            row[0] = 1
            return row
        row[0] = cosine = self._cosines.get(text, 0.0)
        rest = math.sqrt(1 - cosine**2)
        if text in self._degrees:
            angle = math.radians(self._degrees[text])
            row[1:3] = rest * math.cos(angle), rest * math.sin(angle)
        else:
            row[3 + self._axes.setdefault(text, len(self._axes)) % (self.dimensions - 3)] = rest
        return row


class Feelings:
    """Returns the affects that it was given for texts."""

    def __init__(self, affects: Mapping[str, Affect]) -> None:
        self._affects = affects

    def estimate(self, texts: Sequence[str], vectors: Any = None) -> list[Affect]:
        return [self._affects.get(text, Affect()) for text in texts]


def lying(
    open_memory: Any,
    cosines: Mapping[str, float],
    *,
    affects: Mapping[str, Affect] | None = None,
    degrees: Mapping[str, float] | None = None,
    name: str = "agent.db",
    **settings: Any,
) -> TidalMemory:
    """Open an empty memory that will embed these texts at these cosines, and read these affects in them."""
    memory: TidalMemory = open_memory(
        name,
        embedder=Directions(cosines, degrees),
        emotion=Feelings(affects or {}),
        settings=tuned(graph={"enabled": False}, affect={"rate": 1.0, "least": 1.0}, **settings),
    )
    return memory


def holding(
    open_memory: Any, cosines: Mapping[str, float], *, affects: Mapping[str, Affect] | None = None, **options: Any
) -> TidalMemory:
    """Open a memory that holds texts at these cosines. Texts in ``affects`` are recorded, the others remembered."""
    memory = lying(open_memory, cosines, affects=affects, **options)
    for text in cosines:
        if text in (affects or {}):
            memory.record(text)
        else:
            memory.remember(text)
    return memory


def say(memory: TidalMemory, *said: tuple[str, str], thread: str | None = None) -> None:
    """Record turns in order. Each is a role or a speaker, and a text."""
    for role, text in said:
        known = role in ("user", "assistant")
        message = Message(role if known else "user", text, speaker=None if known else role)
        memory.record(messages=[message], thread=thread)


def noted(memory: TidalMemory, text: str, **fields: Any) -> str:
    return memory.remember(Note(text, **fields)).id
