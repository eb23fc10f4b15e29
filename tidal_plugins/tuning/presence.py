"""Weights and bounds of the presence."""

from __future__ import annotations

from dataclasses import dataclass

from tidal_plugins.tuning.weight import weight


@dataclass(frozen=True, kw_only=True)
class PresenceTuning:
    """[Tidal §4–5]."""

    # given by Settings
    threshold: float
    written: bool

    salient: float = weight(0.3, ge=0, le=1)
    """Salience above which a thread counts for the gate [Tidal §5]."""
    by_threads: float = weight(0.25, ge=0)
    full_threads: int = weight(6, gt=0)
    by_seeds: float = weight(0.15, ge=0)
    full_seeds: int = weight(3, gt=0)
    by_arousal: float = weight(0.20, ge=0)
    by_absence: float = weight(0.30, ge=0)
    half_absence: float = weight(250.0, gt=0)
    """Minutes of absence that give half of its weight. With the weights above, 4 threads, 2 seeds, an arousal of .48
    and 255 minutes the score is .515 [Tidal §5]."""
    save: int = weight(5, gt=0)
    """Ticks after which the state is saved if nothing else changed [Tidal §4]. What lies between is computed again."""
    observe: int = weight(30, gt=0)
    """Ticks after which the memory is read again if nobody spoke, and thoughts may arise [Tidal §4]."""
    half_life: float = weight(168.0, gt=0)
    """Hours in which a thread loses half of its salience: those of an entry that was used [Tidal §2.4]."""
    urgent: float = weight(24.0, gt=0)
    """Hours before its day at which what is due has a salience of one half."""
    share: float = weight(0.001, ge=0, le=1)
    """Share of the difference to its neighbours that a thread moves in one tick: half of it in some eleven hours."""
    promise: float = weight(0.8, ge=0, le=1)
    task: float = weight(0.6, ge=0, le=1)
    plan: float = weight(0.5, ge=0, le=1)
    question: float = weight(0.5, ge=0, le=1)
    """Salience of a thread of each kind when it begins; what stirred somebody has its intensity."""
    threads: int = weight(1_000, gt=0)
    """Threads that are held, the most salient."""
    thought_hours: float = weight(24.0, gt=0)
    """Hours for which a thought seed counts."""
    baseline: float = weight(0.625, ge=-1, le=1)
    """Valence to which the mood relaxes between conversations: the middle of the .5 to .75 that the source reports of
    long absences [Tidal §5]. Arousal relaxes to 0."""
    fresh: float = weight(30.0, ge=0)
    """Hours for which nobody needs to be reminded of what they said."""
    settled: float = weight(72.0, ge=0)
    """Hours after which something without a date may be brought up."""
    pause: float = weight(30.0, ge=0)
    """Minutes after the person's last word in which nothing is said: a conversation may go on."""
    things: int = weight(3, gt=0)
    """Things that are due which one message may name."""
    answer: float = weight(24.0, gt=0)
    """Hours in which a message may be answered."""
    strengthened: float = weight(1.25, ge=1)
    cooled: float = weight(0.5, ge=0, le=1)
    """Factors of the salience of a thread whose message was answered or ignored."""
    patience: int = weight(3, ge=0)
    """Ignored messages in a row up to which each doubles the time between two."""
