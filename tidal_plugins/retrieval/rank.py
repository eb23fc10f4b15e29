"""Candidates of both channels into one order, by profile [Tidal §3.2], [Anamnesis]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import Tier
from tidal_plugins.model.recall import Explanation
from tidal_plugins.retrieval.query import Query
from tidal_plugins.scoring.affect import alpha, blend, emotion_similarity
from tidal_plugins.scoring.decay import strength, weight
from tidal_plugins.scoring.fusion import (
    importance_factor,
    keyword_strength,
    reciprocal_rank,
    relevance,
    sharp_relevance,
)
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Corpus, Match, Sketch

ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that a channel found, with what ranking knows of it. Ranks count from 1."""

    sketch: Sketch
    keyword: Match | None
    keyword_rank: int | None
    vector: Match | None
    vector_rank: int | None

    @property
    def cosine(self) -> float:
        return self.vector.score if self.vector else 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    candidate: Candidate
    score: float
    why: Explanation


@dataclass(frozen=True, slots=True)
class Context:
    """What the order depends on beside the candidates."""

    query: Query
    corpus: Corpus
    affect: Affect
    now: datetime
    settings: Settings


def rank(candidates: Sequence[Candidate], context: Context, profile: str) -> list[Ranked]:
    """Score every candidate and sort, best first; ties by id, so that the order never depends on chance."""
    ranked = _PROFILES[profile](candidates, context)
    return sorted(ranked, key=lambda item: (-item.score, item.candidate.sketch.id))


