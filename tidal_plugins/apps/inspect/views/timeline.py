"""Timeline: turns by thread with the mood over them, where contexts and memories were put in order, and one turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from starlette.responses import Response

from tidal_plugins import Affect, Entry, Episode, Message, NotFound, TidalMemory, ToolCall
from tidal_plugins.apps.inspect import drawing
from tidal_plugins.apps.inspect.page import Listed, Page, View
from tidal_plugins.model.fact import FactConflict, Supersession
from tidal_plugins.model.graph import Entity, Relation

NOTES = 200
"""The last runs and compactions that are looked through for those of a page."""

MESSAGES, TAUGHT, LINKED = 40, 25, 5
"""Messages on a page of a turn, things of one sort that it taught, and associations of one of its texts."""

SLOTS = 4
"""Parts of the width of the moods that have a date and an emotion."""

COUNTS = ("forgotten", "learned", "settled", "pruned", "facts", "seeds")


class Turn(NamedTuple):
    """An episode, with the mood after it where that was read."""

    at: datetime
    episode: Episode
    mood: Affect | None


class Mark(NamedTuple):
    """A compaction, or a maintenance run: when it was, and what it did."""

    at: datetime
    name: str
    told: str
    episode: str = ""


@dataclass(frozen=True)
class Moods:
    """The moods after some turns as two curves over time, with lines where something was put in order."""

    turns: Sequence[Turn]
    marks: Sequence[Mark]

    def curve(self, name: str) -> list[drawing.Point]:
        """Return ``valence`` or ``arousal`` as points between −1 and 1."""
        values = [
            (getattr(mood, name), f"{name} {getattr(mood, name):+.2f} {mood.in_words()}", True) for mood in self._moods
        ]
        return drawing.curve(values, -1.0, 1.0)

    @property
    def slots(self) -> list[tuple[float, datetime, str]]:
        """Return the parts of the width: the place of each, the time it begins with, and its strongest emotion."""
        several = list(zip(self.turns, self._moods, strict=True))
        size = -(-len(several) // SLOTS)
        parts = [several[start : start + size] for start in range(0, len(several), size)]
        strongest = [max((mood for _, mood in part), key=lambda mood: mood.intensity) for part in parts]
        return [
            (place * drawing.WIDTH / len(parts), part[0][0].at, felt.in_words(1))
            for place, (part, felt) in enumerate(zip(parts, strongest, strict=True))
        ]

    @property
    def lines(self) -> list[tuple[float, Mark]]:
        """Return each mark with its place between the turns."""
        step = drawing.WIDTH / max(1, len(self.turns) - 1)
        before = ((sum(turn.at <= mark.at for turn in self.turns), mark) for mark in self.marks)
        return [(min(max(0.0, (count - 0.5) * step), drawing.WIDTH), mark) for count, mark in before]

    @property
    def _moods(self) -> list[Affect]:
        """Return the mood after each turn; a turn without one has that of the turn before."""
        found, last = [], Affect()
        for turn in self.turns:
            last = turn.mood or last
            found.append(last)
        return found


@dataclass(frozen=True)
class Taught:
    """What an episode taught: relations in words, entities, facts, contradictions, and links from its texts."""

    entities: Sequence[Entity]
    relations: Sequence[tuple[Relation, str]]
    facts: Sequence[Entry]
    conflicts: Sequence[FactConflict]
    supersessions: Sequence[Supersession]
    links: Sequence[tuple[str, float, Entry]]


def timeline(page: Page) -> Response:
    """Show a page of turns, newest first, in stretches of one thread."""
    memory: Any = page.memory
    wanted = {name: page.text(name) or None for name in ("thread", "tool")}
    times = {name: page.time(name) for name in ("since", "until")}
    listed: Listed[Episode] = page.listed(partial(memory.episodes.list, **wanted, **times), newest_first=True)
    turns = [Turn(one.occurred_at, one, _mood(memory, one)) for one in listed.rows]
    marks = [mark for mark in _marks(memory, wanted["thread"]) if _within(mark.at, listed, times)]
    rows: list[Turn | Mark] = sorted([*turns, *marks], key=attrgetter("at"), reverse=True)
    stretches = [(thread, list(some)) for thread, some in groupby(rows, _thread())]
    moods = Moods(turns[::-1], marks) if any(turn.mood for turn in turns) else None
    shown: dict[str, Any] = {**wanted, **times, "listed": listed, "stretches": stretches, "moods": moods}
    return page.show("timeline.html", plots=drawing, **shown)


def threads(page: Page) -> Response:
    """Show the threads by their first turns, those begun last first."""
    listed = page.listed(page.memory.episodes.list, turn=1, newest_first=True)
    return page.show("threads.html", listed=listed)


def turn(page: Page) -> Response:
    """Show a turn as it was, and what it taught."""
    memory = page.memory
    episode = memory.episodes[page.text("id")]
    said = list(_said(episode))
    listed = page.listed(said, MESSAGES)
    mood, taught = _mood(memory, episode), _taught(memory, episode)
    return page.show("episode.html", episode=episode, listed=listed, mood=mood, taught=taught, most=TAUGHT)


def _thread() -> Any:
    """Return a function that names the thread of a row; a mark counts to the thread of the turn above it."""
    last: str | None = None

    def named(row: Turn | Mark) -> str | None:
        nonlocal last
        last = row.episode.thread if isinstance(row, Turn) else last
        return last

    return named


def _mood(memory: TidalMemory, episode: Episode) -> Affect | None:
    """Return the mood after a turn, which its last text has, with the emotions of its first and its last text."""
    found = list[Affect]()
    for id_ in dict.fromkeys((*episode.entries[:1], *episode.entries[-2:])):
        with suppress(NotFound):  # forgotten, or damaged
            found += [one] if (one := memory.get(id_).affect) else []
    if not found:
        return None
    emotions = {name: max((one.emotions or {}).get(name, 0.0) for one in found) for name in found[-1].emotions or ()}
    return replace(found[-1], emotions=emotions or found[0].emotions)


def _marks(memory: TidalMemory, thread: str | None) -> Iterator[Mark]:
    for one in memory.maintenance.compactions(limit=NOTES):
        if thread in (None, one.thread):
            size = f"{one.before.tokens:,} → {one.after.tokens:,} tokens, {one.turns} turns in short"
            yield Mark(one.at, "compaction", size, one.episode)
    for run in memory.maintenance.runs(limit=NOTES):
        did = [f"{getattr(run, name)} {name}" for name in COUNTS if getattr(run, name)]
        yield Mark(run.at, "consolidation", ", ".join([*did, *run.errors]))


def _within(at: datetime, listed: Listed[Episode], times: dict[str, datetime | None]) -> bool:
    """Return whether a time lies on this page: after the turn that begins the next one, up to the first of this."""
    since, until = times["since"], times["until"]
    after_next = listed.following is None or at > listed.following.occurred_at
    up_to_first = listed.number == 1 or bool(listed.rows and at <= listed.rows[0].occurred_at)
    return after_next and up_to_first and (since is None or at >= since) and (until is None or at < until)


def _said(episode: Episode) -> Iterator[tuple[Message, Sequence[ToolCall]]]:
    """Yield the messages of a turn, each with the calls that it makes and their results."""
    calls = iter(episode.tool_calls)
    for message in episode.messages:
        if message.role != "tool" or not message.tool_call_id:
            yield message, [next(calls) for _ in message.tool_calls]


def _taught(memory: TidalMemory, episode: Episode) -> Taught:
    graph, texts = memory.graph, episode.entries[:TAUGHT]
    relations = graph.relations(episode=episode.id, limit=TAUGHT)
    words = graph.sentences(relations)
    conflicts = memory.facts.conflicts(limit=NOTES)
    return Taught(
        graph.entities(episode=episode.id, limit=TAUGHT),
        [(one, words[one.id]) for one in relations if one.id in words],
        memory.entries.list(kinds=["fact"], sources=[episode.citation], limit=TAUGHT),
        [one for one in conflicts if one.citation == episode.citation],
        [link for id_ in texts for link in memory.supersessions.list(id_, limit=LINKED)],
        list(_links(memory, texts)),
    )


def _links(memory: TidalMemory, ids: Sequence[str]) -> Iterator[tuple[str, float, Entry]]:
    """Yield the heaviest associations of some entries with others: the id, the weight, and the other entry."""
    for id_ in ids:
        for link in memory.associations.links(id_, limit=LINKED):
            other = link.target if link.source == id_ else link.source
            if other not in ids:
                try:
                    yield other, link.weight, memory.get(other)
                except NotFound:
                    continue


VIEW = View("/timeline", "Timeline", {"/timeline": timeline, "/threads": threads, "/episode/{id}": turn})
