"""What holds now, of what entries state: superseded values as history, tasks open or done, nothing said twice."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Literal

from tidal_plugins.dossiers.scorer import distinct, one_shout
from tidal_plugins.dossiers.sentences import Reader, Sentence, is_own
from tidal_plugins.dossiers.tasks import lifts, tasks
from tidal_plugins.english.cues import CHANGE_VERB, STATES
from tidal_plugins.english.numbers import values
from tidal_plugins.facts.conflicts import FACT_CHANNEL, open_conflicts
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.facts.rivals import rival
from tidal_plugins.facts.statements import Statement, statements
from tidal_plugins.facts.versions import KEY
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import Contradiction, Finding, Part
from tidal_plugins.model.entry import CONVERSATION, FACT, SYNTHESIS, Entry, Scope
from tidal_plugins.model.fact import FactConflict, Replacement, Supersession
from tidal_plugins.scoring.text import normal
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.rows import to_json

MAX_CONTRADICTIONS = 10
"""Contradictions that are listed."""

Told = tuple[Entry, Sequence[Statement]]


def contradictions(entries: Sequence[Entry]) -> list[Contradiction]:
    """Return what contradicts the newest word on each thing, the newest first. One entry's own words are let be, and so
    is what an agent makes of those that it answers, and what says that it changes something."""
    calm = [entry for entry in entries if not is_shouted(entry.text)]
    calm.sort(key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id), reverse=True)
    told = [(entry, statements(entry.text, entry.occurred_at)) for entry in calm]
    places = _places(told)
    found, overtaken = list[Contradiction](), set[str]()
    for place, newer in enumerate(told):
        if len(found) == MAX_CONTRADICTIONS:
            break
        if newer[0].id not in overtaken and (made := next(_contradicted(place, told, places), None)):
            overtaken.update(entry.id for entry, _ in told[place + 1 :] if entry.text == newer[0].text)
            overtaken.update(made.older.sources)
            found.append(made)
    return found


def _places(told: Sequence[Told]) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return by word where it is said: the place of the entry, and that of the statement in it."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, (_, said) in enumerate(told):
        for number, one in enumerate(said):
            for word in _words(one):
                found[word].append((place, number))
    return found


def _words(said: Statement) -> set[str]:
    """Return the stems of a statement, and how it begins. Two that share none of these do not contradict each other,
    and most pairs share none."""
    return {*said.every, " ".join(said.text.casefold().split()[:2])}


def _contradicted(
    place: int, told: Sequence[Told], places: Mapping[str, Sequence[tuple[int, int]]]
) -> Iterator[Contradiction]:
    """Yield how an entry contradicts earlier ones, the last one first."""
    entry, said = told[place]
    voice = entry.speaker or entry.role
    pairs = {
        (other, number, held)
        for number, new in enumerate(said)
        if not CHANGE_VERB.search(new.text)
        for word in _words(new)
        for other, held in places[word][bisect(places[word], (place, len(said))) :]
    }
    for other, number, held in sorted(pairs):
        (older, earlier), new = told[other], said[number]
        old, mine = earlier[held], (older.speaker or older.role) == voice
        if not mine and ((entry.episode and older.episode == entry.episode) or new.is_own or old.is_own):
            continue
        replaced = rival(new, old)
        if replaced and _is_another(replaced) and not _is_change(replaced, new, old):
            yield Contradiction(_kind(replaced, new, old), _finding(new, entry), _finding(old, older))


def _is_change(replaced: Replacement, new: Statement, old: Statement) -> bool:
    """Return whether a statement says itself that a value is a new one, so that it contradicts nothing."""
    return bool(replaced.reason) and new.denied == old.denied and replaced.new.casefold() not in STATES


def _is_another(replaced: Replacement) -> bool:
    """Return whether two values differ, of which neither is a part of the other."""
    old, new = replaced.old.casefold(), replaced.new.casefold()
    return not (old and new and (old in new or new in old))


def _kind(replaced: Replacement, new: Statement, old: Statement) -> Literal["value", "number", "negation"]:
    if new.denied != old.denied:
        return "negation"
    return "number" if values(replaced.new) else "value"


def _finding(said: Statement, entry: Entry) -> Finding:
    return Finding(inert(said.text), (entry.id,), (entry.citation,))


LIKELY = 0.5
"""Confidence of a supersession from which on the earlier value is history."""
_RELATED = 2
"""Words that a restatement of a superseded value shares with it, beside the value."""


def standing(reader: Reader, entries: Sequence[Entry], links: Sequence[Supersession], today: date) -> list[Sentence]:
    """Return what some entries state as it holds ``today``, each sentence with its part, the newest first.

    What a later statement supersedes is left out, and stands as ``was`` with the later one. What was said again stands
    once, and so does all that is shouted. A plan whose day is over counts as ``earlier``.
    """
    stated = reader.stated(entries)
    said = _current(stated, [link for link in links if link.replacement.confidence >= LIKELY])
    current = {(one.entry.id, one.raw) for one in said}
    over = _by_entry(one for one in stated if (one.entry.id, one.raw) not in current)
    said = _without_lifted(said)
    found = tasks(reader, entries)
    set_, done = _by_entry(task.said for task in found), _by_entry(task.done for task in found if task.done)
    kept = [_placed(one, done, today) for one in said if not _is_of(one, set_)]
    superseding = [one for one in said if one.was]
    for task in found:
        if task.done is None and not _is_of(task.said, over):
            was = next((one.was for one in superseding if _is_of(one, _by_entry([task.said]))), "")
            kept.append(replace(task.said, part=_open_part(task.said, today), was=was))
    return _in_context(reader, one_shout(distinct(sorted(kept, key=_age, reverse=True))))


def uncontradicted(said: Sequence[Sentence], entries: Sequence[Entry]) -> list[Sentence]:
    """Leave out what a newer one of some entries contradicts: «the bridge is up» no longer stands where it is down.

    Between turns the links of supersession say so, once the jobs have found them.
    """
    times = {entry.id: entry.occurred_at for entry in entries}
    found = contradictions(entries)
    over = [(pair.older.text.lower().rstrip(" .!…;,"), times[pair.newer.sources[0]]) for pair in found]
    return [
        one
        for one in said
        if not any(words in inert(one.raw).lower() and one.entry.occurred_at < since for words, since in over)
    ]


def _in_context(reader: Reader, said: Sequence[Sentence]) -> list[Sentence]:
    """Give each sentence that says little by itself the one before it, if that holds."""
    there = {(one.entry.id, one.raw) for one in said}
    found = list[Sentence]()
    for one in said:
        if one.entry.kind == CONVERSATION and one.leans:
            siblings = reader.stated_by(one.entry)
            place = next((place for place, other in enumerate(siblings) if other.raw == one.raw), 0)
            if place and (one.entry.id, siblings[place - 1].raw) in there:
                one = replace(one, before=siblings[place - 1].text)
        found.append(one)
    return found


def links_of(
    storage: Storage, scope: Scope, entries: Iterable[Entry], settings: Settings, now: datetime
) -> Sequence[Supersession]:
    """Return what supersedes some entries at a time. An open conflict counts: the fact waits for somebody to decide."""
    found = list(entries)
    facts = {str(entry.metadata.get(KEY)): entry.id for entry in found if entry.channel == FACT_CHANNEL}
    open_ = open_conflicts(storage, scope) if facts else ()
    against = [_against(one, facts[normal(one.key)]) for one in open_ if normal(one.key) in facts]
    if not settings.graph.supersession:
        return against
    return [*against, *SupersessionStore(storage, scope).chains([entry.id for entry in found], now)]


def _against(said: FactConflict, fact: str) -> Supersession:
    old, new = (value if isinstance(value, str) else to_json(value) for value in (said.fact, said.claim))
    return Supersession(said.entry, fact, Replacement(old, new, reason="", confidence=1.0), said.at)


def _age(said: Sentence) -> tuple[datetime, bool, int, bool]:
    entry = said.entry
    return entry.occurred_at, entry.channel == SYNTHESIS, entry.position or 0, not said.by_agent


def _open_part(said: Sentence, today: date) -> Part:
    if said.entry.kind not in (CONVERSATION, FACT):
        return "documents"
    return "earlier" if said.days and max(said.days) < today else "open"


def _by_entry(said: Iterable[Sentence]) -> Mapping[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for one in said:
        found[one.entry.id].append(one.raw)
    return found


def _is_of(said: Sentence, raws: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a sentence is one of those by entry, or ends with one after a fragment."""
    return any(said.raw.endswith(raw) for raw in raws.get(said.entry.id, ()))


