"""What a capsule says: who people are, what holds for good, what matters now, what is left to do, and what was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property

from tidal_plugins.dossiers.laid_down import Lifted, is_lifted, is_quoted, lifted_in, rules
from tidal_plugins.dossiers.lines import findings
from tidal_plugins.dossiers.links import links_of
from tidal_plugins.dossiers.pieces import pieces
from tidal_plugins.dossiers.points import AGENT_NAME, Point
from tidal_plugins.dossiers.sharing import is_among, mixed, place, shared
from tidal_plugins.dossiers.shouted import is_loud, one_shout
from tidal_plugins.dossiers.sources import PRIMARY_KINDS, localised, without_citations
from tidal_plugins.dossiers.standing import standing
from tidal_plugins.english.chatter import content, opines, reports
from tidal_plugins.english.excerpt import shortened
from tidal_plugins.english.hypotheses import is_rumoured
from tidal_plugins.english.instructions import IDENTITY, is_routine
from tidal_plugins.english.lasting import HEALTH, lasting
from tidal_plugins.english.people import CONTACT, SELF
from tidal_plugins.english.questions import asks
from tidal_plugins.english.relative_dates import named_days
from tidal_plugins.english.requests import requests
from tidal_plugins.english.rules import is_real
from tidal_plugins.facts.claims import of_fact
from tidal_plugins.facts.versions import KEY
from tidal_plugins.model.clock import local
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.entry import FACT, SYNTHESIS, Entry, Scope
from tidal_plugins.model.supersession import Supersession
from tidal_plugins.model.trust import OWN
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.request import active
from tidal_plugins.retrieval.secrets import without_secrets
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import Tuning

FACT_SHARE = 0.5
"""Share of the lines of a section that facts may take. Each fact counts as important, so that many would leave no room
for what somebody says."""
AHEAD = 60
"""Days that a plan may lie ahead to be a priority."""
_DRAFTED = lazy_re(r"\b(?:help|need|want)\b.*\b(?:writ(?:e|ing)|draft(?:ing)?|speech|letter|essay|profile)\b")
"""Words of a lower-case sentence that asks for a text, in which the first person need not be the one who speaks."""
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
        """Return the newest entries, then the older ones that matter for good, each the newest first."""
        where, most = active(self.now, kinds=PRIMARY_KINDS), self.settings.capsule.newest
        newest = self.storage.find(self.scope, where, limit=most, newest_first=True)
        for_good = replace(where, least_importance=self.settings.decay.important)
        kept = self.storage.find(self.scope, for_good, limit=most, newest_first=True) if len(newest) == most else []
        found = {entry.id: entry for entry in [*newest, *kept]}
        zone = self.settings.zone
        return [localised(without_secrets(without_citations(entry)), zone) for entry in found.values()]

    @cached_property
    def points(self) -> list[Point]:
        """Return what the entries state, the newest first, without what somebody holds for possible.

        Of what is shouted a rule stands, or else the newest statement.
        """
        told = any(map(is_loud, self._rules))
        found = one_shout(standing(self.entries, self._links, self._today), told=told)
        return [point for point in found if point.part == "documents" or not is_rumoured(point.plain)]

    @cached_property
    def _rules(self) -> list[Point]:
        return one_shout(rules(self.entries, self._links, self.settings.capsule.line))

    @cached_property
    def _today(self) -> date:
        return local(self.now, self.settings.zone).date()

    @cached_property
    def _links(self) -> Sequence[Supersession]:
        return links_of(self.storage, self.scope, self.entries, self.settings, self.now)

    @cached_property
    def _lifted(self) -> list[Lifted]:
        return list(lifted_in(self.entries))

    def lines(self, empty: Collection[str]) -> dict[str, list[Line]]:
        """Return the lines of the sections that memory makes; of those that people write the ``empty`` ones.

        What stands in one section is left out of those after it: priorities, pending tasks, recent work.
        """
        limits = self.settings.capsule
        made: dict[str, list[Line]] = {}
        shown: list[Point] = []

        def take(name: str, points: Sequence[Point]) -> None:
            most = getattr(limits, name)
            chosen = points[:most] if name == "pending_tasks" else shared(points, most)
            made[name] = self._lines(chosen, most)
            shown.extend(chosen)  # a line may hold several points

        for name, points in self._known().items():
            if name in empty:
                take(name, _apart(points, shown))
        take("current_priorities", self._priorities(shown))
        take("pending_tasks", _apart(self._pending(), shown))
        return made | {"recent_work": self._lines(self._work(shown), limits.recent_work)}

    def _known(self) -> dict[str, list[Point]]:
        """Return what belongs into the sections that people write: their own words alone."""
        said = [point for point in self._said() if not _is_set(point)]
        facts = [point for point in self.points if _is_set(point) and not self._is_outdated(point)]
        health = [point for point in [*said, *facts] if HEALTH.search(point.raw)]
        health.sort(key=lambda point: -point.weight)
        agents = [point for point in said if IDENTITY.search(point.raw)]
        selves = list(_introductions(said))
        places = [point for point in said if lasting(point.raw) in ("place", "request")]
        people = [point for point in said if CONTACT.search(point.raw)]
        routines = [point for point in said if is_routine(point.raw)]
        most = max(1, round(FACT_SHARE * self.settings.capsule.identity))
        return {
            "identity": mixed([agents, health, selves, places, facts[:most]]),
            "loop_protocol": routines,
            "key_contacts": people,
            "operational_rules": self._rules,
        }

    def _priorities(self, shown: Sequence[Point]) -> list[Point]:
        """Return the plans that lie ahead, the soonest first, and what was decided or is important, the newest first.

        At most half of them are facts. What is ``shown`` already is left out.
        """
        limit = self.settings.capsule
        said = _apart(self._said(recent=True), shown)
        until = self._today + timedelta(days=AHEAD)
        plans = [(day, point) for point in said if (day := self._day(point)) and day <= until]
        soonest = [point for _, point in sorted(plans, key=lambda plan: plan[0])]
        ahead = shared(soonest, max(1, limit.current_priorities - 3))
        matters = [p for p in said if p.part in ("now", "decided", "open") and self._matters(p)]
        facts = [point for point in matters if _is_set(point) and not self._is_outdated(point)]
        others = [point for point in matters if not _is_set(point)]
        others.sort(key=lambda point: (point.part != "decided", -point.weight))
        return [*ahead, *others, *facts[: max(1, round(FACT_SHARE * limit.current_priorities))]]

    def _pending(self) -> list[Point]:
        """Return the tasks that are open, newest first."""
        waiting = (point for point in self._recent() if point.part == "open" and not is_quoted(point))
        return [point for point in waiting if point.by_agent or not opines(point.raw)]

    def _work(self, shown: Sequence[Point]) -> list[Point]:
        """Return what was done, decided and said of weight, and the notes of each source, newest first."""
        taken = Counter[str]()
        kept: list[Point] = []
        for point in self.points:
            most = 1 if point.part == "documents" else PER_THREAD
            if taken[place(point)] < most and self._is_work(point) and not is_among(point, shown):
                taken[place(point)] += 1
                kept.append(point)
        return kept

    def _is_work(self, point: Point) -> bool:
        if is_quoted(point) or is_lifted(point, self._lifted) or (not point.by_agent and opines(point.raw)):
            return False
        if _is_set(point) or (point.part == "earlier" and point.entry.occurred_at < self._since):
            return False
        if point.part in ("done", "decided", "documents"):
            return True
        if point.by_agent:
            return reports(point.raw) and not requests(point.raw)  # an agent's imperative is advice
        return point.weight >= self.settings.capsule.work

    def _is_outdated(self, fact: Point) -> bool:
        """Return whether people later gave another value for what a fact is about: what they said stands for it."""
        key, value = str(fact.entry.metadata.get(KEY, "")), fact.raw.partition(": ")[2]
        later = (one.entry for one in self._people if one.entry.occurred_at > fact.entry.occurred_at)
        return any(of_fact(said.text, said.occurred_at, key, value, said.role) for said in later)

    @cached_property
    def _people(self) -> list[Point]:
        said = (Point(text, entry) for entry in self.entries if entry.role == "user" for text in pieces(entry))
        return [point for point in said if point.sure and not asks(point.raw)]

    def _matters(self, point: Point) -> bool:
        if not _is_set(point) and (not is_real(point.raw) or opines(point.raw) or is_lifted(point, self._lifted)):
            return False
        return (
            max(point.weight, point.entry.importance if point.entry.kind == FACT else 0)
            >= self.settings.capsule.priority
        )

    def _day(self, point: Point) -> date | None:
        """Return the first day that a point names which is not over."""
        days = named_days(point.raw, point.entry.occurred_at)
        return min((day for day in days if day >= self._today), default=None)

    def _said(self, *, recent: bool = False) -> list[Point]:
        """Return what people said and set, which alone may become a rule or a priority."""
        found = self._recent() if recent else self.points
        said = (p for p in found if not p.by_agent and p.part != "documents" and p.entry.trust >= OWN)
        return [point for point in said if not point.raw.startswith(f"{AGENT_NAME}: ") and not is_quoted(point)]

    @property
    def _since(self) -> datetime:
        return self.now - timedelta(days=self.settings.capsule.days)

    def _recent(self) -> Iterator[Point]:
        return (point for point in self.points if point.entry.occurred_at >= self._since)

    def _lines(self, chosen: Iterable[Point], most: int) -> list[Line]:
        return [self._line(found) for found in findings(chosen)][:most]

    def _line(self, found: Finding) -> Line:
        cut = shortened(found.text, self.settings.capsule.line)
        date = f"{found.at:%Y-%m-%d}: " if found.at else ""
        return Line(f"- {date}{cut} [{found.citations[0]}]", found.sources)


def _is_set(point: Point) -> bool:
    """Return whether a point is a fact that somebody set, not one that memory made of what was said."""
    return point.entry.kind == FACT and point.entry.channel != SYNTHESIS


def _introductions(said: Iterable[Point]) -> Iterator[Point]:
    """Yield what people say of who they are, of each introduction by one name the one that says most."""
    best: dict[str, Point] = {}
    for point in said:
        match = SELF.search(point.raw)
        if match and len(content(point.raw)) > 1 and not _DRAFTED.search(point.plain):
            name = match[0].casefold()
            if name not in best or len(content(point.raw)) > len(content(best[name].raw)):
                best[name] = point
    chosen = {id(point) for point in best.values()}
    yield from (point for point in said if id(point) in chosen)


def _apart(points: Iterable[Point], shown: Sequence[Point]) -> list[Point]:
    """Return points once each, without those that a section before has."""
    distinct = {(point.entry.id, point.raw): point for point in points}
    return [point for point in distinct.values() if not is_among(point, shown)]
