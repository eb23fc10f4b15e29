"""Affect: how something feels."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown

ROUNDING = 1e-6
"""By how much arithmetic may pass a bound."""


@dataclass(frozen=True, slots=True)
class Affect:
    """A feeling [Tidal §3].

    Attributes:
        valence: from −1 (unpleasant) to 1 (pleasant).
        arousal: from 0 (calm) to 1 (stirred).
        emotions: the strength of named emotions, in [0, 1]; ``None`` if no estimator read them.

    Raises ``InvalidInput`` for a number that is out of range.
    """

    valence: float = 0.0
    arousal: float = 0.0
    emotions: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name, value, low in (("valence", self.valence, -1), ("arousal", self.arousal, 0)):
            try:
                number = float(value)  # estimators bring numbers of their own kinds
            except (TypeError, ValueError, OverflowError) as error:
                raise InvalidInput(f"{name} must be a number, got {shown(value)}") from error
            if not low - ROUNDING <= number <= 1 + ROUNDING:
                raise InvalidInput(f"{name} must lie between {low} and 1, got {shown(value)}")
            object.__setattr__(self, name, min(1.0, max(float(low), number)))

    @property
    def intensity(self) -> float:
        r"""Return the stronger of \|valence\| and arousal, in [0, 1] [Tidal §3.3]."""
        return max(abs(self.valence), self.arousal)

    def in_words(self, most: int = 3) -> str:
        """Return the strongest named emotions, such as ``joy .62, trust .20``; empty if none is felt."""
        felt = sorted((self.emotions or {}).items(), key=lambda item: (-item[1], item[0]))[:most]
        return ", ".join(f"{name} {strength:.2f}".replace(" 0.", " .") for name, strength in felt if strength >= 0.005)
