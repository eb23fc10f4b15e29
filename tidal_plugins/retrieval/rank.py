"""Stage ``rank``: the candidates in one order, by profile [Tidal §3.2], [Anamnesis]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidal_plugins.retrieval.context import Lifts
from tidal_plugins.retrieval.search import intact, nearness, reciprocal
from tidal_plugins.retrieval.state import Found, Ranked, State, by_score
from tidal_plugins.retrieval.times import closest
from tidal_plugins.scoring.affect import AXIS, POLES, alpha, blend, emotion_similarity
from tidal_plugins.scoring.decay import remaining, strength
from tidal_plugins.scoring.fusion import importance_factor, relevance, sharp_relevance
from tidal_plugins.storage.base import EntrySummary
from tidal_plugins.tuning import RecallTuning

ASSISTANT = "assistant"


class Candidate(NamedTuple):
    """An entry that takes part, with what ranking needs to know of it."""

    found: Found
    summary: EntrySummary


def rank(state: State) -> None:
    """Score every candidate that is ranked in full and sort, best first."""
    state.ranked = by_score(_PROFILES[state.request.profile](_candidates(state), state))


def balanced(candidates: list[Candidate], state: State) -> list[Ranked]:
    """Return relevance · importance · strength of each candidate. This is the default, since it measures best.

    Fused is cosine plus keyword strength, corrected where roles are known, plus the lifts of thread and neighbours,
    plus the parts for who speaks, when, and in which mood. All are in units of cosine: MiniLM was trained at a scale of
    20, so that .05 is about one nat of log-odds. Speakers and feelings are about the entry alone and lift no neighbour.
    """
    settings, feelings = state.settings.recall, _Feelings(state, gradual=True)
    discounts = [_discounts(item.summary, settings) for item in candidates]
    near = [
        nearness(item.found, settings) + sum(discount.values())
        for item, discount in zip(candidates, discounts, strict=True)
    ]
    corrections = [
        discount | lifts | _personal(item.summary, state, feelings)
        for item, discount, lifts in zip(candidates, discounts, _lifts(candidates, near, state), strict=True)
    ]
    fused = [
        nearness(item.found, settings) + sum(correction.values())
        for item, correction in zip(candidates, corrections, strict=True)
    ]
    best, ranked = max(fused, default=0.0), []
    for item, correction, value in zip(candidates, corrections, fused, strict=True):
        share = sharp_relevance(value, best, sharpness=settings.sharpness)
        score, factors = _weigh(share, item.summary, state, importance=settings.importance, lam=settings.decay)
        ranked.append(Ranked(item.found, item.summary, score, value, share, correction | factors))
    return ranked


def tidal(candidates: list[Candidate], state: State) -> list[Ranked]:
    """Return ``(α·cosine + (1 − α)·(1 − |Δv|)) · w(t)`` of each candidate [Tidal §2.3, §3.2].

    With no current affect it is the cosine alone.
    """
    share, ranked = _Feelings(state, gradual=False).share, []
    for found, summary in candidates:
        near = max(0.0, found.cosine)
        blended = blend(near, state.affect.valence, _valence(summary), 1 - share) if share else near
        score, factors = _weigh(max(0.0, blended), summary, state, importance=0.0, lam=1.0)
        feeling = {"feeling": blended - near} if share else {}
        ranked.append(Ranked(found, summary, score, found.cosine, near, feeling | factors))
    return ranked


def attention(candidates: list[Candidate], state: State) -> list[Ranked]:
    """Return reciprocal rank fusion over its best, times the importance factor, plus emotion [Anamnesis].

    Decay counts as the settings say.
    """
    settings, feelings = state.settings.recall, _Feelings(state, gradual=False)
    fused = [reciprocal(item.found, settings) for item in candidates]
    best, ranked = max(fused, default=0.0), []
    for (found, summary), value in zip(candidates, fused, strict=True):
        share = relevance(value, best)
        score, factors = _weigh(share, summary, state, importance=1.0, lam=settings.decay)
        if feelings.presence and (alike := feelings.alike(summary)) is not None:
            factors["emotion"] = settings.emotion * alike
            score += factors["emotion"]
        ranked.append(Ranked(found, summary, score, value, share, factors))
    return ranked


_PROFILES: Mapping[str, Callable[[list[Candidate], State], list[Ranked]]] = {
    "balanced": balanced,
    "tidal": tidal,
    "attention": attention,
}


class _Feelings:
    """The weight of the mood in a recall.

    ``presence``, in [0, 1], is how far there is a mood; none below the silence. ``share`` is how much feeling counts
    against meaning, ``1 − α``, as far as there is a mood [Tidal §3.3]. ``gradual``: below the threshold presence grows
    in proportion to the intensity, so that a faint mood does not reorder everything at once.
    """

    def __init__(self, state: State, *, gradual: bool) -> None:
        self.affect = state.affect
        self.settings = settings = state.settings.affect
        intensity = self.affect.intensity
        if intensity < settings.silence:
            self.presence = self.share = 0.0
            return
        self.presence = min(1.0, intensity / settings.threshold) if gradual and settings.threshold else 1.0
        calm, stirred = state.settings.recall.alpha_calm, state.settings.recall.alpha_stirred
        share = 1 - alpha(intensity, calm=calm, stirred=stirred, threshold=settings.threshold)
        self.share = share * self.presence

    def alike(self, summary: EntrySummary) -> float | None:
        """Return how similar a memory's emotions are to the current ones, in [−1, 1]; ``None`` if it has none."""
        if summary.affect is None or not summary.affect.emotions:
            return None
        now = self.affect.emotions or {AXIS: self.affect.valence}
        return emotion_similarity(now, summary.affect.emotions, poles=POLES, faint=self.settings.silence)


