"""Candidates of both channels into one order, by profile [Tidal §3.2], [Anamnesis]."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import NamedTuple

from tidal_plugins.english.times import Period
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Tier
from tidal_plugins.model.recall import Explanation
from tidal_plugins.retrieval.query import Query
from tidal_plugins.retrieval.surroundings import NOWHERE, Around, Surroundings
from tidal_plugins.retrieval.time import closest
from tidal_plugins.scoring.affect import AXIS, POLES, alpha, blend, emotion_similarity
from tidal_plugins.scoring.decay import remaining, strength
from tidal_plugins.scoring.fusion import (
    importance_factor,
    keyword_strength,
    reciprocal_rank,
    relevance,
    sharp_relevance,
)
from tidal_plugins.storage.base import Corpus, EntrySummary, Match
from tidal_plugins.tuning import RecallTuning, Tuning

ASSISTANT = "assistant"
LIFTS = frozenset({"assistant", "passages", "speaker", "time", *Around._fields})
"""Names of the parts that belong to how near an entry is, in units of cosine."""
TRACE = 0.005
"""What adds less to nearness than that is no reason."""


class Found(NamedTuple):
    """An entry that a channel found. Ranks count from 1."""

    id: str
    keyword: Match | None
    keyword_rank: int | None
    vector: Match | None
    vector_rank: int | None

    @property
    def cosine(self) -> float:
        return self.vector.score if self.vector else 0.0


class Candidate(NamedTuple):
    """What a channel found, with what ranking needs to know of it."""

    sketch: EntrySummary
    keyword: Match | None
    keyword_rank: int | None
    vector: Match | None
    vector_rank: int | None

    @property
    def cosine(self) -> float:
        return self.vector.score if self.vector else 0.0


class Ranked(NamedTuple):
    """A candidate with its score and what the score is made of."""

    candidate: Candidate
    score: float
    fused: float
    relevance: float
    keyword_strength: float
    parts: Mapping[str, float]
    """What was added to the two channels, what multiplied the relevance, what was added in the end, by name."""

    @property
    def id(self) -> str:
        return self.candidate.sketch.id

    def plus(self, gains: Mapping[str, float]) -> Ranked:
        """The same with what signals add to its score, by name."""
        return self._replace(score=self.score + sum(gains.values()), parts={**self.parts, **gains})

    def explain(self, profile: str) -> Explanation:
        candidate = self.candidate
        return Explanation(
            keyword_rank=candidate.keyword_rank,
            keyword_score=candidate.keyword.score if candidate.keyword else 0.0,
            vector_rank=candidate.vector_rank,
            cosine=candidate.cosine,
            keyword_strength=self.keyword_strength,
            fused=self.fused,
            relevance=self.relevance,
            factors={name: part for name, part in self.parts.items() if name not in LIFTS or abs(part) >= TRACE},
            profile=profile,
            feeling=candidate.sketch.affect.in_words() if candidate.sketch.affect else "",
        )


@dataclass(frozen=True, slots=True)
class Context:
    """What the order depends on beside the candidates."""

    query: Query
    corpus: Corpus
    affect: Affect
    now: datetime
    settings: Tuning
    surroundings: Surroundings = NOWHERE
    times: Sequence[Period] = ()


def shortlist(found: Sequence[Found], context: Context, profile: str, size: int) -> tuple[list[Found], list[Found]]:
    """Split what the channels found into those that both together put first, to be ranked in full, and the rest."""
    near = _NEARNESS[profile]
    order = sorted(found, key=lambda item: (-near(item, context), item.id))
    return order[:size], order[size:]


def ordinary(near: Sequence[Found], far: Sequence[Found], context: Context) -> float:
    """The nearness of an ordinary candidate: the median of all that were found, which :func:`shortlist` has put in
    order."""
    order = [*near, *far]
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    return fmean(map(_near(context), middle)) if middle else 0.0


def rank(candidates: Sequence[Candidate], context: Context, profile: str) -> list[Ranked]:
    """Score every candidate and sort, best first; ties by id, so that the order never depends on chance."""
    return by_score(_PROFILES[profile](candidates, context))


def by_score(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda item: (-item.score, item.id))


def balanced(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """The default, which measures best: relevance · importance · strength.

    Fused is cosine plus keyword strength, corrected where roles are known, plus what thread and neighbours say, plus
    who speaks and feels what; all in units of cosine: MiniLM was trained at a scale of 20, so that .05 is about one nat
    of log-odds. Neighbours and threads hear nothing of speakers and feelings, which are about the entry alone.
    """
    settings = context.settings.recall
    share, felt = feeling_share(context, gradual=True), presence(context, gradual=True)
    keywords = [keyword_part(candidate, context) for candidate in candidates]
    discounts = [_discounts(candidate, settings) for candidate in candidates]
    nearness = [
        candidate.cosine + settings.keywords * keyword + sum(discount.values())
        for candidate, keyword, discount in zip(candidates, keywords, discounts, strict=True)
    ]
    around = context.surroundings.around(candidates, nearness, settings)
    corrections = [
        discount | _named(lifts) | _personal(candidate, context, share, felt)
        for candidate, discount, lifts in zip(candidates, discounts, around, strict=True)
    ]
    fused = [
        candidate.cosine + settings.keywords * keyword + sum(correction.values())
        for candidate, keyword, correction in zip(candidates, keywords, corrections, strict=True)
    ]
    best, ranked = max(fused, default=0.0), []
    for candidate, keyword, correction, value in zip(candidates, keywords, corrections, fused, strict=True):
        relevance = sharp_relevance(value, best, sharpness=settings.sharpness)
        score, factors = _weigh(relevance, candidate, context, importance=settings.importance, lam=settings.decay)
        ranked.append(Ranked(candidate, score, value, relevance, keyword, correction | factors))
    return ranked


def tidal(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """``(α·cosine + (1 − α)·(1 − |Δv|)) · w(t)`` [Tidal §2.3, §3.2]; with no current affect the cosine alone."""
    share, ranked = feeling_share(context, gradual=False), []
    for candidate in candidates:
        relevance = max(0.0, candidate.cosine)
        blended = blend(relevance, context.affect.valence, _valence(candidate), 1 - share) if share else relevance
        score, factors = _weigh(max(0.0, blended), candidate, context, importance=0.0, lam=1.0)
        feeling = {"feeling": blended - relevance} if share else {}
        keyword = keyword_part(candidate, context)
        ranked.append(Ranked(candidate, score, candidate.cosine, relevance, keyword, feeling | factors))
    return ranked


def attention(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """Reciprocal rank fusion over its best, times the importance factor, plus emotion [Anamnesis]; decay as set."""
    settings = context.settings.recall
    fused = [_reciprocal(candidate, context) for candidate in candidates]
    best, ranked, felt = max(fused, default=0.0), [], presence(context, gradual=False)
    for candidate, value in zip(candidates, fused, strict=True):
        share = relevance(value, best)
        score, factors = _weigh(share, candidate, context, importance=1.0, lam=settings.decay)
        if felt and (alike := _alike(candidate, context)) is not None:
            factors["emotion"] = settings.emotion * alike
            score += factors["emotion"]
        ranked.append(Ranked(candidate, score, value, share, keyword_part(candidate, context), factors))
    return ranked


_PROFILES: Mapping[str, Callable[[Sequence[Candidate], Context], list[Ranked]]] = {
    "balanced": balanced,
    "tidal": tidal,
    "attention": attention,
}


def _near(context: Context) -> Callable[[Found], float]:
    weight = context.settings.recall.keywords
    return lambda found: found.cosine + weight * keyword_part(found, context)


_NEARNESS: Mapping[str, Callable[[Found, Context], float]] = {
    "balanced": lambda found, context: _near(context)(found),
    "tidal": lambda found, _: found.cosine,
    "attention": lambda found, context: _reciprocal(found, context),
}


def _reciprocal(found: Found | Candidate, context: Context) -> float:
    return reciprocal_rank((found.keyword_rank, found.vector_rank), k=context.settings.recall.rrf)


def _weigh(
    relevance: float, candidate: Candidate, context: Context, *, importance: float, lam: float
) -> tuple[float, dict[str, float]]:
    """``relevance · importance · strength`` and its factors by name [Anamnesis]."""
    score, factors, sketch = relevance, {}, candidate.sketch
    if importance:
        factors["importance"] = 1 + importance * (importance_factor(sketch.importance) - 1)
        score *= factors["importance"]
    if lam and sketch.tier:
        factors["strength"] = strength(current_weight(sketch.tier, context), lam)
        score *= factors["strength"]
    return score, factors


def _alike(candidate: Candidate, context: Context) -> float | None:
    """How far a memory feels as one does now, in [−1, 1]; ``None`` where it has no emotions."""
    if candidate.sketch.affect is None or not candidate.sketch.affect.emotions:
        return None
    now = context.affect.emotions or {AXIS: context.affect.valence}
    faint = context.settings.affect.silence
    return emotion_similarity(now, candidate.sketch.affect.emotions, poles=POLES, faint=faint)


def _discounts(candidate: Candidate, settings: RecallTuning) -> dict[str, float]:
    """What makes a candidate's channels say more than they should, by name."""
    found, sketch = {}, candidate.sketch
    if sketch.role == ASSISTANT:
        found["assistant"] = -settings.assistant
    if sketch.passages > 1:
        found["passages"] = -settings.passages * math.log(sketch.passages)
    return found


