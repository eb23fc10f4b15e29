"""Formulas of ranking, for numbers and for arrays alike, element by element."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from tidal_plugins.english.words import TIME_WORDS
from tidal_plugins.patterns import lazy_re

Values: TypeAlias = Any
"""A number, or an array of numbers. NumPy's own annotations lose what the result of either is."""

K1 = 1.2

B = 0.75
"""BM25's constants in FTS5, which cannot be changed there."""

NEUTRAL = "neutral"
"""The emotion that says there is none."""

AXIS = "pleasantness"
"""The axis from unpleasant to pleasant in an emotion vector; alone it is a mood of which no emotion is named."""

POLES: Mapping[str, float] = MappingProxyType(
    {"joy": 1.0, "trust": 1.0, "fear": -1.0, "sadness": -1.0, "disgust": -1.0, "anger": -1.0}
)
"""Plutchik's primary emotions that are pleasant and unpleasant; surprise and anticipation may be either."""

_WORD = lazy_re(r"[a-z]+")

_YEAR = lazy_re(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def reciprocal_rank(ranks: Iterable[Values], *, k: int) -> Values:
    """Return the reciprocal rank fusion ``Σ 1/(k + rank)`` over the channels that found an entry [Anamnesis].

    Ranks count from 1; 0 stands for a channel that did not find it. It is in [0, channels/(k + 1)].
    """
    return sum(np.where(np.greater(rank, 0), 1 / (k + np.maximum(rank, 1)), 0.0) for rank in ranks)


def keyword_strength(
    bm25: Values, *, words: Values, mean_words: float, terms: int, passages: int, brevity: float
) -> Values:
    """Return BM25 made comparable across queries and stores: about 1 when a short passage has every term of the query.

    Two corrections. FTS5 divides term counts by a length norm that rewards every passage shorter than the mean; here a
    passage of up to ``brevity`` words counts as short, and a longer one pays in proportion: ``bm25 · (1 + K1·(1 − B +
    B·words/mean_words)) / (1 + K1·max(1, words/brevity))``, which is exact if no term repeats. Then the sum over terms
    is divided by ``√terms · ln(passages + 1)``. The sum would grow with that if each term were as rare as possible
    among the passages. At least 0.
    """
    if not terms or not mean_words or passages < 1:
        return 0.0 * bm25
    found = np.maximum(bm25, 0.0)
    rescaled = found * (1 + K1 * (1 - B + B * words / mean_words)) / (1 + K1 * np.maximum(1.0, words / brevity))
    return rescaled / (terms**0.5 * np.log(passages + 1))


def relevance(fused: Values, best: float) -> Values:
    """Return a fused score against the best of the same recall, in [0, 1], the range that later factors multiply."""
    return np.clip(fused / best, 0.0, 1.0) if best > 0 else 0.0 * fused


def sharp_relevance(fused: Values, best: float, *, sharpness: float) -> Values:
    """Return ``e^(sharpness · (fused − best))``, in (0, 1], which keeps the gaps of an absolute score.

    Dividing by the best leaves rivals at .8 or .9, and any factor in [0.6, 1.5] then outweighs what was found.
    """
    return np.exp(np.minimum(0.0, sharpness * (fused - best)))


def stretched(scores: Sequence[float]) -> list[float]:
    """Return scores of any scale with the lowest at 0 and the highest at 1; all are 1 if they are equal."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def importance_factor(importance: Values) -> Values:
    """Return ``0.6 + 0.1·(importance − 1)``, in [0.6, 1.5] for an importance in [1, 10] [Anamnesis]."""
    return 0.6 + 0.1 * (importance - 1)


def strength(weight: Values, lam: float) -> Values:
    """Return the factor by which decay dampens a score: ``(1 − λ) + λ · min(1, weight)``, in [1 − λ, 1].

    λ in [0, 1] is how much decay matters: undamped (1), every month-old memory would sink below any fresh one. The
    damping is ours; the weight is [Tidal §2.4].
    """
    return (1 - lam) + lam * np.minimum(1.0, weight)


def brief(words: Values, turn: float) -> Values:
    """Return how much a text of that many analysed words depends on its context: ``min(1, turn/words)``.

    «Since 2019, why?» says nothing without the turn before it; a message of a page is clear by itself.
    """
    return np.where(np.equal(words, 0), 1.0, np.minimum(1.0, turn / np.maximum(words, 1)))


def leaning(own: Values, other: Values, turn: float) -> Values:
    """Return how much a text of ``own`` analysed words leans on a neighbour of ``other`` words, in [0, 1].

    It is its own brevity times the root of the other's: «the second one then» is about the page before it, of whose
    many things it takes up one.
    """
    return brief(own, turn) * brief(other, turn) ** 0.5


def raised(own: Values, best: Values, share: float) -> Values:
    """Return the lift of an entry by its thread: ``share`` of the way from its own nearness to that of the best one.

    If one turn is about the question, the other turns of that conversation are likelier to be than those of any other.
    The best keeps its lead, and an entry without a thread keeps its nearness.
    """
    return share * np.maximum(0.0, best - own)


def lent(nearness: Values, floor: float, distance: Values, *, share: float, answer: Values) -> Values:
    """Return the lift that an entry lends one that stands ``distance`` places after it (before it: negative).

    It is ``share`` of the amount by which the lender is nearer than ``floor``, divided by the distance, and ``answer``
    times as much for the turn right after a question. ``answer`` is 1 if the lender asks nothing.
    """
    times = np.where(distance == 1, answer, 1.0)
    return times * share * np.maximum(0.0, nearness - floor) / abs(distance)


def dated(head: str) -> bool:
    """Return whether a text says when something was. People who tell of an event say so, people who chat rarely do."""
    if not TIME_WORDS.isdisjoint(_WORD.findall(head.lower())):
        return True
    return ("19" in head or "20" in head) and _YEAR.search(head) is not None


def margin(scores: Sequence[float], cosines: Sequence[float], keywords: float, *, rivals: int, topic: float) -> float:
    """Return how far the first of a ranking stands out, in units of cosine.

    It is the sum of three parts: its lead over the mean of the ``rivals`` that follow, its keywords' part of nearness,
    and ``topic`` times the mean cosine of all of them. An answer stands out, has the rare words, and is about a subject
    of the memory. A memory with fewer rivals has them at 0, like unrelated texts.
    """
    if not scores:
        return 0.0
    lead = scores[0] - sum(scores[1 : rivals + 1]) / rivals
    return lead + keywords + topic * sum(cosines[: rivals + 1]) / (rivals + 1)


def chance(features: Mapping[str, Values], weights: Mapping[str, float], bias: float) -> Values:
    """Return ``1 / (1 + e^−(bias + Σ weight · feature))``, in [0, 1]. Every weight names a feature."""
    odds = bias + sum(weight * features[name] for name, weight in weights.items())
    return np.exp(-np.logaddexp(0.0, -odds))  # which neither overflows nor vanishes


def closeness(moment: Values, start: float | None, end: float | None, *, slack: float) -> Values:
    """Return 1 within ``[start, end)``, open where ``None``, and e^(−distance / slack) outside it.

    All are in one unit of time. Events are often told days later.
    """
    before = 0.0 if start is None else np.maximum(0.0, start - moment)
    behind = 0.0 if end is None else np.maximum(0.0, moment - end)
    return np.exp(-(before + behind) / slack)


def recency(days: Values, power: float) -> Values:
    """Return ``(1 + days)^−power``, in (0, 1]; 1 for a moment to come, which is less than 0 days ago.

    What is taken up again was mostly done lately and rarely long ago: the odds fall with a power of the age.
    """
    return (1 + np.maximum(0.0, days)) ** -power


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
    return emotion_cosine(emotion_unit(a, poles, faint), emotion_unit(b, poles, faint))


def emotion_cosine(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Return the :func:`emotion_similarity` of two vectors that :func:`emotion_unit` has made."""
    return max(-1.0, min(1.0, sum([strength * right.get(name, 0.0) for name, strength in left.items()])))


def emotion_unit(emotions: Mapping[str, float] | None, poles: Mapping[str, float], faint: float) -> dict[str, float]:
    """Return an emotion vector without its neutral part, of a length of 1 unless it is ``faint``."""
    felt = {name: strength for name, strength in (emotions or {}).items() if name != NEUTRAL and strength}
    pleasant = felt.pop(AXIS, 0.0) + sum([strength * poles.get(name, 0.0) for name, strength in felt.items()])
    felt |= {AXIS: pleasant} if pleasant else {}
    norm = max(faint, math.hypot(*felt.values()))
    return {name: strength / norm for name, strength in felt.items()} if norm else {}


def saturated(score: float) -> float:
    """Return ``v / (v + 1)`` of a score's size, with its sign, in (−1, 1).

    However many signals there are, they never outweigh all else.
    """
    return score / (abs(score) + 1)


def hinted(notes: Iterable[frozenset[str]], words: frozenset[str]) -> float:
    """Return the largest share of one note's keywords that are among the ``words`` of an entry, in [0, 1] [tidalDB]."""
    return max((len(note & words) / len(note) for note in notes if note), default=0.0)


def rarity(units: Sequence[Collection[str]]) -> dict[str, float]:
    """Return how much each word tells among some units, given as sets of stems: ``ln(1 + (n + 0.5)/(df + 0.5))``.

    A word that all candidates for a whisper share tells none of them from the others.
    """
    counts = Counter(word for unit in units for word in set(unit))
    return {word: math.log(1 + (len(units) + 0.5) / (count + 0.5)) for word, count in counts.items()}


def coverage(unit: Collection[str], wanted: Collection[str], weights: dict[str, float]) -> float:
    """Return the share of the words wanted that a unit has, in [0, 1], each word by its weight.

    A word that no unit has counts for nothing.
    """
    total = sum(weights.get(word, 0.0) for word in wanted)
    return sum(weights.get(word, 0.0) for word in wanted if word in unit) / total if total else 0.0
