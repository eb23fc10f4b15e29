"""What a capsule says: who people are, what holds for good, what matters now, what is left to do, and what was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from tidal_plugins.dossiers.lines import findings
from tidal_plugins.dossiers.links import links_of
from tidal_plugins.dossiers.points import AGENT, AGENT_NAME, Point, pieces
from tidal_plugins.dossiers.sources import PRIMARY_KINDS, without_citations
from tidal_plugins.dossiers.standing import standing
from tidal_plugins.english.chatter import content, reports, retracts
from tidal_plugins.english.excerpt import shortened
from tidal_plugins.english.instructions import IDENTITY, OWN_PLANS, ROUTINE, STANDING_RULE
from tidal_plugins.english.lasting import HEALTH
from tidal_plugins.english.people import CONTACT, SELF
from tidal_plugins.english.questions import asks
from tidal_plugins.english.relative_dates import named_days
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.entry import FACT, SYNTHESIS, Entry, Scope
from tidal_plugins.retrieval.request import active
from tidal_plugins.retrieval.secrets import without_secrets
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import Tuning

FACT_SHARE = 0.5
"""Share of the lines of a section that facts may take. Each fact counts as important, so that many would leave no room
for what somebody says."""
AHEAD = 60
"""Days that a plan may lie ahead to be a priority."""
SPOKEN = 1
"""Words of a fact that somebody said after it was set, from which on the fact may no longer hold."""
PER_THREAD = 10
"""Lines of recent work that one thread, or one source, may take."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a generated section, and the entries and episodes that it was made from."""

    text: str
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Newest:
    """What the newest active entries of a scope state, as it holds now."""

    storage: Storage
    scope: Scope
    settings: Tuning
    now: datetime

    @cached_property
    def entries(self) -> list[Entry]:
        where = active(self.now, kinds=PRIMARY_KINDS)
        found = self.storage.find(self.scope, where, limit=self.settings.capsule.newest, newest_first=True)
        return [without_secrets(without_citations(entry)) for entry in found]

    @cached_property
    def points(self) -> list[Point]:
        """Return what the entries state, the newest first."""
        links = links_of(self.storage, self.scope, self.entries, self.settings, self.now)
        return standing(self.entries, links, self.now)

    def lines(self, empty: Collection[str]) -> dict[str, list[Line]]:
        """Return the lines of the sections that memory makes; of those that people write the ``empty`` ones.

        Recent work leaves out what stands in another section.
        """
        limits = self.settings.capsule
        chosen = {name: found for name, found in self._known().items() if name in empty}
        chosen |= {"current_priorities": self._priorities(), "pending_tasks": self._pending()}
        made = {name: self._lines(found, getattr(limits, name)) for name, found in chosen.items()}
        shown = {key for name, found in chosen.items() for key in _keys(found[: len(made[name])])}
        return made | {"recent_work": self._lines(self._work(shown), limits.recent_work)}

    def _known(self) -> dict[str, list[Point]]:
        """Return what belongs into the sections that people write: their own words alone."""
        said = [point for point in self._said() if not _is_set(point)]
        facts = [point for point in self.points if _is_set(point) and not self._is_outdated(point)]
        health = [point for point in [*said, *facts] if HEALTH.search(point.raw)]
        health.sort(key=lambda point: -point.weight)
        agents = [point for point in said if IDENTITY.search(point.raw)]
        selves = [point for point in said if SELF.search(point.raw) and len(content(point.raw)) > 1]
        people = [point for point in said if CONTACT.search(point.raw)]
        routines = [point for point in said if ROUTINE.search(point.raw) and not OWN_PLANS.search(point.plain)]
        most = max(1, round(FACT_SHARE * self.settings.capsule.identity))
        return {
            "identity": _mixed([agents, health, selves, facts[:most]]),
            "loop_protocol": routines,
            "key_contacts": people,
            "operational_rules": self._rules(),
        }

    def _priorities(self) -> list[Point]:
        """Return the plans that lie ahead, the soonest first, and what was decided or is important, the newest first.

        At most half of them are facts.
        """
        limit = self.settings.capsule
        until = (self.now + timedelta(days=AHEAD)).date()
        plans = [(day, point) for point in self._said(recent=True) if (day := self._day(point)) and day <= until]
        ahead = [point for _, point in sorted(plans, key=lambda plan: plan[0])][: max(1, limit.current_priorities - 3)]
        matters = [p for p in self._said(recent=True) if p.part in ("now", "decided", "open") and self._matters(p)]
        facts = [point for point in matters if _is_set(point) and not self._is_outdated(point)]
        others = [point for point in matters if not _is_set(point)]
        others.sort(key=lambda point: (point.part != "decided", -point.weight))
        return [*ahead, *others, *facts[: max(1, round(FACT_SHARE * limit.current_priorities))]]

    def _pending(self) -> list[Point]:
        """Return the tasks that are open, newest first."""
        return [point for point in self._recent() if point.part == "open"]

    def _work(self, shown: Collection[tuple[str, str]]) -> list[Point]:
        """Return what was done, decided and said of weight, and the notes of each source, newest first."""
        taken = Counter[str]()
        kept: list[Point] = []
        for point in self.points:
            place = point.entry.thread or point.entry.source or point.entry.id
            most = 1 if point.part == "documents" else PER_THREAD
            again = any(id_ == point.entry.id and (raw in point.raw or point.raw in raw) for id_, raw in shown)
            if taken[place] < most and not again and self._is_work(point):
                taken[place] += 1
                kept.append(point)
        return kept

    def _is_work(self, point: Point) -> bool:
        if _is_set(point) or (point.part == "earlier" and point.entry.occurred_at < self._since):
            return False
        if point.part in ("done", "decided", "documents"):
            return True
        return reports(point.raw) if point.by_agent else point.weight >= self.settings.capsule.work

    def _is_outdated(self, fact: Point) -> bool:
        """Return whether people spoke of a fact later: what they said stands for it."""
        words = fact.stems
        return any(
            point.entry.occurred_at > fact.entry.occurred_at and len(words & point.stems) >= min(SPOKEN, len(words))
            for point in self._people
        )

    @cached_property
    def _people(self) -> list[Point]:
        return [Point(text, entry) for entry in self.entries if entry.role == "user" for text in pieces(entry)]

    def _matters(self, point: Point) -> bool:
        return (
            max(point.weight, point.entry.importance if point.entry.kind == FACT else 0)
            >= self.settings.capsule.priority
        )

    def _day(self, point: Point) -> date | None:
        """Return the first day that a point names which is not over."""
        days = named_days(point.raw, point.entry.occurred_at)
        return min((day for day in days if day >= self.now.date()), default=None)

    def _rules(self) -> list[Point]:
        """Return the rules in people's own words, the newest first. What a rule asks of an agent may be a question."""
        standing = {(point.entry.id, point.raw) for point in self.points}
        said = [
            Point(text, entry)
            for entry in self.entries
            if entry.role != AGENT and entry.kind != FACT and entry.source is None
            for text in pieces(entry)
            if len(text) <= self.settings.capsule.line and STANDING_RULE.search(text) and not retracts(text)
        ]
        return [p for p in said if not asks(p.raw) or "you" in p.plain or (p.entry.id, p.raw) in standing]

    def _said(self, *, recent: bool = False) -> list[Point]:
        """Return what people said and set, which alone may become a rule or a priority."""
        found = self._recent() if recent else self.points
        said = (point for point in found if not point.by_agent and point.part != "documents")
        return [point for point in said if not point.raw.startswith(f"{AGENT_NAME}: ")]

    @property
    def _since(self) -> datetime:
        return self.now - timedelta(days=self.settings.capsule.days)

    def _recent(self) -> Iterator[Point]:
        return (point for point in self.points if point.entry.occurred_at >= self._since)

    def _lines(self, chosen: Iterable[Point], most: int) -> list[Line]:
        shown = {_key(point): point for point in chosen}
        return [self._line(found) for found in findings(shown.values())][:most]

    def _line(self, found: Finding) -> Line:
        cut = shortened(found.text, self.settings.capsule.line)
        date = f"{found.at:%Y-%m-%d}: " if found.at else ""
        return Line(f"- {date}{cut} [{found.citations[0]}]", found.sources)


def _is_set(point: Point) -> bool:
    """Return whether a point is a fact that somebody set, not one that memory made of what was said."""
    return point.entry.kind == FACT and point.entry.channel != SYNTHESIS


def _key(point: Point) -> tuple[str, str]:
    return point.entry.id, point.raw


def _keys(found: Iterable[Point]) -> Iterator[tuple[str, str]]:
    return map(_key, found)


def _mixed(kinds: Sequence[Sequence[Point]]) -> list[Point]:
    """Return points of several kinds in turn, so that each kind has its share of a section."""
    found: list[Point] = []
    for place in range(max(map(len, kinds), default=0)):
        found += [points[place] for points in kinds if place < len(points)]
    return found