def _placed(said: Sentence, done: Mapping[str, Sequence[str]], today: date) -> Sentence:
    if said.entry.kind != CONVERSATION:
        return said if said.entry.kind == FACT else replace(said, part="documents")
    if _is_of(said, done):
        return replace(said, part="done")
    ahead = [day for day in said.days if day > said.entry.occurred_at.date()]
    if ahead and max(ahead) < today and not said.has("change"):
        return replace(said, part="earlier")  # what changed on that day holds since
    return replace(said, part="decided") if said.chance("rule") >= LIKELY and is_own(said.entry) else said


def _current(said: Sequence[Sentence], links: Sequence[Supersession]) -> list[Sentence]:
    """Leave out the sentences that hold a superseded value, and note the value with those that supersede them."""
    by_entry = defaultdict[str, list[int]](list)
    turns = {one.entry.id: one.turn for one in said}
    for place, one in enumerate(said):
        by_entry[one.entry.id].append(place)
        by_entry[one.turn].append(place)
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
            for place, one in enumerate(said)
            if one.entry.occurred_at < at
            and _holds(one, old)
            and any(len(one.stems & said[first].stems) > _RELATED for first in older)
        ]
        over.update(place for place in [*older, *again] if place not in newer and not _holds(said[place], new))
        about = frozenset[str]().union(*(said[place].stems for place in older))
        chosen = max(newer, key=lambda place: (_holds(said[place], new), len(said[place].stems & about)))
        was.setdefault(chosen, old)
    return [replace(one, was=was.get(place, "")) for place, one in enumerate(said) if place not in over]


def _without_lifted(said: Sequence[Sentence]) -> list[Sentence]:
    """Leave out the rules that a person took back later, or laid down in another way."""
    own = [one for one in said if is_own(one.entry)]
    return [
        one
        for one in said
        if not (one.has("rule") and any(_is_later(other, one) and lifts(other, one) for other in own))
    ]


def _is_later(one: Sentence, other: Sentence) -> bool:
    return one.entry.occurred_at > other.entry.occurred_at


def _holds(said: Sentence, value: str) -> bool:
    return bool(value) and value.casefold() in said.raw.casefold()
