"""Affect: how something feels."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Affect:
    """Valence in [−1, 1] (unpleasant to pleasant) and arousal in [0, 1] (calm to stirred) [Tidal §3].

    ``emotions`` holds the strength of named emotions where an estimator reads them, else ``None``.
    """

    valence: float = 0.0
    arousal: float = 0.0
    emotions: Mapping[str, float] | None = None

    @property
    def intensity(self) -> float:
        """The stronger of \\|valence\\| and arousal, in [0, 1] [Tidal §3.3]."""
        return max(abs(self.valence), self.arousal)
