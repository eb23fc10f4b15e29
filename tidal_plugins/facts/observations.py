"""Observations: what texts say of things that no fact stands for, and two of them that cannot both hold [Capsule].

The same subject with opposite or exclusive values, the same sentence with other figures, or denied. The rules would
rather miss one than make one up: what one speaker says of «me» or «you» is never held against another's words, and past
events, guesses and questions state nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from tidal_plugins.english.calendar import CLEAR_MONTH, WEEKDAY
from tidal_plugins.english.changes import changes
from tidal_plugins.english.exclusion import exclude, keeps
from tidal_plugins.english.hedges import DOUBT
from tidal_plugins.english.negation import NEGATED
from tidal_plugins.english.opposites import STATES, are_opposed
from tidal_plugins.english.slots import told
from tidal_plugins.english.statements import (
    LEADING_ARTICLE,
    OFFICES,
    PAST,
    PERSON,
    PRESENT,
    SINGULAR_ATTRIBUTES,
    STATEMENT,
    STATEMENT_TAIL,
    UNNAMED_SUBJECT,
)
from tidal_plugins.english.values import NUMBER_WORDS
from tidal_plugins.facts.conflicts import CONFLICTS, MAX_QUOTE
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.facts.slotted import filled
from tidal_plugins.model.entry import CONVERSATION, Entry, Scope, derive_id
from tidal_plugins.model.fact import FactConflict
from tidal_plugins.model.link import Link
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems, terms

STATES_OF = "states"
"""Kind of the link from what a statement is about to the entry that makes it."""

MAX_OBSERVED = 8
"""Observations of one text that are held against earlier ones: a longer list is a document."""

STATE_LASTS = timedelta(hours=24)
"""Time within which two people's word on a state is at odds: a day later the door may have been opened."""

_OUTCRY = lazy_re(r"(?:oh|ah|aw+|wow|ooh|ugh|oops|phew)\b")
"""The beginnings of outcries, which deny nothing: «oh, goodness, no»."""
_COUNTS = "|".join(word for word in NUMBER_WORDS if word not in ("one", "zero"))
_FIGURE = lazy_re(rf"\d+(?:[:.,/-]\d+)*|\b(?:{WEEKDAY}|{CLEAR_MONTH}|{_COUNTS})\b")
_WORKS = lazy_re(r" works(?: (?:again|now|fine|well))?$")
_FAILS = lazy_re(r" (?:doesn't|does not|no longer) works?(?: any ?more)?$")
_DRIFTS = lazy_re(
    r"\b(?:years? old|degrees|celsius|percent|score|points?|temperature|battery|followers|left|remaining|today|tonight|"
    r"currently|right now|at the moment|so far|already|i have|we have|i am at|i'm at|chapter|step|version|too|as well|"
    r"also)\b|[%°]"
)
"""Words of figures that change by themselves, or that stand beside others: two of them are no conflict."""


Kind = Literal["value", "number", "negation", "single"]


@dataclass(frozen=True, slots=True)
class Observation:
    """Observations of one kind with equal ``about`` speak of the same thing. ``slot`` is the kind of its slot, if it is
    ``single``."""

    kind: Kind
    about: Hashable
    says: str
    phrase: Phrase
    slot: str = ""


def observations(entry: Entry) -> Iterator[Observation]:
    """Yield what an entry states, sentence by sentence."""
    for phrase in phrases(entry):
        yield from _observed(phrase)


def disagree(made: Observation, says: str) -> bool:
    """Return whether an observation, and what another one of the same thing says, cannot both hold."""
    if made.kind == "single":
        return exclude(made.slot, made.says, says)
    return are_opposed(made.says, says) if made.kind == "value" and {made.says, says} <= STATES else made.says != says


def stated(entries: Iterable[Entry]) -> list[Observation]:
    """Return the observations of persons that are held against earlier ones, in order."""
    return [
        made
        for entry in entries
        if entry.kind == CONVERSATION and entry.role in (None, "user")
        for made in islice(observations(entry), MAX_OBSERVED)
    ]


def node_of(scope: Scope, made: Observation) -> str:
    """Return the source of the links from what an observation is about to the entries that state something of it."""
    return f"about:{derive_id(scope, STATES_OF, made.kind, repr(made.about))}"


def excluding(scope: Scope, made: Observation, links: Iterable[Link]) -> FactConflict | None:
    """Return the conflict of an observation with the last one on the same thing, if the two exclude each other.

    ``links`` are those from :func:`node_of`. A sentence that says that something has changed is in no conflict: it
    supersedes.
    """
    entry = made.phrase.entry
    earlier = [
        link for link in links if link.target != entry.id and (link.valid_from or link.recorded_at) <= entry.occurred_at
    ]
    if not earlier or changes(made.phrase.raw):
        return None
    last = max(earlier, key=lambda link: (link.valid_from or link.recorded_at, link.target))
    before = last.valid_from or last.recorded_at
    passed = made.kind == "value" and made.says in STATES and entry.occurred_at - before > STATE_LASTS
    return _conflict(scope, made, last) if not passed and disagree(made, str(last.metadata["says"])) else None


