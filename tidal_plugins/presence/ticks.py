"""Ticks: what time alone does to a presence, the same one by one or all at once [Tidal §4]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import hours_between, to_micros
from tidal_plugins.model.presence import PresenceState
from tidal_plugins.scoring import affect as scoring
from tidal_plugins.scoring.salience import spread, urgency
from tidal_plugins.tuning import Weights, given, tunable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class PresenceTuning(Weights, group="presence"):
    """[Tidal §4–5]."""

    threshold: float = given("presence.threshold")
    salient: float = tunable(0.3, ge=0, le=1)
    """Salience above which a thread counts for the gate [Tidal §5]."""
    by_threads: float = tunable(0.25, ge=0)
    full_threads: int = tunable(6, gt=0)
    by_seeds: float = tunable(0.15, ge=0)
    full_seeds: int = tunable(3, gt=0)
    by_arousal: float = tunable(0.20, ge=0)
    by_absence: float = tunable(0.30, ge=0)
    half_absence: float = tunable(250.0, gt=0)
    """Minutes of absence that give half of its weight. With the weights above, 4 threads, 2 seeds, an arousal of .48
    and 255 minutes the score is .515 [Tidal §5]."""
    save: int = tunable(5, gt=0)
    """Ticks after which the state is saved if nothing else changed [Tidal §4]. What lies between is computed again."""
    observe: int = tunable(30, gt=0)
    """Ticks after which the memory is read again if nobody spoke, and thoughts may arise [Tidal §4]."""
    half_life: float = tunable(168.0, gt=0)
    """Hours in which a thread loses half of its salience: those of an entry that was used [Tidal §2.4]."""
    urgent: float = tunable(24.0, gt=0)
    """Hours before its day at which what is due has a salience of one half."""
    share: float = tunable(0.001, ge=0, le=1)
    """Share of the difference to its neighbours that a thread moves in one tick: half of it in some eleven hours."""
    promise: float = tunable(0.8, ge=0, le=1)
    task: float = tunable(0.6, ge=0, le=1)
    plan: float = tunable(0.5, ge=0, le=1)
    question: float = tunable(0.5, ge=0, le=1)
    """Salience of a thread of each kind when it begins; what stirred somebody has its intensity."""
    arousal_half_life: float = tunable(24.0, gt=0)
    """Hours in which the arousal of the last talk halves. It is that of its liveliest turn: about .6 in a lively talk,
    of which .5 is left after 255 minutes [Tidal §5]. The mood that recall goes by relaxes in 6 hours."""
    baseline: float = tunable(0.625, ge=-1, le=1)
    """Valence to which the mood relaxes between conversations: the middle of the .5 to .75 that the source reports of
    long absences [Tidal §5]. Arousal relaxes to 0."""
    fresh: float = tunable(30.0, ge=0)
    """Hours for which nobody needs to be reminded that something is due."""
    settled: float = tunable(72.0, ge=0)
    """Hours after which something without a date may be brought up with which no thought seed has to do."""
    pause: float = tunable(30.0, ge=0)
    """Minutes after the person's last word in which nothing is said: a conversation may go on."""
    answer: float = tunable(24.0, gt=0)
    """Hours in which a message may be answered."""
    strengthened: float = tunable(1.25, ge=1)
    cooled: float = tunable(0.5, ge=0, le=1)
    """Factors of the salience of a thread whose message was answered or ignored."""
    patience: int = tunable(3, ge=0)
    """Ignored messages in a row up to which each doubles the time between two."""


TICK = timedelta(seconds=60)
"""Time between two ticks [Tidal §4]."""

_TICK, _HOUR, _DAY = 60_000_000, 3_600_000_000, 86_400_000_000  # in microseconds
_NEVER = 1 << 60
_NOTHING = 1e-4
"""Salience below which a thread has none, so that a presence that nobody speaks to comes to rest. It is less than one
tick brings to a thread without any from a neighbour with a salience of .3."""


