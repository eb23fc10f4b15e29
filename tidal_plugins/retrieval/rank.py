"""Stage ``rank``: the candidates in one order, by profile [Tidal §3.2], [Anamnesis]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tidal_plugins.model.clock import to_micros
from tidal_plugins.retrieval.candidates import Candidates, total
from tidal_plugins.retrieval.search import reciprocal
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.times import closest
from tidal_plugins.scoring.affect import AXIS, POLES, alpha, blend, emotion_similarity
from tidal_plugins.scoring.decay import strength, weight
from tidal_plugins.scoring.fusion import importance_factor, relevance, sharp_relevance
from tidal_plugins.storage.columns.filters import among
from tidal_plugins.tuning import RecallTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.retrieval.candidates import Reals

ASSISTANT = "assistant"

_HOUR = 3_600_000_000  # microseconds


def rank(state: State) -> None:
    """Score every candidate that is ranked in full and sort, best first."""
    state.ranked = _PROFILES[state.request.profile](state.near, state).by_score()


def balanced(found: Candidates, state: State) -> Candidates:
    """Return relevance · importance · strength of each candidate. This is the default, since it measures best.

    Fused is cosine plus keyword strength, corrected where roles are known, plus the lifts of thread and neighbours,
    plus the parts for who speaks, when, and in which mood. All are in units of cosine: MiniLM was trained at a scale of
    20, so that .05 is about one nat of log-odds. Speakers and feelings are about the entry alone and lift no neighbour.
    """
    settings = state.settings.recall
    discounts, near = _discounts(found, settings), found.nearness(settings)
    lifts = state.context.lifts(found, near + total(discounts, len(found)), settings) if state.context else {}
    parts = {**discounts, **lifts, **_personal(found, state)}
    fused = near + total(parts, len(found))
    share = sharp_relevance(fused, fused.max(initial=-1.0), sharpness=settings.sharpness)
    found = replace(found, fused=fused, relevance=share, score=share, parts=_told(parts))
    return _weighed(found, state, importance=settings.importance, lam=settings.decay)


def tidal(found: Candidates, state: State) -> Candidates:
    """Return ``(α·cosine + (1 − α)·(1 − |Δv|)) · w(t)`` of each candidate [Tidal §2.3, §3.2].

    With no current affect it is the cosine alone.
    """
    import numpy as np

    share = _Feelings(state, gradual=False).share
    near = np.maximum(0.0, found.cosine)
    blended = blend(near, state.affect.valence, _valence(found), 1 - share) if share else near
    parts = {"feeling": blended - near} if share else {}
    score = np.maximum(0.0, blended)
    found = replace(found, fused=found.cosine, relevance=near, score=score, parts=parts)
    return _weighed(found, state, importance=0.0, lam=1.0)


def attention(found: Candidates, state: State) -> Candidates:
    """Return reciprocal rank fusion over its best, times the importance factor, plus emotion [Anamnesis].

    Decay counts as the settings say.
    """
    settings, feelings = state.settings.recall, _Feelings(state, gradual=False)
    fused = reciprocal(found, settings)
    share = relevance(fused, fused.max(initial=0.0))
    found = _weighed(
        replace(found, fused=fused, relevance=share, score=share), state, importance=1.0, lam=settings.decay
    )
    if feelings.presence:
        found = found.raised(_told({"emotion": settings.emotion * feelings.alike(found)}))
    return found


_PROFILES: Mapping[str, Callable[[Candidates, State], Candidates]] = {
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

    def alike(self, found: Candidates) -> Reals:
        """Return how similar the emotions of memories are to the current ones, in [−1, 1]; NaN where there are none."""
        import numpy as np

        now = self.affect.emotions or {AXIS: self.affect.valence}
        return np.array(
            [
                emotion_similarity(now, emotions, poles=POLES, faint=self.settings.silence) if emotions else np.nan
                for emotions in found.columns.emotions(found.rows)
            ],
            np.float64,
        )


def _weighed(found: Candidates, state: State, *, importance: float, lam: float) -> Candidates:
    """Return ``relevance · importance · strength`` of each candidate, with the factors by name [Anamnesis]."""
    import numpy as np

    arrays = found.columns.arrays
    if importance:
        factor = 1 + importance * (importance_factor(arrays.importance[found.rows]) - 1)
        found = found.weighed("importance", factor)
    if lam and (arrays.weight[found.rows] >= 0).any():
        left = np.where(arrays.weight[found.rows] < 0, np.nan, strength(_remaining(found, state), lam))
        found = found.weighed("strength", left)
    return found


def _remaining(found: Candidates, state: State) -> Reals:
    """Return the weight that decay has left of each candidate, as ``scoring.decay.remaining`` does [Tidal §2.4]."""
    import numpy as np

    arrays, rows, now = found.columns.arrays, found.rows, to_micros(state.request.now)
    cold_at = arrays.cold_at[rows]
    cold = cold_at <= now
    start = np.where(cold, cold_at, arrays.anchored_at[rows])
    hours = np.maximum(0, now - np.minimum(start, now)) / _HOUR
    half_life = np.where(cold, state.settings.decay.cold, arrays.half_life[rows])
    left: Reals = weight(np.where(cold, 1.0, arrays.weight[rows]), hours, half_life)
    return left


def _discounts(found: Candidates, settings: RecallTuning) -> dict[str, Reals]:
    """Return by name the discounts of entries whose channels say more than they should; NaN where they do not."""
    import numpy as np

    arrays = found.columns.arrays
    passages = np.maximum(arrays.count[found.rows], 1)
    spoken = _named(found, "role", {ASSISTANT})
    return {
        "assistant": np.where(spoken, -settings.assistant, np.nan),
        "passages": np.where(passages > 1, -settings.passages * np.log(passages), np.nan),
    }


def _personal(found: Candidates, state: State) -> dict[str, Reals]:
    """Return by name the additions for the speakers, times and moods of entries; NaN where there are none."""
    import numpy as np

    settings, feelings = state.settings.recall, _Feelings(state, gradual=True)
    parts: dict[str, Reals] = {}
    if state.query.names:
        parts["speaker"] = np.where(_named(found, "speaker", state.query.names), settings.speaker, np.nan)
    if state.times:
        near = closest(found, state.times, settings)
        parts["time"] = np.where(near > 0, settings.time * near, np.nan)
    if feelings.share:
        parts["feeling"] = settings.feeling * feelings.share * (1 - np.abs(state.affect.valence - _valence(found)))
    if feelings.presence:
        parts["emotion"] = settings.likeness * feelings.presence * feelings.alike(found)
    return parts


def _named(found: Candidates, column: str, names: set[str] | frozenset[str]) -> NDArray[np.bool_]:
    """Return which entries have one of some names in a column."""

    arrays = found.columns.arrays
    return among(getattr(arrays, column)[found.rows], arrays.names.known(names))


def _told(parts: Mapping[str, Reals]) -> dict[str, Reals]:
    """Return the parts that any entry has."""
    import numpy as np

    return {name: part for name, part in parts.items() if not np.isnan(part).all()}


def _valence(found: Candidates) -> Reals:
    """Return the valence of entries. One without affect, such as a document, counts as neutral."""
    return found.columns.arrays.valence[found.rows]