def balanced(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """The default, which measures best: relevance · importance · strength + emotion.

    Fused is cosine plus keyword strength, with small corrections where speakers, roles and feelings are known, all in
    units of cosine: MiniLM was trained at a scale of 20, so that .05 is about one nat of log-odds.
    """
    settings = context.settings.recall
    share = feeling_share(context, gradual=True)
    parts = [_corrections(candidate, context, share) for candidate in candidates]
    fused = [
        candidate.cosine + settings.keywords * keyword_part(candidate, context) + math.fsum(part.values())
        for candidate, part in zip(candidates, parts, strict=True)
    ]
    best = max(fused, default=0.0)
    ranked = []
    for candidate, part, value in zip(candidates, parts, fused, strict=True):
        relevance = sharp_relevance(value, best, sharpness=settings.sharpness)
        factors = _factors(candidate, context, importance=settings.importance, lam=settings.decay)
        score = relevance * math.prod(factors.values()) + (emotion := _emotion(candidate, context))
        why = part | factors | ({"emotion": emotion} if emotion else {})
        ranked.append(_ranked(candidate, context, score, value, relevance, why, "balanced"))
    return ranked


def tidal(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """``(α·cosine + (1 − α)·(1 − |Δv|)) · w(t)`` [Tidal §2.3, §3.2]; with no current affect the cosine alone."""
    share, ranked = feeling_share(context, gradual=False), []
    for candidate in candidates:
        relevance = max(0.0, candidate.cosine)
        blended = blend(relevance, context.affect.valence, _valence(candidate), 1 - share) if share else relevance
        factors = _factors(candidate, context, importance=0.0, lam=1.0)
        score = max(0.0, blended) * math.prod(factors.values()) + (emotion := _emotion(candidate, context))
        why = {"feeling": blended - relevance, **factors, "emotion": emotion}
        told = {name: value for name, value in why.items() if value}
        ranked.append(_ranked(candidate, context, score, candidate.cosine, relevance, told, "tidal"))
    return ranked


def attention(candidates: Sequence[Candidate], context: Context) -> list[Ranked]:
    """Reciprocal rank fusion over its best, times the importance factor [Anamnesis]; decay and emotion as set."""
    settings, ranked = context.settings.recall, []
    ranks = [(candidate.keyword_rank, candidate.vector_rank) for candidate in candidates]
    fused = [reciprocal_rank(pair, k=settings.rrf) for pair in ranks]
    best = max(fused, default=0.0)
    for candidate, value in zip(candidates, fused, strict=True):
        share = relevance(value, best)
        factors = _factors(candidate, context, importance=1.0, lam=settings.decay)
        score = share * math.prod(factors.values()) + (emotion := _emotion(candidate, context))
        why = factors | ({"emotion": emotion} if emotion else {})
        ranked.append(_ranked(candidate, context, score, value, share, why, "attention"))
    return ranked


_PROFILES: Mapping[str, Callable[[Sequence[Candidate], Context], list[Ranked]]] = {
    "balanced": balanced,
    "tidal": tidal,
    "attention": attention,
}


def _corrections(candidate: Candidate, context: Context, share: float) -> dict[str, float]:
    """What ``balanced`` adds to the two channels, by name."""
    settings, sketch = context.settings.recall, candidate.sketch
    found = {}
    if sketch.speaker in context.query.names:
        found["speaker"] = settings.speaker
    if sketch.role == ASSISTANT:
        found["assistant"] = -settings.assistant
    if sketch.passages > 1:
        found["passages"] = -settings.passages * math.log(sketch.passages)
    if share:
        found["feeling"] = settings.feeling * share * (1 - abs(context.affect.valence - _valence(candidate)))
    return found


def _factors(candidate: Candidate, context: Context, *, importance: float, lam: float) -> dict[str, float]:
    found, sketch = {}, candidate.sketch
    if importance:
        found["importance"] = 1 + importance * (importance_factor(sketch.importance) - 1)
    if lam and sketch.tier:
        found["strength"] = strength(current_weight(sketch.tier, context), lam)
    return found


def _emotion(candidate: Candidate, context: Context) -> float:
    affect = candidate.sketch.affect
    if affect is None or not context.affect.emotions:
        return 0.0
    return context.settings.recall.emotion * emotion_similarity(context.affect.emotions, affect.emotions)


def _valence(candidate: Candidate) -> float:
    """What was stored without affect, such as a document, counts as neutral."""
    return candidate.sketch.affect.valence if candidate.sketch.affect else 0.0


def keyword_part(candidate: Candidate, context: Context) -> float:
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
    """How much feeling counts against meaning, ``1 − α``: 0 with no current affect [Tidal §3.3].

    ``gradual``: below the threshold it grows in proportion to the intensity, so that a faint mood does not reorder
    everything at once.
    """
    affect, settings = context.affect, context.settings
    if affect.intensity < settings.affect.silence:
        return 0.0
    threshold = settings.affect.threshold
    calm, stirred = settings.recall.alpha_calm, settings.recall.alpha_stirred
    share = 1 - alpha(affect.intensity, calm=calm, stirred=stirred, threshold=threshold)
    return share * min(1.0, affect.intensity / threshold) if gradual and threshold else share


def current_weight(tier: Tier, context: Context) -> float:
    """The weight that decay has left: cold entries count from a new anchor with weight 1 [Tidal §2.4]."""
    if tier.cold_at and context.now >= tier.cold_at:
        return weight(1.0, hours_between(tier.cold_at, context.now), context.settings.decay.cold)
    return weight(tier.weight, hours_between(tier.anchored_at, context.now), tier.half_life)


def _ranked(
    candidate: Candidate,
    context: Context,
    score: float,
    fused: float,
    relevance: float,
    factors: Mapping[str, float],
    profile: str,
) -> Ranked:
    why = Explanation(
        keyword_rank=candidate.keyword_rank,
        keyword_score=candidate.keyword.score if candidate.keyword else 0.0,
        vector_rank=candidate.vector_rank,
        cosine=candidate.cosine,
        keyword_strength=keyword_part(candidate, context),
        fused=fused,
        relevance=relevance,
        factors=factors,
        profile=profile,
    )
    return Ranked(candidate, score, why)
