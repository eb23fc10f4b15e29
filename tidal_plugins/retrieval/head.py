"""The head that makes chances of features: a file of numbers for each profile, and nothing else.

``make fit-confidence`` fits them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.scoring.arrays import Values
from tidal_plugins.scoring.chance import chance
from tidal_plugins.settings import Profile
from tidal_plugins.shown import shown

SHIPPED = Path(__file__).with_name("head.json")
"""The weights for the default embedder, all-MiniLM-L6-v2, as ``make fit-confidence`` makes them."""

RECALL_FEATURES, LINE_FEATURES, HIT_FEATURES = ("margin",), ("behind", "short"), ("behind", "short", "ahead")
"""The features of a recall's chance, and those of the chances of a line and of a hit where the recall helps."""

DIGITS = 3
"""Decimals of a weight: more would change no chance by a thousandth."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic function of named features. No weight is below 0: more of a feature is more of a chance."""

    weights: Mapping[str, float]
    bias: float

    def __call__(self, features: Mapping[str, Values]) -> Values:
        """Return the chance that features give, in [0, 1]: numbers, or arrays of one for each entry."""
        return chance(features, self.weights, self.bias)


@dataclass(frozen=True, slots=True)
class Head:
    """The chances of one profile.

    ``of_recall`` gives the chance that a recall holds something that helps, ``of_hit`` the chance that a hit helps in a
    recall that does. The product is the chance that the hit helps. ``of_line`` is the same chance without knowing how
    far the first is ahead; the thresholds of a whisper are set for it, and for ``of_recall``.
    """

    of_recall: Logistic
    of_line: Logistic
    of_hit: Logistic


def shipped(profile: str) -> Head:
    """Return the head of a profile that the library ships."""
    return load(SHIPPED)[profile]


@cache
def load(path: Path) -> Mapping[str, Head]:
    """Read the heads by profile; no code in the file is run. Raises ``InvalidInput`` for a file that has none."""
    try:
        given = json.loads(path.read_text("utf-8"))["profiles"]
        return {profile: Head(*(_logistic(given[profile], *part) for part in _PARTS)) for profile in get_args(Profile)}
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path} holds no weights ({shown(error)}); make them with `make fit-confidence`") from error


def save(path: Path, heads: Mapping[str, Head], about: Mapping[str, Any]) -> None:
    """Write heads as JSON, the same bytes for the same numbers."""
    value = {"about": about, "profiles": {profile: asdict(head) for profile, head in heads.items()}}
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


_PARTS = (("of_recall", RECALL_FEATURES), ("of_line", LINE_FEATURES), ("of_hit", HIT_FEATURES))


def _logistic(given: Mapping[str, Any], part: str, features: tuple[str, ...]) -> Logistic:
    weights, bias = given[part]["weights"], float(given[part]["bias"])
    if tuple(weights) != features:
        raise ValueError(f"{part} is of {', '.join(weights)}, and not of {', '.join(features)}")
    numbers = {name: float(weight) for name, weight in weights.items()}
    if not all(map(math.isfinite, (*numbers.values(), bias))) or min(numbers.values()) < 0:
        raise ValueError(f"a weight of {part} is below 0 or no finite number")
    return Logistic(numbers, bias)
