"""Choose what to say: what is due, or else what has been open for long, and nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tidal_plugins.dossiers.scorer import worth
from tidal_plugins.english.dates import named_days
from tidal_plugins.english.intentions import INTENTION, REMIND
from tidal_plugins.english.sentences import plain
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.presence import Attention, Terms
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.presence.unfinished import Unfinished, alike

MAX_THINGS = 3
"""Things that are due which one message may name."""


_ORDER = ("promise", "plan", "task", "question")
_NOON = 12
"""Hour of the day from which a plan of the same day may be over."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The things to speak of by the ids of their threads, and ``threads`` with them those that are about the same.
    ``due`` says that they do not wait for the gate."""

    items: Mapping[str, Unfinished]
    threads: tuple[str, ...]
    due: bool


@dataclass(frozen=True, slots=True)
class Told:
    """The words of what was said, and of what was said because it was due: a debt may come up before its day, and once
    more when that is near."""

    all: Sequence[frozenset[str]] = ()
    due: Sequence[frozenset[str]] = ()


def choose(
    items: Mapping[str, Unfinished],
    threads: Iterable[Attention],
    said: Collection[str],
    told: Told,
    now: datetime,
    terms: Terms,
    settings: PresenceTuning,
) -> Chosen | None:
    """Return what to speak of, or ``None``.

    ``said`` are the threads that were spoken of, and ``told`` is what was said. What is due comes first, at
    most ``things`` of it, by its day and its kind. Else the one thing that has been open for long and is most on the
    mind; rather one that something said elsewhere brings to mind, which need not have waited.
    """
    salience = {one.id: one.salience for one in threads}
    fresh = {
        id_: item
        for id_, item in items.items()
        if id_ not in said and not any(alike(item, words) for words in (told.due if item.due else told.all))
    }
    today, hour = terms.today(now), terms.local(now).hour
    due = [id_ for id_, item in fresh.items() if _is_due(item, today, hour, now, settings)]
    due.sort(key=lambda id_: (fresh[id_].due or today, _ORDER.index(fresh[id_].kind), -worth(fresh[id_].said)))
    if things := _distinct({id_: fresh[id_] for id_ in due}, MAX_THINGS):
        covered = tuple(id_ for id_ in due if any(_is_same(fresh[id_], one) for one in things.values()))
        if told_of := _distinct(_in_full(things, items), MAX_THINGS):
            return Chosen(told_of, covered, due=True)
    dated = {item.said.turn for item in items.values() if item.due}
    waiting = [id_ for id_, item in fresh.items() if item.said.turn not in dated and _has_waited(item, now, settings)]
    waiting = [id_ for id_ in waiting if salience.get(id_, 0.0) > settings.salient]
    if not waiting:
        return None
    best = max(waiting, key=lambda id_: (fresh[id_].associated is not None, salience[id_], worth(fresh[id_].said)))
    return Chosen({best: fresh[best]}, (best,), due=False)


def _is_due(item: Unfinished, today: date, hour: int, now: datetime, settings: PresenceTuning) -> bool:
    """Return whether it is time to speak of a thing: the day before it, or the day itself.

    A promise for a day is kept on that day. Whoever said something a few hours ago knows it.
    """
    if item.due is None or hours_between(item.said.entry.occurred_at, now) < settings.fresh:
        return False
    days = (item.due - today).days
    if item.kind == "promise":
        return days == 0
    return days == 1 or (days == 0 and (item.kind != "plan" or hour < _NOON))


def _has_waited(item: Unfinished, now: datetime, settings: PresenceTuning) -> bool:
    """Return whether a thing without a day is old enough and clear. A task is what somebody says that they have to do:
    «the list shows what needs to be done» is none, and «I'll ask Anna» is done at once. What is said beside a day may
    be for it."""
    text = plain(item.said.raw)
    meant = INTENTION.match(text)
    if item.kind == "task" and (meant["announced"] if meant else not REMIND.match(text)):
        return False
    said = item.said.entry
    if any(day >= said.occurred_at.date() for day in named_days(said.text, said.occurred_at)):
        return False
    settled = now - said.occurred_at >= timedelta(hours=settings.settled)
    return (settled or item.associated is not None) and item.due is None and item.is_told


def _in_full(things: Mapping[str, Unfinished], items: Mapping[str, Unfinished]) -> dict[str, Unfinished]:
    """Return things, and in place of a promise that does not say what it is about the tasks of its turn: «I will remind
    you on Wednesday»."""
    found: dict[str, Unfinished] = {}
    for id_, one in things.items():
        if one.kind != "promise" or one.is_told:
            found[id_] = one
        else:
            turn = one.said.turn
            found |= {id_: it for id_, it in items.items() if it.kind == "task" and it.said.turn == turn}
    return found


def _distinct(items: Mapping[str, Unfinished], most: int) -> dict[str, Unfinished]:
    """Return the first things, of those that are about the same only one."""
    kept: dict[str, Unfinished] = {}
    for id_, item in items.items():
        if len(kept) < most and not any(_is_same(item, other) for other in kept.values()):
            kept[id_] = item
    return kept


def _is_same(item: Unfinished, other: Unfinished) -> bool:
    at_once = item.said.turn == other.said.turn and item.due == other.due
    return at_once or alike(item, other.words)
