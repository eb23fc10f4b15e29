"""Calibration: the chance that a recall holds something that helps, and that of each entry to do so.

The numbers are a file for each profile, and nothing else; ``make fit-confidence`` fits them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.embedding.scale import Scale
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import SYNTHESIS, Entry
from tidal_plugins.retrieval.candidates import Candidates, Rows
from tidal_plugins.retrieval.search import Channels
from tidal_plugins.retrieval.understand import Question
from tidal_plugins.retrieval.weights import RecallTuning, WhisperTuning
from tidal_plugins.scoring.ranking import Values, chance, margin
from tidal_plugins.settings import Profile, Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.columns.view import among

SHIPPED = Path(__file__).with_name("calibration.json")
"""The weights in units of the default embedder, as ``make fit-confidence`` makes them."""

RECALL_FEATURES, LINE_FEATURES, HIT_FEATURES = ("margin",), ("behind", "short"), ("behind", "short", "ahead")
"""The features of a recall's chance, and those of the chances of a line and of a hit where the recall helps."""

DIGITS = 3
"""Decimals of a weight: more would change no chance by a thousandth."""

UNRELATED = 0.3
"""Nearness that unrelated texts have."""

NEAR = 1.5 * UNRELATED
"""Nearness below which an entry is short of being near."""

ALONE = 2**18
"""Multiplications of one product of matrices that OpenBLAS does on the thread that asks. For more it wakes a second
one, which gains .05 ms here, and on a busy machine waits for milliseconds."""


def estimated(
    found: Candidates, question: Question, channels: Channels, settings: Settings
) -> tuple[Candidates, float]:
    """Return a ranking with the chance of each entry to help, and the chance that the recall holds something that does.

    Entries that say nearly the same are no rivals. The chances are lower if the query names people who speak in this
    scope and none of them said the first. The first entry's chance is higher the further it stands ahead of the rest.
    """
    if not len(found):
        return found, 0.0
    leader, near = first_of_kind(found, settings[WhisperTuning].alike, channels), found.standing(settings[RecallTuning])
    rivals = _without_derived(found, np.flatnonzero(leader == found.rows), channels)
    standing = near[rivals].tolist()
    stands_out, head = _margin(found, rivals, standing, question, settings), shipped(question.request.profile)
    first, *others = standing
    ahead = max(0.0, first - max([UNRELATED, *others]))
    confidence = float(head.of_recall({"margin": stands_out}))
    features = {
        "margin": np.full(len(found), stands_out),
        "behind": np.minimum(0.0, near - first),
        "short": np.minimum(0.0, near - NEAR),
        "ahead": np.where(leader == found.rows[rivals[0]], ahead, 0.0),
    }
    chances = confidence * head.of_hit(features)
    return replace(found, leader=leader, confidence=chances, features=features), confidence


def first_of_kind(found: Candidates, alike: float, channels: Channels) -> Rows:
    """Return for each entry of a ranking the row of the first of its kind.

    That is the entry itself, or one above it whose best passage has a cosine of at least ``alike`` with its own.
    """
    leader = found.rows.copy()
    known = np.flatnonzero(found.vector >= 0)
    units = channels.units(found.vector[known])
    if units is None or not len(known):
        return leader
    above: dict[int, list[int]] = {}
    for later, earlier in _pairs(units, alike, channels.embedded.scale):
        above.setdefault(int(known[later]), []).append(int(known[earlier]))
    for place in sorted(above):
        firsts = (other for other in above[place] if leader[other] == found.rows[other])
        leader[place] = next((found.rows[other] for other in firsts), leader[place])
    return leader


def _pairs(units: NDArray[np.float32], alike: float, scale: Scale) -> list[list[int]]:
    """Return the pairs of rows whose cosine is at least ``alike``, the later first, by the later and the earlier."""
    cosines, first = np.zeros((len(units), len(units)), np.float32), 0
    most = ALONE / max(1, units.shape[1])
    while first < len(units):
        end = first + max(1, int((math.sqrt(first * first + 4 * most) - first) / 2))
        np.matmul(units[first:end], units[:end].T, out=cosines[first:end, :end])
        first = end
    later, earlier = np.divmod(np.flatnonzero(scale.of_texts(cosines) >= alike), max(1, len(units)))  # few beside 1
    pairs: list[list[int]] = np.column_stack([later, earlier])[earlier < later].tolist()
    return pairs


def sources(entry: Entry) -> Sequence[Any]:
    """Return the ids that memory made an entry from. Metadata of an entry that was not made here may be anything."""
    made = entry.metadata.get("sources") if entry.channel == SYNTHESIS else None
    return made if isinstance(made, list | tuple) else ()


def _without_derived(found: Candidates, rivals: Rows, channels: Channels) -> Rows:
    """Return the places of rivals without those that memory made of others: an entry is no rival of what it was made
    from. If the first is such an entry, its sources are no rivals."""
    arrays, rows = found.columns.arrays, found.rows[rivals]
    made = among(arrays.channel[rows], arrays.names.known([SYNTHESIS]))
    if not made.any():
        return rivals
    first = channels.entries(found.columns.ids(rows[:1])) if made[0] else {}
    made_from = {id_ for entry in first.values() for id_ in sources(entry)}
    made[0] = False
    rivals = rivals[~made]
    ids = found.columns.ids(found.rows[rivals])
    kept: Rows = rivals[np.array([id_ not in made_from for id_ in ids], bool)]
    return kept


def _margin(
    found: Candidates, rivals: Rows, standing: Sequence[float], question: Question, settings: Settings
) -> float:
    said = found.columns.arrays.speaker[found.rows[rivals[0]]]
    named = found.columns.arrays.names[said] in question.query.names
    words = float(found.strength[rivals[: settings.whisper.max_entries]].max())
    return margin(
        standing,
        found.cosine[rivals].tolist(),
        settings[WhisperTuning].keywords * words,
        rivals=settings[RecallTuning].reach - 1,
        topic=settings[WhisperTuning].topic,
    ) - settings[RecallTuning].speaker * bool(question.query.names and not named)


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
