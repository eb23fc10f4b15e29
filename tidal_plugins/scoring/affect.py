"""The affect loop as arithmetic [Tidal §3.4].

Valence is in [−1, 1], arousal in [0, 1], strengths of emotions in [0, 1]; results stay in these ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tidal_plugins.model.affect import Affect


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
