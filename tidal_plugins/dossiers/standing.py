"""What holds now, of what entries state: superseded values as history, tasks open or done, nothing said twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from tidal_plugins.dossiers.contradictions import contradictions
from tidal_plugins.dossiers.laid_down import without_replaced
from tidal_plugins.dossiers.points import Point, points
from tidal_plugins.dossiers.repeated import distinct, same
from tidal_plugins.dossiers.shouted import one_shout
from tidal_plugins.dossiers.task import Task
from tidal_plugins.dossiers.tasks import ASIDE_KINDS, is_reported_by, tasks
from tidal_plugins.english.chatter import FRAGMENT, content
from tidal_plugins.english.decisions import DECIDED
from tidal_plugins.english.relative_dates import named_days
from tidal_plugins.model.dossier import Contradiction, Part
from tidal_plugins.model.entry import CONVERSATION, FACT, SYNTHESIS, Entry
from tidal_plugins.model.fence import inert
from tidal_plugins.model.supersession import Supersession

_LIKELY = 0.5
"""Confidence of a supersession from which on the earlier value is history."""
_RELATED = 2
"""Words that a restatement of a superseded value shares with it, beside the value."""


def standing(entries: Sequence[Entry], links: Sequence[Supersession], today: date) -> list[Point]:
    """Return what some entries state as it holds ``today``, each point with its part, the newest first.

    What a later statement supersedes is left out, and stands as ``was`` with the later one. What was said again stands
    once, and so does all that is shouted. A plan whose day is over counts as ``earlier``.
    """
    said = _current(points(entries), [link for link in links if link.replacement.confidence >= _LIKELY])
    times = {entry.id: entry.occurred_at for entry in entries}
    said = _uncontradicted(
        without_replaced(said), [(pair, times[pair.newer.sources[0]]) for pair in contradictions(entries)]
    )
    found = tasks(entries)
    waiting = [task for task in found if task.done is None]
    kept = [_placed(rest, found, today) for point in said if (rest := _without_done(point, found))]
    plain = [rest for point in kept if (rest := _without_open(point, waiting))]
    opened = [replace(task.point, part=_open_part(task, today)) for task in waiting]
    return one_shout(distinct(sorted([*plain, *opened], key=_age, reverse=True)))


def _age(point: Point) -> tuple[datetime, bool, int, bool]:
    entry = point.entry
    return entry.occurred_at, entry.channel == SYNTHESIS, entry.position or 0, not point.by_agent


def _without_done(point: Point, found: Sequence[Task]) -> Point | None:
    """Return a point without the tasks in it that are done, or ``None`` if nothing is left of it.

    Of «the fee is paid, Dad owes me half» the first half stays.
    """
    for task in found:
        if task.done is None or task.point.turn != point.turn:
            continue
        if task.point.raw in point.raw:
            point = replace(point, raw=point.raw.replace(task.point.raw, "").rstrip(" ,;"))
            if task.kind not in ASIDE_KINDS or len(content(point.raw)) < FRAGMENT:
                return None
        elif point.by_agent and 2 * len(task.key & point.stems) >= len(task.key):
            return None
    return point


def _without_open(point: Point, waiting: Sequence[Task]) -> Point | None:
    """Return a point without the open tasks in it, which stand by themselves, or ``None`` if nothing is left of it."""
    for task in waiting:
        if task.point.turn != point.turn:
            continue
        if task.point.raw in point.raw and task.kind in ASIDE_KINDS:
            point = replace(point, raw=point.raw.replace(task.point.raw, "").rstrip(" ,;"))
        elif task.point.raw in point.raw or same(task.point, point):
            return None
    return point if content(point.raw) else None


def _open_part(task: Task, today: date) -> Part:
    if task.point.entry.kind not in (CONVERSATION, FACT):
        return "documents"
    days = named_days(task.point.raw, task.point.entry.occurred_at)
    return "earlier" if days and max(days) < today else "open"


def _placed(point: Point, found: Sequence[Task], today: date) -> Point:
    if point.entry.kind != CONVERSATION:
        return point if point.entry.kind == FACT else replace(point, part="documents")
    if any(is_reported_by(task, point) for task in found):
        return replace(point, part="done")
    said = point.entry.occurred_at.date()
    days = [day for day in named_days(point.raw, point.entry.occurred_at) if day > said]
    if days and max(days) < today:
        return replace(point, part="earlier")
    decided = point.sure and not point.by_agent and DECIDED.search(point.plain)
    return replace(point, part="decided") if decided else point


def _current(said: Sequence[Point], links: Sequence[Supersession]) -> list[Point]:
    """Leave out the points that hold a superseded value, and note the value with those that supersede them."""
    by_entry = defaultdict[str, list[int]](list)
    turns = {point.entry.id: point.turn for point in said}
    for place, point in enumerate(said):
        by_entry[point.entry.id].append(place)
        by_entry[point.turn].append(place)
    over, was = set[int](), dict[int, str]()
    for link in links:
        old, new = link.replacement.old, link.replacement.new
        newer = by_entry.get(link.later) or by_entry.get(turns.get(link.later, ""), [])
        older = [place for place in by_entry.get(link.earlier, []) if _holds(said[place], old)]
        if not newer or not older:
            continue
        at = said[newer[0]].entry.occurred_at
        again = [
            place
            for place, point in enumerate(said)
            if point.entry.occurred_at < at
            and _holds(point, old)
            and any(len(point.stems & said[first].stems) > _RELATED for first in older)
        ]
        over.update(place for place in [*older, *again] if place not in newer and not _holds(said[place], new))
        best = next((place for place in newer if _holds(said[place], new)), newer[0])
        was.setdefault(best, old)
    return [replace(point, was=was.get(place, "")) for place, point in enumerate(said) if place not in over]


def _uncontradicted(said: Sequence[Point], found: Sequence[tuple[Contradiction, datetime]]) -> list[Point]:
    """Leave out what a newer statement contradicts: «the bridge is up» no longer stands where it is down."""
    over = [(pair.older.text.lower().rstrip(" .!…;,"), since) for pair, since in found]
    return [
        point
        for point in said
        if not any(words in inert(point.plain) and point.entry.occurred_at < since for words, since in over)
    ]


def _holds(point: Point, value: str) -> bool:
    return bool(value) and value.casefold() in point.raw.casefold()
