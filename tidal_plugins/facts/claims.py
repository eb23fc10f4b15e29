"""Claims: what a sentence says of a fact, read by rules that prefer precision to recall [Capsule].

A claim is a plain statement whose subject is the fact's key. Questions, conditions, wishes, guesses, hearsay,
quotations and statements about the past claim nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any

from tidal_plugins.english.cues import COLOURS, OPPOSED, STATES
from tidal_plugins.english.moods import ADVERB, BEFORE, DOUBT, ELSEWHERE, MODAL, TRAIL, ends_asking
from tidal_plugins.english.pasted import FENCED, QUOTED
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.words import MONTHS, WEEKDAYS
from tidal_plugins.facts.rivals import rival
from tidal_plugins.facts.statements import Statement, statements
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fact import Claim, Replacement
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import normal, terms

MAX_WORDS = 6
"""Words that a claimed value has at most."""
CLAIMED = 0.8
"""The confidence that a text replaces the value of a fact that it names."""
MAX_ASSIGNED = 3
"""Words after a colon or an equals sign: «Error: the file was not found» says nothing of a fact called error."""

_AFTER_STATE = "for since until till due because today tonight again this all right"

_OWN = {"assistant": "our|your", "user": "our|my"}  # facts are the user's, whoever speaks
_ANYONE = "our|my|your"
_COPULA = (
    rf"(?:\s+(?:is|are|was\s+now|were\s+now)(?P<n1>n['’]t|\s+not|\s+no\s+longer|\s+never)?"
    rf"|['’](?:s|re)(?P<n2>\s+not|\s+no\s+longer)?"
    rf"|\s+{ADVERB}\s+(?:is|are)(?P<n3>n['’]t|\s+not)?"
    rf"|\s+(?P<since>has\s+been|have\s+been)"
    rf"|\s+(?:has\s+|have\s+)?(?:just\s+)?(?P<went>went|gone|goes))(?:\s+{ADVERB}){{0,2}}(?P<n4>\s+(?:not|no\s+longer))?\s+"
)
_CHANGE = (
    r"\s+(?P<change>(?:(?:has|have|is|are|was|were)\s+)?(?:been\s+)?(?:now\s+)?"
    r"(?:changed|switched|moved|set|updated|postponed|raised|lowered|renamed)\s+(?:from\s+\S+\s+)?to)\s+"
)
_ASSIGN = r"\s*(?P<assign>={1,2}(?!=)|:(?=\s)|->|→)\s*"
_STOP = (
    r"(?=\s*(?:[;!?()\n–—]|,(?!\d)|[.:](?!\w)|\Z|\s(?:and|but|because|since|so|until|till|while|which|although|though|"
    r"if|when|as|by|after|before|or|than|instead|effective|starting|according|with|per|says?|said)\b))"
)
_VALUE = rf"(?P<value>[^\s;!?\n][^;!?\n]{{0,80}}?){_STOP}"
_ARTICLE = lazy_re(r"^(?:the|a|an)\s+(?=\S)", re.IGNORECASE)

_TRUE = frozenset("true yes on enabled active".split())
_FALSE = frozenset("false no off disabled inactive".split())
_EXCLUSIVE = (frozenset(WEEKDAYS), frozenset(MONTHS), COLOURS, frozenset("low medium high critical".split()))
"""Sets of values of which a thing has one at a time."""
_NATIONALITY = lazy_re(r"(?:[a-z](?:ish|ese|ian|ean|can|ench)|German|Dutch|Greek|Swiss|Czech|Thai|Welsh)$")
_PLACE = lazy_re(r"(?:in|on|at|under|behind|beside|by|near|above|below) ")
_CODE = lazy_re(r"[A-Za-z_][\w.]*\s*[(\[{]|[a-z_]\w*\.[a-z_]|self\b|lambda\b")
_NUMBER = lazy_re(r"[-+]?\d+(?:[.,:/\-]\d+)*")
_PLAIN_NUMBER = lazy_re(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_PROPER = lazy_re(r"[A-ZÀ-ÖØ-Þ][\w'’.-]*(?: [A-ZÀ-ÖØ-Þ][\w'’.-]*){0,2}")


def claims(text: str, keys: Iterable[str], role: str | None = None) -> list[Claim]:
    """Return what a text claims of the facts with these keys, in the order of the keys.

    ``role`` is the speaker's role, ``user`` or ``assistant``, which decides what «my» and «your» mean.
    """
    present = set(terms(text))
    wanted = [key for key in keys if plain_words(key) and present >= plain_words(key)]
    if not wanted:
        return []
    plain = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: dict[tuple[str, str, bool], Claim] = {}
    for start, end in sentences(plain):
        if end - start > LONGEST:
            continue
        sentence = plain[start:end]
        folded = sentence.casefold()
        named = [key for key in wanted if all(word.casefold() in folded for word in words_of(key))]
        if named and not ends_asking(sentence) and not DOUBT.search(sentence):
            for claim in _claims(sentence, named, _OWN.get(role or "", _ANYONE)):
                found.setdefault((claim.key, normal(claim.value), claim.negated), claim)
    return list(found.values())


def by_rules(entry: Entry, values: Mapping[str, Any]) -> list[Claim]:
    """Return what an entry says of facts as rules read it: its plain claims, and the values that it ends or replaces in
    other words. ``values`` are the facts' values by key."""
    found = claims(entry.text, values, entry.role)
    settled = {claim.key for claim in found if contradicts(values[claim.key], claim)}
    told = statements(entry.text, entry.occurred_at)
    for key, value in values.items():
        if key not in settled and (other := _other(told, key, value)):
            replaced, said = other
            ends = not replaced.new
            found.append(
                Claim(key, _spoken(value) if ends else replaced.new, said.text, negated=ends, explicit=not ends)
            )
    return found


