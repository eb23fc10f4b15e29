"""Third step of a recall: the candidates in one order, by profile [Tidal §3.2], [Anamnesis]."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.english.moods import ends_asking
from tidal_plugins.english.times import Period
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import to_micros
from tidal_plugins.retrieval.candidates import Candidates, Flags, Reals, Rows, total
from tidal_plugins.retrieval.search import Pool, reciprocal
from tidal_plugins.retrieval.understand import Question
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.decay import DecayTuning, weight
from tidal_plugins.scoring.ranking import (
    AXIS,
    POLES,
    alpha,
    blend,
    brief,
    closeness,
    dated,
    emotion_cosine,
    emotion_unit,
    importance_factor,
    leaning,
    lent,
    raised,
    relevance,
    sharp_relevance,
    strength,
)
from tidal_plugins.scoring.text import normal
from tidal_plugins.settings import Settings
from tidal_plugins.storage.columns.tables import places_of
from tidal_plugins.storage.columns.view import Columns, among
from tidal_plugins.storage.entries import HEAD

ASSISTANT = "assistant"

Words = NDArray[np.int32]

NAME = "traits"
UNKNOWN, NO, YES = 0, 1, 2

_HOUR, _DAY = 3_600_000_000, 86_400_000_000  # microseconds


def rank(pool: Pool, question: Question, settings: Settings) -> Candidates:
    """Score every candidate that is ranked in full and sort, best first."""
    return newest_twin_first(_PROFILES[question.request.profile](pool, question, settings)).by_score()


def newest_twin_first(found: Candidates) -> Candidates:
    """Return the same with the scores of entries that say the same word for word dealt out by age, the newest first.

    Two sources that say the same are no better for being old, whatever surrounds them. A turn that repeats another one
    has no passage: that one stands for both.
    """
    said = traits_of(found.columns).said(found.columns, found.rows)
    said = np.where(found.columns.arrays.count[found.rows] > 0, said, found.rows)
    order = np.lexsort((-found.score, -found.columns.arrays.occurred_at[found.rows], said))
    best = np.lexsort((-found.score, said))
    gains = np.full(len(found), np.nan)
    gains[order] = np.where(order == best, np.nan, found.score[best] - found.score[order])
    return found.raised(_told({"twin": gains})) if (order != best).any() else found


def balanced(pool: Pool, question: Question, settings: Settings) -> Candidates:
    """Return relevance · importance · strength of each candidate. This is the default, since it measures best.

    Fused is cosine plus keyword strength, corrected where roles are known, plus the lifts of thread and neighbours,
    plus the parts for who speaks, when, and in which mood. All are in units of cosine: MiniLM was trained at a scale of
    20, so that .05 is about one nat of log-odds. Speakers and feelings are about the entry alone and lift no neighbour.
    """
    found, weights = pool.near, settings[RecallTuning]
    discounts, near = _discounts(found, weights), found.nearness(weights)
    lifts = _lifts(pool, normal(question.query.text), near + total(discounts, len(found)), weights)
    parts = {**discounts, **lifts, **_personal(found, pool, question, settings)}
    fused = near + total(parts, len(found))
    share = sharp_relevance(fused, fused.max(initial=-1.0), sharpness=weights.sharpness)
    found = replace(found, fused=fused, relevance=share, score=share, parts=_told(parts))
    return _weighed(found, question, settings, importance=weights.importance, lam=weights.decay)


def tidal(pool: Pool, question: Question, settings: Settings) -> Candidates:
    """Return ``(α·cosine + (1 − α)·(1 − |Δv|)) · w(t)`` of each candidate [Tidal §2.3, §3.2].

    With no current affect it is the cosine alone.
    """
    found, share = pool.near, _Feelings.of(question.affect, settings, above_threshold=False).share
    near = np.maximum(0.0, found.cosine)
    blended = blend(near, question.affect.valence, _valence(found), 1 - share) if share else near
    parts = {"feeling": blended - near} if share else {}
    score = np.maximum(0.0, blended)
    found = replace(found, fused=found.cosine, relevance=near, score=score, parts=parts)
    return _weighed(found, question, settings, importance=0.0, lam=1.0)


def attention(pool: Pool, question: Question, settings: Settings) -> Candidates:
    """Return reciprocal rank fusion over its best, times the importance factor, plus emotion [Anamnesis].

    Recency, ``0.5^(age / half-life)`` in full, is an option of the source and here (``recall.half_life``). Without it
    decay counts as in the other profiles.
    """
    found, weights = pool.near, settings[RecallTuning]
    feelings = _Feelings.of(question.affect, settings, above_threshold=False)
    fused = reciprocal(found, weights)
    share = relevance(fused, fused.max(initial=0.0))
    found = replace(found, fused=fused, relevance=share, score=share)
    found = _weighed(found, question, settings, importance=1.0, lam=0.0 if weights.half_life else weights.decay)
    if weights.half_life:
        found = found.weighed("recency", halved(found, question.request.now, weights.half_life))
    if feelings.present:
        found = found.raised(_told({"emotion": weights.emotion * feelings.alike(found)}))
    return found


_PROFILES: Mapping[str, Callable[[Pool, Question, Settings], Candidates]] = {
    "balanced": balanced,
    "tidal": tidal,
    "attention": attention,
}


@dataclass(frozen=True, slots=True)
class _Feelings:
    """The weight of the mood in a recall.

    ``present`` says whether there is a mood that counts. ``share`` is how much feeling counts against meaning then,
    ``1 − α``, else 0 [Tidal §3.3]. ``faint`` is the length below which emotions count in proportion to it.
    """

    affect: Affect
    present: bool
    share: float
    faint: float

    @classmethod
    def of(cls, affect: Affect, settings: Settings, *, above_threshold: bool) -> _Feelings:
        """Return the weight of a mood. One that is not ``above_threshold`` reorders nothing if only those count."""
        weights, intensity = settings[AffectTuning], affect.intensity
        if intensity < weights.silence or (above_threshold and intensity <= weights.threshold):
            return cls(affect, False, 0.0, weights.silence)
        calm, stirred = settings[RecallTuning].alpha_calm, settings[RecallTuning].alpha_stirred
        share = 1 - alpha(intensity, calm=calm, stirred=stirred, threshold=weights.threshold)
        return cls(affect, True, share, weights.silence)

    def alike(self, found: Candidates) -> Reals:
        """Return how similar the emotions of memories are to the current ones, in [−1, 1]; NaN where there are none."""
        now = emotion_unit(self.affect.emotions or {AXIS: self.affect.valence}, POLES, self.faint)
        return np.array(
            [
                emotion_cosine(now, emotion_unit(emotions, POLES, self.faint)) if emotions else np.nan
                for emotions in found.columns.emotions(found.rows)
            ],
            np.float64,
        )


def _lifts(pool: Pool, said: str, nearness: Reals, weights: RecallTuning) -> dict[str, Reals]:
    """Return what thread and neighbours of each entry add to its own ``nearness``, by name; NaN where that is nothing.

    An entry that repeats ``said`` word for word, in the form of :func:`normal`, raises no other entry of its thread: a
    repeated question is as near as possible wherever it was asked.
    """
    found = pool.near
    traits, columns = traits_of(found.columns), found.columns
    asks, dated = traits.told(columns, found.rows)
    others = ~traits.says(columns, found.rows, said)
    words = columns.arrays.words[found.rows]
    # A turn that says when something was gains, one that asks loses, the more so the shorter it is.
    told = weights.time_mention * (dated - np.where(asks, brief(words, weights.turn), 0.0))
    lifts = {
        "thread": raised(nearness, _best(columns.arrays.thread[found.rows], nearness, others), weights.thread),
        "neighbours": _borrowed(pool, nearness, words, asks, weights),
        "time_mention": told,
    }
    return {name: np.where(lift == 0, np.nan, lift) for name, lift in lifts.items()}


def _borrowed(pool: Pool, nearness: Reals, words: Words, asks: Flags, weights: RecallTuning) -> Reals:
    rows, near, borrowed = pool.near.rows, pool.neighbours, np.zeros(len(pool.near))
    if near is None or not len(rows) or not len(near.row):
        return borrowed
    by_row = np.argsort(rows)
    (one, known), (other, also) = (places_of(rows[by_row], each) for each in (near.row, near.other))
    both = known & also
    one, other, away = by_row[one[both]], by_row[other[both]], near.places[both]
    # each pair of neighbours either way
    lender, borrower, places = np.r_[one, other], np.r_[other, one], np.r_[away, -away]
    key = pool.near.columns.arrays.key[rows]  # in the order stored, whatever the rows are, so that sums are the same
    order = np.lexsort((places, key[borrower], key[lender]))
    lender, borrower, places = lender[order], borrower[order], places[order]
    new = np.ones(len(order), bool)  # of both ends of a pair the other was found
    new[1:] = (lender[1:] != lender[:-1]) | (borrower[1:] != borrower[:-1]) | (places[1:] != places[:-1])
    lender, borrower, places = lender[new], borrower[new], places[new]
    answer = np.where(asks[lender], weights.answer, 1.0)
    lifts = leaning(words[borrower], words[lender], weights.turn) * lent(
        nearness[lender], pool.floor, places, share=weights.neighbours, answer=answer
    )
    return np.asarray(np.bincount(borrower, lifts, len(borrowed)), np.float64)


def _best(threads: Words, nearness: Reals, counted: Flags) -> Reals:
    """Return for each entry the highest nearness in its thread of those that are ``counted``; its own without one."""
    highest: dict[int, float] = {-1: -np.inf}
    of_each = threads.tolist()
    for thread, near, counts in zip(of_each, nearness.tolist(), counted.tolist(), strict=True):
        if counts and thread >= 0 and near > highest.get(thread, -np.inf):
            highest[thread] = near
    return np.maximum(nearness, [highest.get(thread, -np.inf) for thread in of_each])


def closest(found: Candidates, periods: Iterable[Period], settings: RecallTuning) -> Reals:
    """Return how near each entry is to the nearest of some periods, in [0, 1].

    The memory that tells of the move is not from before the move, nor from after it.
    """
    moments, ids = found.columns.arrays.occurred_at[found.rows], found.ids
    slack, best = settings.slack * _DAY, np.zeros(len(found))
    for period in periods:
        start, end = (None if time is None else to_micros(time) for time in (period.start, period.end))
        near = closeness(moments, start, end, slack=slack)
        if period.known_from in ids:
            near[ids.index(period.known_from)] = 0.0
        best = np.maximum(best, near)
    return best


def halved(found: Candidates, now: datetime, half_life: float) -> Reals:
    """Return ``0.5^(age / half_life)`` of entries, in hours since what they tell of [Anamnesis G3]."""
    left: Reals = weight(1.0, (to_micros(now) - found.columns.arrays.occurred_at[found.rows]) / _HOUR, half_life)
    return left


def _weighed(found: Candidates, question: Question, settings: Settings, *, importance: float, lam: float) -> Candidates:
    """Return ``relevance · importance · strength`` of each candidate, with the factors by name [Anamnesis]."""
    arrays = found.columns.arrays
    if importance:
        factor = 1 + importance * (importance_factor(arrays.importance[found.rows]) - 1)
        found = found.weighed("importance", factor)
    if lam and (arrays.weight[found.rows] >= 0).any():
        left = np.where(arrays.weight[found.rows] < 0, np.nan, strength(_remaining(found, question, settings), lam))
        found = found.weighed("strength", left)
    return found


def _remaining(found: Candidates, question: Question, settings: Settings) -> Reals:
    """Return the weight that decay has left of each candidate, as ``scoring.decay.remaining`` does [Tidal §2.4]."""
    arrays, rows, now = found.columns.arrays, found.rows, to_micros(question.request.now)
    cold_at = arrays.cold_at[rows]
    cold = cold_at <= now
    start = np.where(cold, cold_at, arrays.anchored_at[rows])
    hours = np.maximum(0, now - np.minimum(start, now)) / _HOUR
    half_life = np.where(cold, settings[DecayTuning].cold, arrays.half_life[rows])
    left: Reals = weight(np.where(cold, 1.0, arrays.weight[rows]), hours, half_life)
    return left


def _discounts(found: Candidates, settings: RecallTuning) -> dict[str, Reals]:
    """Return by name the discounts of entries whose channels say more than they should; NaN where they do not."""
    arrays = found.columns.arrays
    passages = np.maximum(arrays.count[found.rows], 1)
    spoken = _named(found, "role", {ASSISTANT})
    return {
        "assistant": np.where(spoken, -settings.assistant, np.nan),
        "passages": np.where(passages > 1, -settings.passages * np.log(passages), np.nan),
    }


def _personal(found: Candidates, pool: Pool, question: Question, settings: Settings) -> dict[str, Reals]:
    """Return by name the additions for the speakers, times and moods of entries; NaN where there are none."""
    weights, feelings = settings[RecallTuning], _Feelings.of(question.affect, settings, above_threshold=True)
    parts: dict[str, Reals] = {}
    if question.query.names:
        parts["speaker"] = np.where(_named(found, "speaker", question.query.names), weights.speaker, np.nan)
    if pool.times:
        near = closest(found, pool.times, weights)
        parts["time"] = np.where(near > 0, weights.time * near, np.nan)
    if feelings.share:
        parts["feeling"] = weights.feeling * feelings.share * (1 - np.abs(question.affect.valence - _valence(found)))
    if feelings.present:
        parts["emotion"] = weights.likeness * feelings.alike(found)
    return parts


def _named(found: Candidates, column: str, names: set[str] | frozenset[str]) -> Flags:
    """Return which entries have one of some names in a column."""
    arrays = found.columns.arrays
    return among(getattr(arrays, column)[found.rows], arrays.names.known(names))


def _told(parts: Mapping[str, Reals]) -> dict[str, Reals]:
    """Return the parts that any entry has."""
    return {name: part for name, part in parts.items() if not np.isnan(part).all()}


def _valence(found: Candidates) -> Reals:
    """Return the valence of entries. One without affect, such as a document, counts as neutral."""
    return found.columns.arrays.valence[found.rows].astype(np.float64)


class Traits:
    """The traits of the entries of a scope that took part so far, by row."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reserve(0)

    def told(self, columns: Columns, rows: Rows) -> tuple[Flags, Flags]:
        """Return of entries whether each ends with a question, and whether it says when something was."""
        self._read(columns, rows)
        with self._lock:
            return self._asks[rows], self._dated[rows]

    def says(self, columns: Columns, rows: Rows, said: str) -> Flags:
        """Return which entries say ``said`` word for word, which is in the form of :func:`normal`.

        Only the beginning of a long entry is known, so a long entry never does.
        """
        if not said:
            return np.zeros(len(rows), bool)
        return np.asarray(self.said(columns, rows) == hash(said))

    def said(self, columns: Columns, rows: Rows) -> Rows:
        """Return a hash of what each entry says, equal for those that say the same word for word."""
        self._read(columns, rows)
        with self._lock:
            return self._said[rows]

    def shouted(self, columns: Columns, rows: Rows) -> Flags:
        """Return which entries are shouted."""
        with self._lock:
            self._reserve(len(columns.arrays.key))
            unknown = rows[self._shouted[rows] == UNKNOWN]
        if len(unknown):
            shouted = [YES if is_shouted(head) else NO for head, _ in columns.heads(unknown)]
            with self._lock:
                self._shouted[unknown] = shouted
        with self._lock:
            return np.asarray(self._shouted[rows] == YES)

    def _read(self, columns: Columns, rows: Rows) -> None:
        with self._lock:
            self._reserve(len(columns.arrays.key))
            unknown = rows[~self._known[rows]]
        if len(unknown):  # the texts are read without the lock: two threads may read the same
            heads = columns.heads(unknown)
            asks, dates = [ends_asking(tail) for _, tail in heads], [dated(head) for head, _ in heads]
            said = [
                hash(normal(head) if len(head) < HEAD else row)
                for row, (head, _) in zip(unknown.tolist(), heads, strict=True)
            ]
            with self._lock:
                self._asks[unknown], self._dated[unknown], self._said[unknown] = asks, dates, said
                self._known[unknown] = True

    def _reserve(self, rows: int) -> None:
        """Make room for entries that came since. The lock is held, lest what another thread writes gets lost."""
        if not rows:
            self._known, self._asks, self._dated = (np.zeros(0, bool) for _ in range(3))
            self._said, self._shouted = np.zeros(0, np.int64), np.zeros(0, np.int8)
        elif rows > len(self._known):
            known = self._known
            for name in ("_asks", "_dated", "_said", "_shouted", "_known"):
                old = getattr(self, name)
                new = np.zeros(rows + rows // 4 + 64, old.dtype)
                new[: len(known)] = old[: len(known)]
                setattr(self, name, new)


def traits_of(columns: Columns) -> Traits:
    """Return the traits of a scope. They live as long as its columns hold the same texts."""
    found: Traits = columns.arrays.notes.setdefault(NAME, Traits())
    return found
