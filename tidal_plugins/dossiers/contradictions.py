"""Contradictions between sources, by rules that would rather miss one than make one up [Capsule]."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tidal_plugins.dossiers.phrases import Phrase, phrases
from tidal_plugins.english.calendar import CLEAR_MONTH, WEEKDAY
from tidal_plugins.english.negation import NEGATED
from tidal_plugins.english.opposites import STATES, are_opposed
from tidal_plugins.english.statements import (
    LEADING_ARTICLE,
    PAST,
    PERSON,
    PRESENT,
    SINGULAR_ATTRIBUTES,
    STATEMENT,
    STATEMENT_TAIL,
    UNNAMED_SUBJECT,
)
from tidal_plugins.model.dossier import Contradiction
from tidal_plugins.model.entry import Entry
from tidal_plugins.scoring.text import stems, terms

MAX_CONTRADICTIONS = 10
"""Contradictions that are listed."""

Kind = Literal["value", "number", "negation"]


_FIGURE = re.compile(rf"\d+(?:[:.,/-]\d+)*|\b(?:{WEEKDAY}|{CLEAR_MONTH})\b")


@dataclass(frozen=True, slots=True)
class _Claim:
    """Claims of one kind with equal ``about`` speak of the same thing; they disagree where ``says`` differs."""

    kind: Kind
    about: Hashable
    says: str
    phrase: Phrase


def contradictions(entries: Sequence[Entry]) -> list[Contradiction]:
    """Return what contradicts the newest word on each thing, the newest first.

    The same subject with opposite or exclusive values, the same sentence with other figures, or denied. What one
    speaker says of «me» or «you» is never held against another's; past events and one entry's own words are let be.
    """
    claims = defaultdict[Hashable, list[_Claim]](list)
    for entry in sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id)):
        for phrase in phrases(entry):
            for claim in _claims(phrase):
                claims[claim.kind, claim.about].append(claim)
    found = [pair for group in claims.values() if (pair := _newest(group))]
    return _distinct(sorted(found, key=lambda c: (c.newer.occurred_at, c.newer.id), reverse=True))


@dataclass(frozen=True, slots=True)
class _Pair:
    kind: Kind
    newer: Entry
    older: Entry
    contradiction: Contradiction


def _distinct(pairs: Sequence[_Pair]) -> list[Contradiction]:
    """Return one contradiction for each two entries, since several rules may find the same."""
    found: dict[tuple[str, str], Contradiction] = {}
    for pair in pairs:
        found.setdefault((pair.newer.id, pair.older.id), pair.contradiction)
    return list(found.values())[:MAX_CONTRADICTIONS]


def _newest(group: Sequence[_Claim]) -> _Pair | None:
    last = group[-1]
    for claim in reversed(group[:-1]):
        if claim.phrase.entry.id != last.phrase.entry.id and _disagree(last, claim):
            pair = Contradiction(last.kind, last.phrase.finding, claim.phrase.finding)
            return _Pair(last.kind, last.phrase.entry, claim.phrase.entry, pair)
    return None


def _disagree(a: _Claim, b: _Claim) -> bool:
    if a.kind == "value" and {a.says, b.says} <= STATES:
        return are_opposed(a.says, b.says)
    return a.says != b.says


def _claims(phrase: Phrase) -> Iterator[_Claim]:
    if not phrase.sure or PAST.search(phrase.plain) or UNNAMED_SUBJECT.match(phrase.plain):
        return
    yield from _state(phrase)
    yield from _figures(phrase)
    yield from _denial(phrase)


def _state(phrase: Phrase) -> Iterator[_Claim]:
    """Yield claims of a state: «The bridge is down», «the owner is Anna»."""
    match = STATEMENT.fullmatch(phrase.plain)
    if match is None or match["not"] or NEGATED.search(match["subject"]):
        return
    subject, value = stems(match["subject"]), LEADING_ARTICLE.sub("", STATEMENT_TAIL.sub("", match["value"])).strip()
    if not subject or len(subject) > 4 or _FIGURE.search(value):
        return
    about = (_owner(phrase, match["subject"]), *subject)
    single = terms(match["subject"])[-1] in SINGULAR_ATTRIBUTES and len(value.split()) <= 2
    if value in STATES or (single and _is_name(phrase, value)):
        yield _Claim("value", (*about, value in STATES), value, phrase)


def _is_name(phrase: Phrase, value: str) -> bool:
    """Return whether a value is a name or a single word, not a description such as «important to us»."""
    words = value.split()
    return bool(terms(value)) and (len(words) == 1 or value.title() in phrase.text) and not value.endswith("ing")


def _figures(phrase: Phrase) -> Iterator[_Claim]:
    """Yield claims of figures: «The meeting is at 10:00» and «at 11:00» have the same words with other figures."""
    figures = list(_FIGURE.finditer(phrase.plain))
    if not 1 <= len(figures) <= 2 or not PRESENT.search(phrase.plain, 0, figures[0].start()):
        return
    masked = _FIGURE.sub("#", phrase.plain)
    if terms(masked):
        shape = " ".join(word for word in masked.split() if word not in ("the", "a", "an", "now", "still"))
        yield _Claim("number", (_owner(phrase, phrase.plain), shape), " ".join(found[0] for found in figures), phrase)


def _denial(phrase: Phrase) -> Iterator[_Claim]:
    """Yield claims that may be denied: «I am allergic to nuts» and «I am not» have the same words, denied once."""
    words = tuple(stems(phrase.plain.replace("no longer", "not")))
    if len(words) >= 2:
        denials = len(NEGATED.findall(phrase.plain))
        yield _Claim("negation", (_owner(phrase, phrase.plain), words), "no" if denials % 2 else "yes", phrase)


def _owner(phrase: Phrase, text: str) -> tuple[str, ...]:
    """Return the owner of «I», «you» and «it»: these mean the same only in the words of the same speaker."""
    persons = sorted(set(PERSON.findall(text)))
    if not persons:
        return ()
    entry = phrase.entry
    speaker = entry.speaker or entry.role or entry.source or ""
    return (speaker.casefold(), *_merged(persons))


def _merged(persons: Sequence[str]) -> list[str]:
    return sorted({"i" if person in ("i", "me", "my", "mine") else person for person in persons})
