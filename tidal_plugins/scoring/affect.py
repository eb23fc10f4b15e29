"""The affect loop and what it does to ranking, as arithmetic [Tidal §3.2–3.4].

Valence is in [−1, 1], arousal in [0, 1], strengths of emotions in [0, 1]; results stay in these ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tidal_plugins.model.affect import Affect
from tidal_plugins.scoring.arrays import Values

NEUTRAL = "neutral"
"""The emotion that says there is none."""

AXIS = "pleasantness"
"""The axis from unpleasant to pleasant in an emotion vector; alone it is a mood of which no emotion is named."""

POLES: Mapping[str, float] = MappingProxyType(
    {"joy": 1.0, "trust": 1.0, "fear": -1.0, "sadness": -1.0, "disgust": -1.0, "anger": -1.0}
)
"""Plutchik's primary emotions that are pleasant and unpleasant; surprise and anticipation may be either."""


def relax(state: Affect, hours: float, *, half_life: float, baseline: float) -> Affect:
    """Let a state drift back: ``baseline + (state − baseline) · 2^(−hours / half_life)`` [Tidal §3.4].

    Valence and arousal drift alike, named emotions towards 0. ``half_life`` in hours, above 0; ``baseline`` in
    [−1, 1], of which arousal takes no less than 0. Negative hours (the clock went back) count as 0.
    """
    rest = Affect(baseline, max(0.0, baseline))
    return _mix(rest, state, math.exp2(-max(0.0, hours) / half_life))


def peak(valences: Sequence[float]) -> float:
    """Return the valence of a text from those of its sentences: ``Σ|v|³·v / Σ|v|³``, the mean by how charged they are.

    One furious sentence among calm ones keeps most of its force. 0 for no sentences. The weights are ours.
    """
    total = math.fsum(abs(valence) ** 3 for valence in valences)
    return math.fsum(abs(valence) ** 3 * valence for valence in valences) / total if total else 0.0


def exchange(user: Affect, agent: Affect, user_chars: int, agent_chars: int) -> Affect:
    """Return the event that one exchange is: both sides, each weighted by the length of its text [Tidal §3.4].

    ``(user · user_chars + agent · agent_chars) / (user_chars + agent_chars)``; lengths in characters, at least 0. Named
    emotions are weighted likewise; a side without any counts as none felt.
    """
    return _mix(user, agent, agent_chars / max(1, user_chars + agent_chars))


def gain(answer_chars: int, *, rate: float, full_chars: int, least: float) -> float:
    """Return how far an exchange moves the state: ``rate · clamp(answer_chars / full_chars, least, 1)`` [Tidal §3.4].

    It is in [rate · least, rate]. ``full_chars`` is the length, in characters, from which an answer counts in full.
    """
    return rate * min(1.0, max(least, answer_chars / full_chars))


def update(state: Affect, event: Affect, gain: float) -> Affect:
    """Move a state towards an event: ``state + gain · (event − state)``, ``gain`` in [0, 1] [Tidal §3.4]."""
    return _mix(state, event, gain)


def alpha(intensity: float, *, calm: float, stirred: float, threshold: float) -> float:
    """Return the share of meaning in :func:`blend` [Tidal §3.3].

    It is ``stirred`` above the threshold of intensity, else ``calm``. All are in [0, 1].
    """
    return stirred if intensity > threshold else calm


def blend(similarity: Values, current_valence: float, memory_valence: Values, alpha: float) -> Values:
    """Return the dual-vector score: ``α · similarity + (1 − α) · (1 − |v_current − v_memory|)`` [Tidal §3.2].

    With a similarity in [0, 1] it is in [α − 1, 1]: opposite feelings (\\|Δv\\| above 1) cost score.
    """
    return alpha * similarity + (1 - alpha) * (1 - abs(current_valence - memory_valence))


def emotion_similarity(
    a: Mapping[str, float] | None,
    b: Mapping[str, float] | None,
    *,
    poles: Mapping[str, float] = MappingProxyType({}),
    faint: float = 0.0,
) -> float:
    """Return the cosine of two emotion vectors without their neutral part [Anamnesis].

    It is 0 if either is missing or empty.
    With the neutral part, any two calm texts would be alike in feeling. ``poles`` says which emotions are pleasant (1)
    and unpleasant (−1), and adds an axis between them: without it anger is as far from sadness as from joy. A vector
    shorter than ``faint`` counts in proportion to its length: the last trace of a feeling is not yet one. In [0, 1] for
    strengths of at least 0, with poles in [−1, 1].
    """
    left, right = _unit(a, poles, faint), _unit(b, poles, faint)
    return max(-1.0, min(1.0, sum(strength * right.get(name, 0.0) for name, strength in left.items())))


def _mix(a: Affect, b: Affect, share: float) -> Affect:
    return Affect(
        a.valence + (b.valence - a.valence) * share,
        a.arousal + (b.arousal - a.arousal) * share,
        _mix_emotions(a.emotions, b.emotions, share),
    )


def _mix_emotions(
    a: Mapping[str, float] | None, b: Mapping[str, float] | None, share: float
) -> Mapping[str, float] | None:
    if a is None and b is None:
        return None
    a, b = a or {}, b or {}
    return {name: a.get(name, 0.0) * (1 - share) + b.get(name, 0.0) * share for name in sorted({*a, *b})}


def _unit(emotions: Mapping[str, float] | None, poles: Mapping[str, float], faint: float) -> dict[str, float]:
    felt = {name: strength for name, strength in (emotions or {}).items() if name != NEUTRAL and strength}
    pleasant = felt.pop(AXIS, 0.0) + sum(strength * poles.get(name, 0.0) for name, strength in felt.items())
    felt |= {AXIS: pleasant} if pleasant else {}
    norm = max(faint, math.hypot(*felt.values()))
    return {name: strength / norm for name, strength in felt.items()} if norm else {}