def _candidates(state: State) -> list[Candidate]:
    """Return the candidates to rank in full, without rows that are damaged."""
    storage, scope = state.store.storage, state.request.scope
    ids = [item.id for item in state.near]
    summaries = intact(lambda some: storage.summaries(scope, some), ids, state.channels.damaged)
    return [Candidate(item, summaries[item.id]) for item in state.near if item.id in summaries]


def _lifts(candidates: list[Candidate], near: list[float], state: State) -> list[dict[str, float]]:
    """Return what threads and neighbours add to each candidate, by name."""
    if state.context is None:
        return [{} for _ in candidates]
    lifts = state.context.lifts([item.summary for item in candidates], near, state.settings.recall)
    return [_named(item) for item in lifts]


def _named(lifts: Lifts) -> dict[str, float]:
    return {name: value for name, value in lifts._asdict().items() if value}


def _weigh(
    relevance: float, summary: EntrySummary, state: State, *, importance: float, lam: float
) -> tuple[float, dict[str, float]]:
    """Return ``relevance · importance · strength`` and its factors by name [Anamnesis]."""
    score, factors = relevance, {}
    if importance:
        factors["importance"] = 1 + importance * (importance_factor(summary.importance) - 1)
        score *= factors["importance"]
    if lam and summary.tier:
        weight = remaining(summary.tier, state.request.now, cold=state.settings.decay.cold)  # [Tidal §2.4]
        factors["strength"] = strength(weight, lam)
        score *= factors["strength"]
    return score, factors


def _discounts(summary: EntrySummary, settings: RecallTuning) -> dict[str, float]:
    """Return by name the discounts of entries whose channels say more than they should."""
    found = {}
    if summary.role == ASSISTANT:
        found["assistant"] = -settings.assistant
    if summary.passages > 1:
        found["passages"] = -settings.passages * math.log(summary.passages)
    return found


def _personal(summary: EntrySummary, state: State, feelings: _Feelings) -> dict[str, float]:
    """Return by name the additions for an entry's speaker, time and mood."""
    settings, found = state.settings.recall, {}
    if summary.speaker in state.query.names:
        found["speaker"] = settings.speaker
    if near := closest(summary, state.times, settings):
        found["time"] = settings.time * near
    if feelings.share:
        found["feeling"] = settings.feeling * feelings.share * (1 - abs(state.affect.valence - _valence(summary)))
    if feelings.presence and (alike := feelings.alike(summary)) is not None:
        found["emotion"] = settings.likeness * feelings.presence * alike
    return found


def _valence(summary: EntrySummary) -> float:
    """Return an entry's valence. An entry without affect, such as a document, counts as neutral."""
    return summary.affect.valence if summary.affect else 0.0