def of_fact(text: str, at: datetime, key: str, value: str, role: str | None) -> Replacement | None:
    """Return how a text replaces the value of a fact, or ``None`` if it does not."""
    for claim in claims(text, [key], role):
        if contradicts(value, claim):
            return Replacement(value, "" if claim.negated else str(claim.value), "", CLAIMED)
    other = _other(statements(text, at), key, value)
    return other[0] if other else None


def _other(told: Sequence[Statement], key: str, value: Any) -> tuple[Replacement, Statement] | None:
    """Return how a statement that is no plain claim replaces a value, and the statement."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    fact = fact_statement(key, str(value))
    for said in told:
        about = {word.casefold() for word in words_of(key)} & set(terms(said.text)) or fact.every & said.every
        if not about or QUOTED.search(said.text) or DOUBT.search(said.text):
            continue
        found = rival(said, fact, 0.0)
        plain = found and not found.reason
        if found and not (
            plain and (ELSEWHERE.search(said.text) or found.new in STATES or _NATIONALITY.search(found.new))
        ):
            return found, said
    return None


@lru_cache(maxsize=1024)
def fact_statement(key: str, value: str) -> Statement:
    """Return a fact as a statement of the user's."""
    said = f"{' '.join(words_of(key))}: {value}"
    return Statement(said, _LONG_AGO, " ".join(words_of(key)))


_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def contradicts(value: Any, claim: Claim) -> bool:
    """Return whether a claim cannot be true while the fact has ``value``.

    Booleans, numbers and texts are compared. A list or an object contradicts a claim only if the claim is explicit.
    """
    fact, said = _spoken(value), _spoken(claim.value)
    if claim.negated:
        return fact == said or (_polarity(value) is not None and _polarity(value) == _polarity(claim.value))
    if fact == said or _alike(fact, said):
        return False
    if _polarity(value) is not None and _polarity(claim.value) is not None:
        return _polarity(value) != _polarity(claim.value)
    if isinstance(value, bool):
        return False  # «beta: staging only» says neither yes nor no
    if claim.explicit:
        return not _within(fact, said)
    return (
        _opposed(fact, said)
        or _other_place(fact, said)
        or _exclusive(fact, said)
        or _other_number(fact, said)
        or _other_name(value, claim.value)
    )


@lru_cache(maxsize=4096)
def plain_words(key: str) -> frozenset[str]:
    """Return the words that a text must have to speak of the fact with this key."""
    return frozenset(term for word in words_of(key) for term in terms(word))


def number(said: str) -> int | float | None:
    """Return the number that a text is, such as «9,090», or ``None`` if it is none or too large for one."""
    plain = said.strip().replace(",", "")
    if not _PLAIN_NUMBER.fullmatch(plain) or not isfinite(float(plain)):
        return None
    if plain.lstrip("+-").isdigit():
        return int(plain)
    value = float(plain)
    return int(value) if value.is_integer() else value


