"""The gate: whether the memory may speak now, and why not [Tidal §5]."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.presence import Decision, PresenceState, Terms
from tidal_plugins.presence.stored import Kept
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.scoring.salience import gate

_DELIVERED = ("taken", "answered", "ignored")


def score(state: PresenceState, mood: Affect, now: datetime, settings: PresenceTuning) -> Decision:
    """Return the score of the gate, as a decision that is still open."""
    threads = sum(one.salience > settings.salient for one in state.threads)
    seeds = sum(one.at <= now for one in state.thoughts)
    absence = 0.0 if state.heard is None else max(0.0, (now - state.heard) / timedelta(minutes=1))
    parts = gate(
        threads,
        seeds,
        mood.arousal,
        absence,
        by_threads=settings.by_threads,
        full_threads=settings.full_threads,
        by_seeds=settings.by_seeds,
        full_seeds=settings.full_seeds,
        by_arousal=settings.by_arousal,
        by_absence=settings.by_absence,
        half_absence=settings.half_absence,
    )
    counts = {"threads": threads, "seeds": seeds, "arousal": mood.arousal, "absence": absence}
    return Decision(now, False, "", sum(parts.values()), settings.threshold, parts, counts)


def restraint(
    state: PresenceState, terms: Terms, said: Sequence[Kept], now: datetime, settings: PresenceTuning
) -> str | None:
    """Return why nothing may be said that is not due, or ``None``: what nobody answered makes it wait longer."""
    times = [kept.message.at for kept in said if kept.message.status in _DELIVERED]
    pause = terms.cooldown * 2 ** min(state.ignored, settings.patience)
    if any(abs(now - time) < pause for time in times):
        return f"nobody answered the last {state.ignored}, and it waits {pause} from the last one"
    return None


def silence(
    state: PresenceState, terms: Terms, said: Sequence[Kept], now: datetime, settings: PresenceTuning
) -> str | None:
    """Return why nothing may be said now, whatever it would be, or ``None``."""
    if terms.is_paused(now):
        return "it is paused" + (f" until {terms.local(terms.until):%Y-%m-%d %H:%M}" if terms.until else "")
    if any(kept.message.status == "queued" for kept in said):
        return "a message waits to be taken"
    if terms.is_quiet(now):
        return f"these are quiet hours, {terms.quiet[0]:%H:%M} to {terms.quiet[1]:%H:%M} in {terms.zone}"
    times = [kept.message.at for kept in said if kept.message.status in _DELIVERED]
    today = sum(terms.today(time) == terms.today(now) for time in times)
    if today >= terms.per_day:
        return f"it said {today} of {terms.per_day} a day already"
    last = min(times, key=lambda time: abs(now - time), default=None)
    if last and abs(now - last) < terms.cooldown:
        return f"it spoke at {terms.local(last):%Y-%m-%d %H:%M} and waits {terms.cooldown}"
    if state.heard is None:
        return "nobody has said anything yet"
    if in_conversation(state.heard, now, settings):
        return "a conversation may be going on"
    return None


def in_conversation(heard: datetime | None, now: datetime, settings: PresenceTuning) -> bool:
    """Return whether the person spoke so lately that a conversation may be going on, by a clock that may go wrong."""
    return heard is not None and abs(now - heard) < timedelta(minutes=settings.pause)
