"""Formula for a chance: a logistic function of named features."""

from __future__ import annotations

import math
from collections.abc import Mapping


def chance(features: Mapping[str, float], weights: Mapping[str, float], bias: float) -> float:
    """Return ``1 / (1 + e^−(bias + Σ weight · feature))``, in [0, 1]. Every weight names a feature."""
    odds = bias + math.fsum(weight * features[name] for name, weight in weights.items())
    return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0 else 1.0 - 1.0 / (1.0 + math.exp(odds))