def _named(lifts: Around) -> dict[str, float]:
    return {name: value for name, value in lifts._asdict().items() if value}


def _personal(candidate: Candidate, context: Context, share: float, felt: float) -> dict[str, float]:
    """What speaks for an entry because of who said it, when and in which mood, by name.

    ``share`` is how much feeling counts, ``felt``, in [0, 1], how far there is any now.
    """
    settings, found = context.settings.recall, {}
    if candidate.sketch.speaker in context.query.names:
        found["speaker"] = settings.speaker
    if near := closest(candidate.sketch, context.times, settings):
        found["time"] = settings.time * near
    if share:
        found["feeling"] = settings.feeling * share * (1 - abs(context.affect.valence - _valence(candidate)))
    if felt and (alike := _alike(candidate, context)) is not None:
        found["emotion"] = settings.likeness * felt * alike
    return found


def _valence(candidate: Candidate) -> float:
    """What was stored without affect, such as a document, counts as neutral."""
    return candidate.sketch.affect.valence if candidate.sketch.affect else 0.0


def keyword_part(candidate: Found | Candidate, context: Context) -> float:
    """The candidate's keyword strength, 0 where keywords did not find it."""
    match = candidate.keyword
    if match is None:
        return 0.0
    return keyword_strength(
        match.score,
        words=match.words,
        mean_words=context.corpus.mean_words,
        terms=len(context.query.terms),
        passages=context.corpus.passages,
        brevity=context.settings.recall.brevity,
    )


def feeling_share(context: Context, *, gradual: bool) -> float:
    """How much feeling counts against meaning, ``1 − α``, as far as there is one [Tidal §3.3]."""
    settings, threshold = context.settings.recall, context.settings.affect.threshold
    calm, stirred = settings.alpha_calm, settings.alpha_stirred
    share = 1 - alpha(context.affect.intensity, calm=calm, stirred=stirred, threshold=threshold)
    return share * presence(context, gradual=gradual)


def presence(context: Context, *, gradual: bool) -> float:
    """How far there is a current affect, in [0, 1]: not at all below the silence.

    ``gradual``: below the threshold it grows in proportion to the intensity, so that a faint mood does not reorder
    everything at once.
    """
    intensity, settings = context.affect.intensity, context.settings.affect
    if intensity < settings.silence:
        return 0.0
    return min(1.0, intensity / settings.threshold) if gradual and settings.threshold else 1.0


def current_weight(tier: Tier, context: Context) -> float:
    """The weight that decay has left of an entry [Tidal §2.4]."""
    return remaining(tier, context.now, cold=context.settings.decay.cold)