def link_of(scope: Scope, made: Observation, now: datetime) -> Link:
    """Return the link that keeps an observation for the next one on the same thing."""
    node, entry = node_of(scope, made), made.phrase.entry
    metadata = {"says": made.says, "quote": made.phrase.text[:MAX_QUOTE]}
    id_ = derive_id(scope, STATES_OF, node, entry.id)
    return Link(id_, STATES_OF, node, entry.id, now, valid_from=entry.occurred_at, metadata=metadata)


def _conflict(scope: Scope, made: Observation, earlier: Link) -> FactConflict:
    entry, said = made.phrase.entry, made.phrase.text[:MAX_QUOTE]
    return FactConflict(
        id=derive_id(scope, CONFLICTS, "observed", earlier.target, entry.id),
        key=_subject(made.phrase),
        fact=earlier.metadata["quote"],
        claim=said,
        negated=False,
        quote=said,
        entry=entry.id,
        citation=entry.citation,
        at=entry.occurred_at,
        against=earlier.target,
    )


def _subject(phrase: Phrase) -> str:
    """Return the words that a statement is about, as far as its verb."""
    match = STATEMENT.fullmatch(phrase.plain)
    return match["subject"] if match else " ".join(terms(_FIGURE.sub(" ", phrase.plain))[:4])


def _observed(phrase: Phrase) -> Iterator[Observation]:
    if not phrase.sure or PAST.search(phrase.plain) or UNNAMED_SUBJECT.match(phrase.plain):
        return
    yield from _state(phrase)
    yield from _figures(phrase)
    yield from _denial(phrase)
    yield from _slots(phrase)


def _slots(phrase: Phrase) -> Iterator[Observation]:
    """Yield claims of what there is one of: «Dad lives in Graz», «the key is in the drawer», «we're on MySQL»."""
    for slot in () if DOUBT.search(phrase.raw) else told(phrase.raw):
        if keeps(slot) and (found := filled(slot)):
            about = (found.kind, _owner(phrase, slot.thing.lower()), *found.about)
            yield Observation("single", about, found.says, phrase, found.kind)


def _state(phrase: Phrase) -> Iterator[Observation]:
    """Yield claims of a state: «The bridge is down», «the owner is Anna»."""
    match = STATEMENT.fullmatch(_WORKS.sub(" is working", _FAILS.sub(" is broken", phrase.plain)))
    if match is None or match["not"] or NEGATED.search(match["subject"]):
        return
    subject, value = stems(match["subject"]), LEADING_ARTICLE.sub("", STATEMENT_TAIL.sub("", match["value"])).strip()
    if not subject or len(subject) > 4 or _FIGURE.search(value):
        return
    about = (_owner(phrase, match["subject"]), *subject)
    head = terms(match["subject"].partition(" of ")[0])[-1:]
    single = bool(SINGULAR_ATTRIBUTES.intersection(head)) and len(value.split()) <= 2
    if value in STATES or (single and _is_name(phrase, value, who=bool(OFFICES.intersection(head)))):
        yield Observation("value", (*about, value in STATES), value, phrase)


def _is_name(phrase: Phrase, value: str, *, who: bool) -> bool:
    """Return whether a value is a name or a single word, not a description such as «important to us».

    The holder of an office is a capitalised name: «the maintainer is happy» names nobody.
    """
    named = value.title() in phrase.text
    return bool(terms(value)) and (named or (len(value.split()) == 1 and not who)) and not value.endswith("ing")


def _figures(phrase: Phrase) -> Iterator[Observation]:
    """Yield claims of figures: «The meeting is at 10:00» and «at 11:00» have the same words with other figures."""
    figures = list(_FIGURE.finditer(phrase.plain))
    if (
        not 1 <= len(figures) <= 2
        or _DRIFTS.search(phrase.plain)
        or not PRESENT.search(phrase.plain, 0, figures[0].start())
    ):
        return
    masked = _FIGURE.sub("#", phrase.plain)
    if terms(masked):
        shape = " ".join(word for word in masked.split() if word not in ("the", "a", "an", "now", "still"))
        yield Observation(
            "number",
            (_owner(phrase, phrase.plain), shape),
            " ".join(found[0].removesuffix(":00") for found in figures),
            phrase,
        )


def _denial(phrase: Phrase) -> Iterator[Observation]:
    """Yield claims that may be denied: «I am allergic to nuts» and «I am not» have the same words, denied once."""
    words = tuple(stems(phrase.plain.replace("no longer", "not")))
    if len(words) >= 2 and not _OUTCRY.match(phrase.plain):
        denials = len(NEGATED.findall(phrase.plain))
        yield Observation("negation", (_owner(phrase, phrase.plain), words), "no" if denials % 2 else "yes", phrase)


def _owner(phrase: Phrase, text: str) -> tuple[str, ...]:
    """Return the owner of «I», «you» and «it»: these mean the same only in the words of the same speaker."""
    persons = sorted(set(PERSON.findall(text)))
    if not persons:
        return ()
    entry = phrase.entry
    speaker = entry.speaker or entry.role or entry.source or ""
    return (speaker.casefold(), *_merged(persons))


_SAME_PERSON = {"me": "i", "my": "i", "mine": "i", "us": "we", "our": "we", "ours": "we"}


def _merged(persons: Sequence[str]) -> list[str]:
    return sorted({_SAME_PERSON.get(person, person) for person in persons})
