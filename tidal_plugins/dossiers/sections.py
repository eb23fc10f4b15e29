"""What a capsule says: who people are, what holds for good, what matters now, what is left to do, and what was done.

Each section takes the sentences that score highest for it: by their tags, by whose words they are, and by their age.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from tidal_plugins.cached import cached_property
from tidal_plugins.dossiers.current import links_of, standing
from tidal_plugins.dossiers.drafting import findings
from tidal_plugins.dossiers.scorer import Shown, best, current_worth, recency, worth
from tidal_plugins.dossiers.sentences import Reader, Sentence, is_own
from tidal_plugins.dossiers.sources import PRIMARY_KINDS, localised, without_citations
from tidal_plugins.english.sentences import shortened
from tidal_plugins.facts.claims import of_fact
from tidal_plugins.facts.versions import KEY
from tidal_plugins.language.importance import SURE
from tidal_plugins.model.capsule import BUDGETS, MAX_LINES, Suggestion
from tidal_plugins.model.clock import local
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.entry import OWN, Channel, Entry, Scope
from tidal_plugins.model.fact import Supersession
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.pipeline import without_secrets
from tidal_plugins.retrieval.understand import active
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import Weights, tunable


@dataclass(frozen=True, kw_only=True)
class CapsuleTuning(Weights, group="capsule"):
    """[Capsule]. Sections in lines, without headings and empty lines."""

    max_lines: int = tunable(MAX_LINES, ge=100)
    """Lines of the whole capsule."""
    header: int = tunable(BUDGETS["header"], ge=2)
    identity: int = tunable(BUDGETS["identity"], ge=1)
    loop_protocol: int = tunable(BUDGETS["loop_protocol"], ge=1)
    key_contacts: int = tunable(BUDGETS["key_contacts"], ge=1)
    tools: int = tunable(BUDGETS["tools"], ge=1)
    current_priorities: int = tunable(BUDGETS["current_priorities"], ge=1)
    recent_work: int = tunable(BUDGETS["recent_work"], ge=1)
    operational_rules: int = tunable(BUDGETS["operational_rules"], ge=1)
    pending_tasks: int = tunable(BUDGETS["pending_tasks"], ge=1)
    thoughts: int = tunable(2, ge=0)
    """Thought seeds behind the priorities, where these leave room."""
    line: int = tunable(160, ge=40)
    """Characters of a generated line, without its date and citation."""
    newest: int = tunable(500, gt=0)
    """Entries, the newest ones, that the generated sections are made from."""
    days: float = tunable(30.0, gt=0)
    """Age in days beyond which nothing is a priority or pending any more."""
    priority: float = tunable(7.0, ge=1, le=10)
    """Importance from which an entry may be a priority."""
    work: float = tunable(0.45, ge=0, le=1)
    """Worth from which a statement is recent work: in four stories jokes, moods and small events lie below."""
    work_tokens: int = tunable(400, ge=0)
    """Tokens that the state of an agent's work may take, at the head of the recent work. They hold the six lines of a
    coding agent after 90 turns, with the names of its nineteen files; of more files some are only counted."""
    suggestions: int = tunable(3, ge=0)
    """Suggestions for each section that is empty."""
    versions: int = tunable(20, ge=0)
    """Earlier versions that stay readable."""


FIRST = (9.5, 9.0)
"""Importances from which on older entries come before others that matter for good: what is vital most surely."""
FACT_SHARE = 0.5
"""Share of the lines of a section that facts may take. Each fact counts as important, so that many would leave no room
for what somebody says."""
ASKS = 0.5
"""Chance of a request from which on a sentence is one."""
LEAST = 0.2
"""Score from which on a sentence stands in a section that people write; below lie what the tagger only guesses."""
SPOKEN = 500
"""Characters beyond which a text is less and less likely to be what its author says, and not what they paste."""
LASTS = 0.5
"""Chance of what lasts from which on something vital is to be at hand for good."""
BESIDE = 0.5
"""Worth of what says who somebody is where it speaks of its speaker, too."""
AHEAD = 60
"""Days that a plan may lie ahead to be a priority."""
PERSON: Final[Channel] = "user"
FEW = 3
"""Lines of recent work that a channel may take beside a person who said little."""
PER_THREAD = 10
"""Lines of recent work that one thread, or one source, may take."""

_REACHED = lazy_re(r"[\w.+-]+@[\w-]+\.\w|(?<![\w-])\+?0\d[\d /-]{5,}\d(?![\w-])")
"""An address or a number by which somebody is reached."""
_RECURS = lazy_re(r"\b(?:every|each|daily|hourly|weekly|nightly|monthly)\b", re.IGNORECASE)
"""A time that recurs."""
_SELF = lazy_re(r"\b(?:i|we|you|your|ich|wir)\b", re.IGNORECASE)
"""Words for who speaks, and for the agent that is spoken to."""


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
    settings: Settings
    now: datetime

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the newest entries, then the older ones that matter for good, the most important before others."""
        where, most = active(self.now, kinds=PRIMARY_KINDS), self.settings[CapsuleTuning].newest
        newest = self.storage.find(self.scope, where, limit=most, newest_first=True)
        older: dict[str, Entry] = {}
        room = most // 2 if len(newest) == most else 0
        for least in (*FIRST, self.settings[DecayTuning].important):
            if len(older) < room:
                kept = replace(where, least_importance=least, until=newest[-1].occurred_at + timedelta(microseconds=1))
                found = self.storage.find(self.scope, kept, limit=room, newest_first=True)
                older |= {entry.id: entry for entry in found}
        every = {entry.id: entry for entry in [*newest, *list(older.values())[:room]]}
        return [localised(without_secrets(without_citations(entry)), self.settings.zone) for entry in every.values()]

    @cached_property
    def reader(self) -> Reader:
        found = Reader(self.storage, self.scope)
        found.load(self.entries)
        return found

    @cached_property
    def said(self) -> list[Sentence]:
        """Return what the entries state, the newest first."""
        return standing(self.reader, self.entries, self._links, self._today)

    @cached_property
    def _today(self) -> date:
        return local(self.now, self.settings.zone).date()

    @cached_property
    def _links(self) -> Sequence[Supersession]:
        return links_of(self.storage, self.scope, self.entries, self.settings, self.now)

    def lines(self, empty: Collection[str]) -> dict[str, list[Line]]:
        """Return the lines of the sections that memory makes; of those that people write the ``empty`` ones.

        What stands in one section is left out of those after it: priorities, pending tasks, recent work.
        """
        limits = self.settings[CapsuleTuning]
        made: dict[str, list[Line]] = {}
        shown = Shown()

        def take(name: str, found: Iterable[Sentence]) -> None:
            most = getattr(limits, name)
            chosen = _apart(found, shown)[:most]
            made[name] = self._lines(chosen, most)
            shown.add(chosen)  # a line may hold several sentences

        for name in SCORES:
            if name in empty:
                take(name, self._known(name, shown))
        take("current_priorities", self._priorities(shown))
        take("pending_tasks", self._pending(shown))
        beside = sum(map(len, made.values()))
        return made | {"recent_work": self._lines(self._work(shown, beside), limits.recent_work)}

    def _known(self, name: str, shown: Shown) -> list[Sentence]:
        """Return what belongs into a section that people write: their own words, and in identity facts beside them."""
        most = getattr(self.settings[CapsuleTuning], name)

        def score(one: Sentence) -> float:
            return SCORES[name](one) * _personal(one)

        said = _fit(name, _apart((one for one in self._own if not one.is_set), shown))
        said = [one for one in said if one.has("rule") or score(one) >= LEAST]
        if name != "identity":
            return best(said, most, score)
        facts = [one for one in self.said if one.is_set and not self._is_outdated(one)]
        facts = facts[: max(1, round(FACT_SHARE * most))]
        vital, others = ([one for one in said if _is_vital(one) == is_] for is_ in (True, False))
        others = best(others, most - len(facts), score)
        half = (most - len(facts) + 1) // 2
        vital = best(vital, max(half, most - len(facts) - len(others)), score)
        found = [*sorted(vital, key=score, reverse=True), *sorted(others, key=score, reverse=True)]
        return [*found[: most - len(facts)], *facts]

    def _priorities(self, shown: Shown) -> list[Sentence]:
        """Return the plans that lie ahead, the soonest first, then what matters most of late.

        At most half of them are facts. What is ``shown`` already is left out.
        """
        limits = self.settings[CapsuleTuning]
        most = limits.current_priorities
        said = _apart((one for one in self._own if one.entry.occurred_at >= self._since), shown)
        until = self._today + timedelta(days=AHEAD)
        plans = [(day, one) for one in said if (day := self._day(one)) and day <= until]
        soonest = [one for _, one in sorted(plans, key=lambda plan: plan[0])]
        ahead = best(soonest, max(1, most - 3), lambda one: -soonest.index(one))
        left = [one for one in said if one.part in ("now", "decided") and one not in ahead]
        matters = [one for one in left if not one.is_set and one.has("vital", "change", "rule", "plan", "lasting")]
        facts = [one for one in left if one.is_set and one.entry.importance >= limits.priority]
        facts = [one for one in facts if not self._is_outdated(one)][: max(1, round(FACT_SHARE * most))]
        others = best(matters, max(0, most - len(ahead)), self._current_worth)
        return [*ahead, *sorted(others, key=lambda one: -self._current_worth(one)), *facts]

    def _pending(self, shown: Shown) -> list[Sentence]:
        """Return the tasks that are open, newest first: of many those that are surest."""
        found = (one for one in self.said if one.part == "open" and one.entry.occurred_at >= self._since)

        def sure(one: Sentence) -> float:
            return (one.chance("plan") + bool(one.days)) * recency(one, self.now)

        return best(_clear(_apart(found, shown)), self.settings[CapsuleTuning].pending_tasks, sure)

    def _work(self, shown: Shown, beside: int) -> list[Sentence]:
        """Return what else was done, decided and said of weight, and the notes of each source, newest first.

        Where people said something, here and in the lines ``beside`` it, each other channel takes a quarter of all
        lines, or three.
        """
        taken = Counter[str]()
        kept: list[Sentence] = []
        left = _clear(one for one in self.said if self._is_work(one) and not shown.tells(one))
        for one in sorted(left, key=self._current_worth, reverse=True):
            if taken[one.place] < (1 if one.part == "documents" else PER_THREAD):
                taken[one.place] += 1
                kept.append(one)
        most = self.settings[CapsuleTuning].recent_work
        people = beside + min(most, sum(one.entry.channel == PERSON for one in kept))
        among = {id(one) for one in (_shared(kept, max(FEW, people // 3)) if people else kept)[:most]}
        return [one for one in left if id(one) in among]

    def _is_work(self, one: Sentence) -> bool:
        if one.is_set or one.is_quoted or (one.part == "earlier" and one.entry.occurred_at < self._since):
            return False
        if one.part == "documents":
            return True
        least = self.settings[CapsuleTuning].work
        asks = one.chance("request") >= ASKS and not one.has("rule")  # it was met, or is a task
        return (one.has("done") or not one.by_agent) and not asks and worth(one) * _personal(one) >= least

    def _is_outdated(self, fact: Sentence) -> bool:
        """Return whether people later gave another value for what a fact is about: what they said stands for it."""
        key, value, since = str(fact.entry.metadata.get(KEY, "")), fact.raw.partition(": ")[2], fact.entry.occurred_at
        later = (entry for entry in self.entries if entry.role == "user" and entry.occurred_at > since)
        return any(of_fact(said.text, said.occurred_at, key, value, said.role) for said in later)

    def _day(self, one: Sentence) -> date | None:
        """Return the first day that a sentence names which is not over."""
        return min((day for day in one.days if day >= self._today), default=None)

    @cached_property
    def _own(self) -> list[Sentence]:
        """Return what people said and set, which alone may become a rule or a priority."""
        said = (one for one in self.said if not one.by_agent and one.part != "documents" and one.entry.trust >= OWN)
        return [one for one in said if not one.is_quoted and one.entry.role != "tool"]

    def _current_worth(self, one: Sentence) -> float:
        return current_worth(one, self.now) * _personal(one)

    @property
    def _since(self) -> datetime:
        return self.now - timedelta(days=self.settings[CapsuleTuning].days)

    def _lines(self, chosen: Iterable[Sentence], most: int) -> list[Line]:
        plain = (one if one.part == "documents" else replace(one, part="now") for one in chosen)
        return [self._line(found) for found in findings(plain, self.settings[CapsuleTuning].line)][:most]

    def _line(self, found: Finding) -> Line:
        cut = shortened(found.text, self.settings[CapsuleTuning].line)
        date = f"{found.at:%Y-%m-%d}: " if found.at else ""
        return Line(f"- {date}{cut} [{found.citations[0]}]", found.sources)


def suggestions(
    reader: Reader, entries: Iterable[Entry], sections: Sequence[str], *, each: int
) -> Iterator[Suggestion]:
    """Suggest at most ``each`` sentences for each of ``sections``, those that score highest for it.

    Only people's own words are suggested, never what a model, a tool or a document says, and nothing that is shouted.
    """
    own = [one for entry in entries if is_own(entry) for one in reader.stated_by(entry)]
    said = {one.raw.lower(): one for one in own if not one.is_loud and not one.is_quoted}
    for name in (name for name in SCORES if name in sections):
        found = sorted(_fit(name, said.values()), key=lambda one: (-SCORES[name](one), one.raw))
        yield from (Suggestion(name, inert(one.raw), one.entry.citation) for one in found[:each])


def _identity(one: Sentence) -> float:
    """Return how much a sentence says of who the person is, or of what harms them."""
    if one.has("rule"):
        return 0.0
    vital = one.chance("vital") + one.chance("lasting") if _is_vital(one) else 0.0
    if not _SELF.search(one.raw) or one.days or _REACHED.search(one.raw):
        return vital
    mine = one.chance("identity") * one.has("identity") + 0.5 * one.chance("lasting") * one.has("lasting")
    return vital + mine * (1 - one.chance("plan")) * (1 - one.chance("done"))


def _contact(one: Sentence) -> float:
    """Return how much a sentence says of who somebody else is, or how they are reached."""
    reached = 1.0 if _REACHED.search(one.raw) else 0.0
    named = any(not any(map(str.isdigit, mark)) for mark in one.marks)
    named = named and one.has("identity") and not _SELF.match(one.raw)
    told = one.chance("identity") * named * (1 - one.chance("request"))
    return reached + told * (BESIDE if _SELF.search(one.raw) else 1)


def _routine(one: Sentence) -> float:
    ordered = one.has("rule") or one.chance("request") >= 0.5
    return one.chance("rule") + one.chance("request") if ordered and _RECURS.search(one.raw) else 0.0


def _rule(one: Sentence) -> float:
    """Return how much a sentence says of what must be done or must not; of what harms somebody, that which lasts."""
    if one.has("rule"):
        return one.chance("rule") * (BESIDE + (1 - BESIDE) * one.chance("lasting"))
    return BESIDE * one.chance("vital") * one.chance("lasting") if _is_vital(one) else 0.0


def _is_vital(one: Sentence) -> bool:
    """Return whether a sentence says what may harm somebody and lasts; an incident passes."""
    sure = one.chance("vital") * (1 - one.chance("social")) >= SURE["vital"]
    return sure and one.chance("lasting") >= LASTS


def _personal(one: Sentence) -> float:
    """Return how far a text is likely to be what somebody says, and not what they paste, by its length."""
    return 1.0 if one.by_agent else min(1.0, SPOKEN / max(1, len(one.entry.text)))


SCORES: Mapping[str, Callable[[Sentence], float]] = {
    "identity": _identity,
    "loop_protocol": _routine,
    "key_contacts": _contact,
    "operational_rules": _rule,
}
"""How much a sentence says for each section that people write; nothing where it does not belong there."""


def _shared(found: Iterable[Sentence], most: int) -> list[Sentence]:
    """Return sentences with at most so many of each channel but the person's: a hundred pages are one voice."""
    taken = Counter[str]()
    kept = list[Sentence]()
    for one in found:
        taken[one.entry.channel] += 1
        if one.entry.channel == PERSON or taken[one.entry.channel] <= most:
            kept.append(one)
    return kept


def _fit(name: str, said: Iterable[Sentence]) -> list[Sentence]:
    return [one for one in said if SCORES[name](one) > 0]


def _clear(found: Iterable[Sentence]) -> list[Sentence]:
    """Return sentences without those that nobody can understand: what refers to something and names nothing, where
    nothing else that its entry says is among them."""
    said = list(found)
    told = {one.entry.id for one in said if one.before or one.marks or not one.refers}
    return [one for one in said if one.entry.id in told]


def _apart(found: Iterable[Sentence], shown: Shown) -> list[Sentence]:
    """Return sentences once each, without those that a section before has."""
    distinct = {(one.entry.id, one.raw): one for one in found}
    return [one for one in distinct.values() if one not in shown]
