"""Formulas for how near a moment is to a stretch of time, and how far it lies back."""

from __future__ import annotations

from tidal_plugins.scoring.arrays import Values


def closeness(moment: Values, start: float | None, end: float | None, *, slack: float) -> Values:
    """Return 1 within ``[start, end)``, open where ``None``, and e^(−distance / slack) outside it.

    All are in one unit of time. Events are often told days later.
    """
    import numpy as np

    before = 0.0 if start is None else np.maximum(0.0, start - moment)
    behind = 0.0 if end is None else np.maximum(0.0, moment - end)
    return np.exp(-(before + behind) / slack)


def recency(days: Values, power: float) -> Values:
    """Return ``(1 + days)^−power``, in (0, 1]; 1 for a moment to come, which is less than 0 days ago.

    What is taken up again was mostly done lately and rarely long ago: the odds fall with a power of the age.
    """
    import numpy as np

    return (1 + np.maximum(0.0, days)) ** -power
