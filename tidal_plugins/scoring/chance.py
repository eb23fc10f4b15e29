"""Formula for a chance: a logistic function of named features."""

from __future__ import annotations

from collections.abc import Mapping

from tidal_plugins.scoring.arrays import Values


def chance(features: Mapping[str, Values], weights: Mapping[str, float], bias: float) -> Values:
    """Return ``1 / (1 + e^−(bias + Σ weight · feature))``, in [0, 1]. Every weight names a feature."""
    import numpy as np

    odds = bias + sum(weight * features[name] for name, weight in weights.items())
    return np.exp(-np.logaddexp(0.0, -odds))  # which neither overflows nor vanishes