def due(state: PresenceState, now: datetime) -> int:
    """Return how many ticks a state is behind. None if the clock went back."""
    return max(0, (now - state.at) // TICK)


def set_back(state: PresenceState, now: datetime) -> PresenceState:
    """Return a state that is not ahead of now: after a clock that was wrong for a while, time goes on from now.

    What came of the time that never was goes with it: the threads as they faded, and the thoughts.
    """
    if state.at <= now:
        return state
    thoughts = tuple(one for one in state.thoughts if one.at <= now)
    return replace(state, at=now, threads=(), links=(), thoughts=thoughts)


def tick(state: PresenceState, settings: PresenceTuning, ticks: int = 1) -> PresenceState:
    """Return the state after some ticks in which nothing was said.

    In each, salience decays and spreads along associations, what is due comes nearer, and a plan whose day is over
    leaves the mind. The result depends on the state and on the number of ticks alone: 255 at once are the same as 255
    in a row.
    """
    salience, begins, ends = _columns(state)
    links, decay = _Links(state, settings.share), 2 ** -(TICK / timedelta(hours=settings.half_life))
    start = to_micros(state.at)
    awaited = begins.max(initial=start, where=begins != _NEVER)
    for now in range(start + _TICK, start + (ticks + 1) * _TICK, _TICK):
        if now > awaited + _DAY and not salience.any():
            break  # at rest
        salience = links.spread(salience * decay)
        near = urgency((begins - now) / _HOUR, settings.urgent)
        near[begins + _DAY <= now] = 0.0  # its day is over: it is late, and fades from there
        salience = near.clip(min=salience)
        salience[(salience < _NOTHING) | (ends <= now)] = 0.0
    threads = tuple(replace(one, salience=float(s)) for one, s in zip(state.threads, salience, strict=True))
    return replace(state, at=state.at + ticks * TICK, ticks=state.ticks + ticks, threads=threads)


def mood(state: PresenceState, half_life: float, settings: PresenceTuning) -> Affect:
    """Return the mood at the last tick: what was felt when somebody last spoke, relaxed towards the baseline.

    ``half_life`` is that of valence in hours. Arousal relaxes to 0: nothing excites a memory that is left alone.
    """
    if state.heard is None:
        return Affect(settings.baseline)
    hours = hours_between(state.heard, state.at)
    relaxed = scoring.relax(state.felt, hours, half_life=half_life, baseline=settings.baseline)
    calmed = scoring.relax(state.felt, hours, half_life=settings.arousal_half_life, baseline=0.0)
    return replace(relaxed, arousal=calmed.arousal)


def _columns(state: PresenceState) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the saliences, when the day of each thread begins, and when it ends, in microseconds.

    Whole numbers, so that no rounding depends on how many ticks are taken at once.
    """
    import numpy as np

    def micros(times: list[datetime | None]) -> NDArray[np.int64]:
        return np.array([_NEVER if time is None else to_micros(time) for time in times], dtype=np.int64)

    salience = np.array([one.salience for one in state.threads], dtype=np.float64)
    return salience, micros([one.due for one in state.threads]), micros([one.ends for one in state.threads])


class _Links:
    """The associations between threads, with the weights into each thread made to add up to 1."""

    def __init__(self, state: PresenceState, share: float) -> None:
        import numpy as np

        pairs = np.array([(a, b) for a, b, _ in state.links], dtype=np.intp).reshape(-1, 2)
        weights = np.array([weight for *_, weight in state.links], dtype=np.float64)
        self._sources = np.concatenate([pairs[:, 0], pairs[:, 1]])
        self._targets = np.concatenate([pairs[:, 1], pairs[:, 0]])
        both = np.concatenate([weights, weights])
        sums = np.bincount(self._targets, both, len(state.threads))
        self._weights = both / sums[self._targets]
        self._share = np.where(sums > 0, share, 0.0)

    def spread(self, salience: NDArray[np.float64]) -> NDArray[np.float64]:
        if not len(self._weights):
            return salience
        return spread(salience, self._sources, self._targets, self._weights, self._share)