def _claims(sentence: str, keys: Iterable[str], own: str) -> Iterator[Claim]:
    bare = QUOTED.sub(lambda match: " ~ " * (len(match[0]) // 3) + "~" * (len(match[0]) % 3), sentence)
    for key in keys:
        for match in _pattern(key, own).finditer(bare):
            claim = _claim(key, match, sentence, bare)
            if claim:
                yield claim


def _claim(key: str, match: re.Match[str], sentence: str, bare: str) -> Claim | None:
    if any(doubt.search(bare, 0, match.end("value")) for doubt in (MODAL, ELSEWHERE)):
        return None
    groups = match.groupdict()
    value = TRAIL.sub("", match["value"].strip().rstrip(".")).strip()
    if groups["went"] and value.split(" ")[0].casefold() not in STATES:
        return None
    if groups["since"] and not re.search(r"\bsince\b", sentence, re.IGNORECASE):
        return None
    if "~" in value or not value or len(value.split()) > MAX_WORDS:
        return None
    negated = any(groups[name] for name in ("n1", "n2", "n3", "n4"))
    for word in ("not ", "no longer "):
        if value.casefold().startswith(word):
            value, negated = value[len(word) :], not negated
    if groups["assign"] and (len(value.split()) > MAX_ASSIGNED or _CODE.match(bare, match.start("value"))):
        return None
    explicit = bool(groups["change"] or groups["assign"])
    return Claim(key, _ARTICLE.sub("", value), sentence, negated, explicit)


@lru_cache(maxsize=1024)
def _pattern(key: str, own: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in words_of(key)]
    mine = rf"(?:(?:the|this|{own})\s+)?"  # «her name» may be anybody's, «that bridge» another
    subject = r"(?:['’]s?)?[\s_\-]*".join(words)
    if len(words) == 2:
        subject = rf"(?:{subject}|{words[1]}\s+of\s+{mine}{words[0]})"
    tail = rf"(?:{_CHANGE}|{_COPULA}|{_ASSIGN}){_VALUE}"
    return re.compile(rf"{BEFORE}{mine}\b{subject}{tail}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def words_of(key: str) -> tuple[str, ...]:
    """Return the words of a key: «userName», «user_name» and «user's name» have the same two."""
    return tuple(re.findall(r"[^\W_]+", re.sub(r"['’]s?\b", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key))))


def _spoken(value: Any) -> str:
    """Return a value as one would say it, with case and articles folded."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _ARTICLE.sub("", normal(str(value)))


def _polarity(value: Any) -> bool | None:
    word = _state(_spoken(value))
    return True if word in _TRUE else False if word in _FALSE else None


def _state(said: str) -> str:
    """Return the state that a value says: «down» of «down for maintenance», but «up to date» whole."""
    first, _, rest = said.partition(" ")
    return first if not rest or rest.split(" ")[0] in _AFTER_STATE.split() else said


def _opposed(fact: str, said: str) -> bool:
    return frozenset((_state(fact), _state(said))) in OPPOSED


def _other_place(fact: str, said: str) -> bool:
    """Return whether both say where something is: under the doormat, in the drawer."""
    return all(_PLACE.match(one) for one in (fact, said)) and not _within(fact, said)


def _exclusive(fact: str, said: str) -> bool:
    a, b = _state(fact), _state(said)
    return a != b and any(a in words and b in words for words in _EXCLUSIVE)


def _alike(fact: str, said: str) -> bool:
    """Return whether two texts are the same number."""
    one = number(fact)
    return one is not None and one == number(said)


def _other_number(fact: str, said: str) -> bool:
    """Return whether two values differ in their numbers only."""
    if _NUMBER.sub("#", fact) != _NUMBER.sub("#", said) or not _NUMBER.search(fact):
        return False
    pairs = zip(_NUMBER.findall(fact), _NUMBER.findall(said), strict=True)
    return any(a != b and not _alike(a, b) for a, b in pairs)


def _other_name(value: Any, said: Any) -> bool:
    """Return whether both are proper names, and neither is part of the other."""
    if not isinstance(value, str) or not _PROPER.fullmatch(value) or not _PROPER.fullmatch(str(said)):
        return False
    return not _within(normal(value), normal(str(said))) and not _NATIONALITY.search(str(said))


def _within(fact: str, said: str) -> bool:
    a, b = set(terms(fact, stop=frozenset())), set(terms(said, stop=frozenset()))
    return bool(a and b) and (a <= b or b <= a)
