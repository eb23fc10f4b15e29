"""The affect loop: exchanges move a durable state, which relaxes between them and colours recall [Tidal §3.4]."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidal_plugins.affect.provoked import is_provoked
from tidal_plugins.english.pasted import own_words
from tidal_plugins.english.sentences import sentences
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import from_micros, hours_between, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.protocols import EmotionEstimator
from tidal_plugins.scoring import affect as scoring
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import read_document
from tidal_plugins.tuning import Weights, tunable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class AffectTuning(Weights, group="affect"):
    """[Tidal §3]."""

    rule: str = tunable("person", among=("person", "tidal"))
    """What moves the state. ``person``: what the user says, by its most charged sentences, and the answer by a tenth as
    much, whatever their lengths. ``tidal``: both texts, weighted by their lengths, the further the longer the answer
    [Tidal §3.4]. Under it ten furious turns with polite answers left the state at a valence of −.03."""
    half_life: float = tunable(6.0, gt=0)
    """Hours in which the state relaxes half way to the baseline."""
    threshold: float = tunable(0.5, ge=0, le=1)
    """Intensity above which the state counts as stirred."""
    baseline: float = tunable(0.0, ge=-1, le=1)
    rate: float = tunable(0.5, gt=0, le=1)
    """Share by which what the user says moves the state; in the rule ``tidal`` one exchange with a long answer."""
    answer: float = tunable(0.1, ge=0, le=1)
    """Share of the rate by which the answer moves it in the rule ``person``."""
    full_chars: int = tunable(400, gt=0)
    """Length of an answer that counts in full in the rule ``tidal``."""
    least: float = tunable(0.1, ge=0, le=1)
    """Share of the rate that the shortest answer counts in the rule ``tidal``."""
    silence: float = tunable(0.05, ge=0, le=1)
    """Intensity below which there is no current affect."""


COLLECTION = "affect"
KEY = "state"

SENTENCES = 2
"""Sentences at the beginning of a user's turn, and at its end, that are read singly: people say first or last how they
feel. Each is embedded, which costs a turn of four some 6 ms more. With one at either end a quarter of the furious, sad
and glad moods that were tried were missed."""

_BETWEEN = 50  # sentences that are looked at for curses and complaints

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AffectLoop:
    """The affect state of each scope of a store. Without an estimator it stays at rest."""

    storage: Storage
    estimator: EmotionEstimator | None
    settings: AffectTuning

    def current(self, scope: Scope, now: datetime) -> Affect:
        """Return the state as it is now."""
        document = read_document(self.storage, scope, COLLECTION, KEY)
        state, at = self._standing(document and document.value, now)
        return self._relax(state, at, now)

    def felt(self, turn: str, state: Affect, vector: NDArray[np.float32] | None = None) -> Affect:
        """Return the feeling that influences recall for a user's turn: the turn's own if it is stirred, else the state.

        ``state`` is the current one; ``vector`` is the turn's embedding, if it is known. A turn comes before the
        exchange that will move the state. Waiting for that exchange would leave the first outburst of an upset user
        without any effect [Tidal §3.4: the weights are seeded on each perturbation].
        """
        spoken = self.spoken(turn)
        [own] = self.estimate([spoken], None if vector is None or spoken != turn else vector[None])
        return own if own.intensity > max(self.settings.threshold, state.intensity) else state

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]:
        """Read how texts feel; ``vectors`` are their embeddings, where they are known.

        An estimator that fails costs the mood, not the memory: it is logged.
        """
        if self.estimator is None:
            return [Affect()] * len(texts)
        try:
            return _checked(self.estimator.estimate(texts, vectors), len(texts))
        except Exception as error:  # its message may hold the text, which belongs into no log
            pass_interrupt(error)
            names = type(self.estimator).__name__, type(error).__name__
            logger.warning("%s failed with %s; what was said counts as neutral", *names)
            return [Affect()] * len(texts)

    def spoken(self, turn: str) -> str:
        """Return the part of a user's turn that moves the state: in the rule ``person`` their own words alone.

        A log, a text to translate or a mail that somebody pastes is not what they feel.
        """
        return turn if self.settings.rule == "tidal" else own_words(turn)

    def told(self, turns: Sequence[str], whole: Sequence[Affect]) -> list[Affect]:
        """Return how users' turns feel to the rule of the state; ``whole`` is how each reads as one text.

        In the rule ``person`` a turn of several sentences has their valence (:func:`scoring.affect.peak`): whoever is
        furious says so in one of them. Of a long turn the first and the last ``SENTENCES`` are read, and curses and
        complaints of repetition between them. A turn into which something is pasted is read without it.
        """
        if self.settings.rule == "tidal":
            return list(whole)
        spoken = [self.spoken(turn) for turn in turns]
        mixed = [own for own, turn in zip(spoken, turns, strict=True) if own != turn]
        alone = iter(self.estimate(mixed) if mixed else ())
        whole = [felt if own == turn else next(alone) for own, turn, felt in zip(spoken, turns, whole, strict=True)]
        said = [_ends(own) for own in spoken]
        pieces = [sentence for each in said for sentence in each]
        read = iter(self.estimate(pieces) if pieces else ())
        valences = [[next(read).valence for _ in each] for each in said]
        return [
            replace(felt, valence=scoring.peak(each)) if each else felt
            for felt, each in zip(whole, valences, strict=True)
        ]

    def advance(
        self, stored: Any, user: Affect, agent: Affect, chars: tuple[int, int], at: datetime, now: datetime
    ) -> tuple[Affect, Any]:
        """Let an exchange move the state, and return the state after it and what is to be stored.

        ``stored`` is the state before it, as it is stored under ``KEY`` of ``COLLECTION``, or ``None``. ``chars`` are
        the lengths of what the user said (:meth:`spoken`) and of the answer. An exchange from before the last one (an
        old conversation that is imported late) has a state of its own and leaves the current one alone: nothing, that
        is ``None``, is to be stored.
        """
        state, last = self._standing(stored, now)
        if at < last:
            return self._moved(Affect(self.settings.baseline), user, agent, chars), None
        after = self._moved(self._relax(state, last, at), user, agent, chars)
        return after, _to_json(after, at)

    def _moved(self, state: Affect, user: Affect, agent: Affect, chars: tuple[int, int]) -> Affect:
        settings = self.settings
        if settings.rule == "tidal":
            gain = scoring.gain(chars[1], rate=settings.rate, full_chars=settings.full_chars, least=settings.least)
            return scoring.update(state, scoring.exchange(user, agent, *chars), gain)
        heard = scoring.update(state, user, settings.rate if chars[0] else 0.0)
        return scoring.update(heard, agent, settings.rate * settings.answer if chars[1] else 0.0)

    def _standing(self, stored: Any, now: datetime) -> tuple[Affect, datetime]:
        if stored is None:
            return Affect(self.settings.baseline), datetime.min.replace(tzinfo=UTC)
        state, at = _from_json(stored)
        return state, min(at, now)  # a clock that was ahead for a while must not hold the mood until then

    def _relax(self, state: Affect, since: datetime, now: datetime) -> Affect:
        hours = hours_between(since, now)
        return scoring.relax(state, hours, half_life=self.settings.half_life, baseline=self.settings.baseline)


def _ends(turn: str) -> list[str]:
    """Return the sentences at both ends of a turn, and curses and complaints between; none if it is a single one."""
    said = [turn[start:end] for start, end in sentences(turn)]
    if len(said) > 2 * SENTENCES:
        between = [sentence for sentence in said[SENTENCES:-SENTENCES][:_BETWEEN] if is_provoked(sentence)]
        said = [*said[:SENTENCES], *between[:SENTENCES], *said[-SENTENCES:]]
    return said if len(said) > 1 else []


def _checked(feelings: Sequence[Affect], count: int) -> list[Affect]:
    """Raise ``ValueError`` for a feeling that no text can have, before it enters the state for good."""
    feelings = list(feelings)
    if len(feelings) != count:
        raise ValueError(f"{len(feelings)} feelings for {count} texts")
    return [_plain(affect) for affect in feelings]


def _plain(affect: Affect) -> Affect:
    emotions = {str(name): float(strength) for name, strength in (affect.emotions or {}).items()}
    if not all(0 <= strength <= 1 for strength in emotions.values()):
        raise ValueError("emotions out of range")
    return Affect(affect.valence, affect.arousal, emotions or None)


def _to_json(state: Affect, at: datetime) -> dict[str, Any]:
    emotions = dict(state.emotions) if state.emotions else None
    return {"valence": state.valence, "arousal": state.arousal, "emotions": emotions, "at": to_micros(at)}


def _from_json(value: dict[str, Any]) -> tuple[Affect, datetime]:
    return Affect(value["valence"], value["arousal"], value["emotions"]), from_micros(value["at"])
