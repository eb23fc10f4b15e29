"""The order of a recall for a turn that goes on with something begun earlier.

«We settled on the loop, what is next?» says little of what it needs. So what the entries are like tells more than it
does for a question: when they were said, whether they say much, and whether they belong to the nearest conversation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidal_plugins.language.importance import BASE
from tidal_plugins.model.clock import to_micros
from tidal_plugins.retrieval.candidates import Candidates, Reals
from tidal_plugins.retrieval.rank import ASSISTANT
from tidal_plugins.retrieval.understand import Question
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.ranking import brief, recency
from tidal_plugins.settings import Settings
from tidal_plugins.storage.columns.view import among
from tidal_plugins.tuning import Weights, tunable

RECENCY, SUBSTANCE, TOPIC = "recency", "substance", "topic"
"""Names of factors of a score."""

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, kw_only=True)
class OngoingTuning(Weights, group="ongoing"):
    """Turns that go on with something begun earlier. All are in units of cosine, as the nearness is that they add to.

    ``make fit-ongoing`` fits them: how the turns are that something was noted of differ from the others, and how much
    that counts.
    """

    importance: float = tunable(0.04, ge=0)
    """Added for each point of importance above that of a plain statement. The factor of importance, which every recall
    has, is worth about .01."""
    brief: float = tunable(0.16, ge=0)
    """Taken off a short turn, in full up to ``recall.turn`` words: «sounds good!» holds nothing of a plan."""
    assistant: float = tunable(0.06, ge=0)
    """Taken off an assistant's answer, which is long without telling anything of the person."""
    average: float = tunable(-0.08)
    """What these come to for an average turn. Notes and documents, which nobody said, count as one."""
    topic: float = tunable(0.14, ge=0)
    """Added for the entries of the nearest thread: a turn goes on with one conversation at a time."""


def prefer_ongoing(ranked: Candidates, question: Question, settings: Settings) -> Candidates:
    """Weigh scores by recency, substance and topic if the text goes on with something begun earlier, and sort again.

    It comes after the confidence was estimated, so that it decides order and never silence. Used by the profile
    ``balanced`` alone.
    """
    if not (question.query.goes_on and question.request.profile == "balanced" and len(ranked)):
        return ranked
    recall, weights = settings[RecallTuning], settings[OngoingTuning]
    arrays = ranked.columns.arrays
    if recall.recency:
        days = (to_micros(question.request.now) - arrays.occurred_at[ranked.rows]) / _DAY
        ranked = ranked.weighed(RECENCY, recency(days, recall.recency)).by_score()
    threads = arrays.thread[ranked.rows]
    nearest = threads[threads >= 0][:1]
    of_topic = np.where(np.isin(threads, nearest), np.exp(recall.sharpness * weights.topic), np.nan)
    substance = np.exp(recall.sharpness * _substance(ranked, weights, recall.turn))
    return ranked.weighed(SUBSTANCE, substance).weighed(TOPIC, of_topic).by_score()


def _substance(found: Candidates, weights: OngoingTuning, turn: float) -> Reals:
    """Return how much more each entry has to say than an average turn, in units of cosine; NaN for one that nobody
    said."""
    arrays, rows = found.columns.arrays, found.rows
    said: Reals = weights.importance * (arrays.importance[rows].astype(np.float64) - BASE)
    said = said - weights.brief * brief(arrays.words[rows], turn)
    said = said - weights.assistant * among(arrays.role[rows], arrays.names.known([ASSISTANT]))
    return np.where(arrays.role[rows] >= 0, said - weights.average, np.nan)
