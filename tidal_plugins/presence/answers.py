"""Whether what the memory said was answered or ignored, and what that does to the thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.presence import PresenceState
from tidal_plugins.presence.stored import Kept, changed
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.scoring.text import stems

_AT_ONCE = timedelta(hours=1)
"""Time after a message in which whatever the person says counts as its answer."""


def judged(
    state: PresenceState,
    said: Sequence[Kept],
    heard: Entry | None,
    opened: datetime | None,
    now: datetime,
    settings: PresenceTuning,
) -> tuple[PresenceState, list[Kept]]:
    """Return a state in which an answer strengthens a thread and silence cools it, and the messages that changed.

    A message is answered by the next thing that the person says within ``answer`` hours, if it comes at once, shares a
    word with it, or follows on it in its thread: ``opened`` is when the agent said, unasked, what stands before it. A
    message is ignored when that says something else, or nothing comes. One that nobody took in time expires,
    and so does one from a time that is yet to come: a clock was wrong.
    """
    found: list[Kept] = []
    for kept in said:
        message = kept.message
        if message.status == "queued" and not message.at - _AT_ONCE <= now < message.until:
            found.append(changed(kept, status="expired"))
        elif message.status == "taken" and message.taken_at:
            answer = heard if heard and heard.occurred_at > message.taken_at else None
            over = now - message.taken_at >= timedelta(hours=settings.answer)
            if answer is None and not over:
                continue
            follows = opened is not None and opened >= message.taken_at
            answered = answer is not None and _answers(answer, kept, message.taken_at, follows, settings)
            found.append(changed(kept, status="answered" if answered else "ignored"))
            state = _moved(state, kept, answered, settings)
    return state, found


def _answers(answer: Entry, kept: Kept, since: datetime, follows: bool, settings: PresenceTuning) -> bool:
    after = answer.occurred_at - since
    if after >= timedelta(hours=settings.answer):
        return False
    return follows or after <= _AT_ONCE or not frozenset[str]().union(*kept.words).isdisjoint(stems(answer.text))


def _moved(state: PresenceState, kept: Kept, answered: bool, settings: PresenceTuning) -> PresenceState:
    factor = settings.strengthened if answered else settings.cooled
    threads = tuple(
        replace(one, salience=min(1.0, one.salience * factor)) if one.id in kept.threads else one
        for one in state.threads
    )
    said = tuple(dict.fromkeys([*state.said, *kept.threads]))
    return replace(state, threads=threads, said=said, ignored=0 if answered else state.ignored + 1)
