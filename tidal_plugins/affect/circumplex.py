"""A table of the 27 GoEmotions labels: valence, activation, and the primary emotions that each is made of.

Valence in [−1, 1] and activation in [−1, 1] are the axes of Russell's circumplex, 0 being a plain text; the places
are ours. Plutchik's primary emotions are eight, and most other feelings are mixtures of two: where he names one (love
is joy and trust, remorse is sadness and disgust), the shares are his.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PRIMARY = ("joy", "trust", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
"""Plutchik's primary emotions, in the order of his wheel."""


class Place(NamedTuple):
    """``valence`` and ``activation`` in [−1, 1]; ``parts`` are shares of primary emotions, 1 in all."""

    valence: float
    activation: float
    parts: Mapping[str, float]


def _half(first: str, second: str) -> dict[str, float]:
    return {first: 0.5, second: 0.5}


PLACES: Mapping[str, Place] = {
    "admiration": Place(0.7, 0.3, _half("joy", "trust")),
    "amusement": Place(0.7, 0.5, {"joy": 1}),
    "anger": Place(-0.8, 0.8, {"anger": 1}),
    "annoyance": Place(-0.6, 0.4, {"anger": 1}),
    "approval": Place(0.5, 0.0, {"trust": 1}),
    "caring": Place(0.6, 0.1, {"trust": 1}),
    "confusion": Place(-0.2, 0.1, {"surprise": 1}),
    "curiosity": Place(0.1, 0.1, _half("surprise", "anticipation")),
    "desire": Place(0.3, 0.2, {"anticipation": 1}),
    "disappointment": Place(-0.7, -0.1, {"sadness": 1}),
    "disapproval": Place(-0.6, 0.2, _half("anger", "disgust")),
    "disgust": Place(-0.8, 0.4, {"disgust": 1}),
    "embarrassment": Place(-0.6, 0.2, _half("fear", "disgust")),
    "excitement": Place(0.8, 0.9, _half("joy", "anticipation")),
    "fear": Place(-0.8, 0.8, {"fear": 1}),
    "gratitude": Place(0.8, 0.1, _half("joy", "trust")),
    "grief": Place(-0.9, 0.2, {"sadness": 1}),
    "joy": Place(0.9, 0.6, {"joy": 1}),
    "love": Place(0.9, 0.4, _half("joy", "trust")),
    "nervousness": Place(-0.5, 0.5, _half("fear", "anticipation")),
    "optimism": Place(0.6, 0.2, _half("joy", "anticipation")),
    "pride": Place(0.7, 0.4, {"joy": 1}),
    "realization": Place(0.1, 0.0, {"surprise": 1}),
    "relief": Place(0.5, -0.2, {"joy": 1}),
    "remorse": Place(-0.7, -0.1, _half("sadness", "disgust")),
    "sadness": Place(-0.8, -0.1, {"sadness": 1}),
    "surprise": Place(0.1, 0.6, {"surprise": 1}),
    "neutral": Place(0.0, 0.0, {}),
}
"""Every label of GoEmotions, in its order."""

LABELS = tuple(PLACES)
