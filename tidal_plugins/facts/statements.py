"""Statements: the sentences of a text, taken apart as far as two of them can be compared.

A statement has values (figures, dates, names, codes, states), the words that say what they are values of, and what
qualifies them: a period, an environment, a version, an owner. Nothing is parsed. The tagger says what a sentence does;
closed lists hold the few words that turn it into something else than a plain statement of the present, and those by
which it says that something is not as before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from tidal_plugins.cached import cached_property
from tidal_plugins.english.cues import (
    ADDS,
    ATTRIBUTES,
    CHANGE_VERB,
    COLOURS,
    CUE,
    DENIED,
    ENVIRONMENTS,
    KIN,
    LEADING_VERB,
    LETTERED,
    LONG_AGO,
    NUMBERED,
    ONE_DAY,
    OVER,
    OVER_HINT,
    OWNERS,
    STATES,
    TOO,
    UNREAL,
    VAGUE,
)
from tidal_plugins.english.numbers import values as figures
from tidal_plugins.english.pasted import FENCED, SPEECH
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.words import CLEAR_MONTH, MONTHS, SHORT_MONTHS, STOP_WORDS, WEEKDAY, WEEKDAYS, stem
from tidal_plugins.english.words import is_past as is_past_form
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.sentence import Act, SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

MOST = 12
"""Sentences of a passage that are compared."""
SURE_ACT = 0.6
"""The chance from which on a sentence is taken for a question, a request or small talk."""
PHONE = 7
"""Digits from which on several numbers in a row are one."""
QUOTED = 4
"""Words in quotation marks from which on they are speech, and no name."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a sentence: its ``kind``, its words, where they stand, and what it says, as two are compared.

    ``label`` is the stem of the noun before a number («desk» of «desk 14»), ``unit`` what follows the number.
    """

    kind: str
    text: str
    start: int
    end: int
    says: str
    label: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, which ends at ``end``. ``rest`` is it without the values of the sentence, but for names and
    codes."""

    said: str
    rest: str
    end: int

    @cached_property
    def text(self) -> str:
        """Return its words, without the marks around them."""
        return self.said.strip(" ,;:")

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the stems of its words, without those of its values but for names and codes."""
        return stems_of(self.rest)

    @cached_property
    def every(self) -> frozenset[str]:
        """Return the stems of its words, with those of its values."""
        return content(self.said)

    @cached_property
    def undenied(self) -> Sequence[str]:
        """Return the words that are about something, in order: those that deny are stop words."""
        return [term for term in terms(self.text) if term != "longer"]

    @cached_property
    def denied(self) -> bool:
        """Return whether it denies."""
        return DENIED.search(self.said) is not None


@dataclass(frozen=True, slots=True)
class Over:
    """What a sentence says holds no more: ``old``, with what holds instead, or an empty text; the words that say so,
    and the stems of the words of its clause."""

    old: str
    new: str
    cue: str
    beside: frozenset[str]


@dataclass(frozen=True)
class Statement:
    """A sentence that was said ``at`` some time. What it says is read when somebody asks: a recall compares a few
    sentences with each other, and the words of change alone tell most of them apart.

    ``fact`` is the key of a fact, of which the sentence has the value. ``act`` is what the sentence does, as far as
    that is known, and ``scores`` the chance of each act and tag, as the tagger read it; none for a fact.
    """

    text: str
    at: datetime
    fact: str = ""
    act: Act = "statement"
    scores: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def values(self) -> Sequence[Value]:
        """Return its values, in order."""
        return sorted(_values(self.text, self.tokens), key=lambda value: value.start)

    @cached_property
    def clauses(self) -> Sequence[Clause]:
        """Return its clauses, in order."""
        return list(_clauses(self.text, self._rest))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the stems of its words that are about something, names and codes among them, without those of other
        values."""
        return content(self._rest)

    @cached_property
    def every(self) -> frozenset[str]:
        """Return the stems of all its words that are about something, with those of its values."""
        return content(self.text) | {value.says for value in self.values}

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the stems of its names."""
        return frozenset(stem(term) for value in self.values if value.kind == "name" for term in terms(value.text))

    @cached_property
    def cue(self) -> str:
        """Return the words that say that something is not as before, or an empty text."""
        found = CUE.search(self.text)
        return found[0].strip() if found else ""

    @cached_property
    def over(self) -> Sequence[Over]:
        """Return what it says holds no more."""
        return list(_over(self.text))

    @cached_property
    def parts(self) -> Mapping[str, frozenset[str]]:
        """Return, by noun, the stems of the words that tell which one it is."""
        return _parts(_without(self.text, self.values, ("name",)))

    @cached_property
    def qualifiers(self) -> Mapping[str, frozenset[str]]:
        """Return, by kind, the periods, environments, versions, numbered things and owners that it names. A fact is the
        user's."""
        return {"owner": frozenset(["self"])} if self.fact else dict(_qualifiers(self.text, self.values))

    @property
    def stated(self) -> bool:
        """Return whether it is no question, request or small talk."""
        return self.act == "statement"

    @property
    def real(self) -> bool:
        """Return whether it states something outright: no condition, wish, guess, plan, hearsay or memory of old times.
        A request does so if it has words of change."""
        return self._outright and (self.stated or (self.act == "request" and self.changed))

    @cached_property
    def adds(self) -> bool:
        """Return whether it says that something holds beside others, or for once."""
        text = self.text
        once = ONE_DAY.search(text) is not None and not CHANGE_VERB.search(text)
        return once or ADDS.search(text) is not None or TOO.search(text) is not None

    @cached_property
    def leaves_room(self) -> bool:
        """Return whether it says that something may hold, or begins with one of several."""
        return _INDEFINITE.match(self.text) is not None or _POSSIBLE.search(self.text) is not None

    @cached_property
    def denied(self) -> bool:
        """Return whether it has a word that denies."""
        return DENIED.search(self.text) is not None

    @cached_property
    def key(self) -> frozenset[str]:
        """Return the stems of the words of its key, if it is a fact."""
        return frozenset(map(stem, terms(self.fact)))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of its values."""
        return frozenset(value.kind for value in self.values)

    @cached_property
    def denials(self) -> frozenset[bool]:
        """Return whether its clauses deny, each that there is."""
        return frozenset(clause.denied for clause in self.clauses) if self.denied else frozenset([False])

    @property
    def changed(self) -> bool:
        """Return whether it says that something is not as before."""
        return bool(self.cue or self.over)

    @property
    def is_own(self) -> bool:
        """Return whether its speaker speaks of himself."""
        return "self" in self.qualifiers.get("owner", ())

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Return its runs of letters, in lower case, and its digits."""
        return frozenset(_TOKEN.findall(self.text.lower()))

    def clause(self, value: Value) -> Clause:
        """Return the clause in which a value stands."""
        return next(clause for clause in self.clauses if value.start < clause.end)

    @cached_property
    def _rest(self) -> str:
        return _without(self.text, self.values, ("name", "code"))

    @cached_property
    def _outright(self) -> bool:
        text = self.text
        return not (UNREAL.search(text) or _MAY.search(text) or LONG_AGO.search(text) or _in_past_year(text, self.at))


@lru_cache(maxsize=2048)
def statements(text: str, at: datetime) -> Sequence[Statement]:
    """Return the sentences of a text that was said at some time, in order, taken apart."""
    found = taken_apart(text, at)
    return [_as_read(one, read) for one, read in zip(found, tag([one.text for one in found]), strict=True)]


def _as_read(found: Statement, read: SentenceTags) -> Statement:
    act = read.act if read.scores[read.act] >= SURE_ACT else "statement"
    return replace(found, act=act, scores=read.scores)


@lru_cache(maxsize=2048)
def taken_apart(text: str, at: datetime) -> Sequence[Statement]:
    """Return the sentences of a text that was said at some time, in order, each as if it stated something. Of questions
    and requests that is too much, and nothing of the others is missing."""
    plain = SPEECH.sub(_unsaid, FENCED.sub(" ", text).replace("’", "'"))
    return [Statement(plain[start:end], at) for start, end in sentences(plain)[:MOST] if end - start <= LONGEST]


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are about something."""
    return frozenset(stem(term) for term in terms(text) if len(term) > 1 or term.isdigit()) - VAGUE


@lru_cache(maxsize=4096)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a phrase's words: of those that are about something, if any are."""
    words = frozenset(map(stem, terms(text)))
    return words - VAGUE or words


def was(text: str) -> bool:
    """Return whether a sentence or clause tells of a state that was: «the rent was 900»."""
    return not _WAS.isdisjoint(re.findall(r"[a-z']+", text.casefold()))


def is_past(text: str) -> bool:
    """Return whether a sentence or clause tells of what was or happened: its verb is in the past."""
    words = re.findall(r"[a-z']+", text.casefold())
    pairs = zip(["", *words], words, strict=False)
    return was(text) or any(is_past_form(word) and before not in _BE for before, word in pairs)


_WAS = frozenset("was were had did wasn't weren't hadn't didn't".split())
_BE = frozenset("is are be been am has have 've it's being isn't aren't not get gets got 's 're".split())
_CLAUSE = lazy_re(r"[,;!?()–—](?!\d)|\.(?=\s|$)|->|→|\b(?:so|because|but|while|and)\b")
_REFUSED = lazy_re(r"\b(?:not|never|nobody|against)\b|n't\b", re.IGNORECASE)
"""Words before a change that did not happen: «we will not migrate from Jenkins»."""
_SUBJECT_END = lazy_re(r" (?!this\b)(?:is|are|was|were|has|have|had|will|[a-z]+(?:s|ed))\b", re.IGNORECASE)
"""What follows a subject: its verb, by its form alone."""
_MAY = lazy_re(r"\bmay\b|\b(?:did not|didn't|never) \w+ after all\b")
_INDEFINITE = lazy_re(r"\W*(?:an?|some|one|another)\b", re.IGNORECASE)
_POSSIBLE = lazy_re(r"\b(?:can|may|might|could)\b", re.IGNORECASE)
_YEAR_ALONE = lazy_re(r"(?:19|20)\d\d")
_YEAR = lazy_re(r"\bin ((?:19|20)\d\d)\b", re.IGNORECASE)
_CODE = lazy_re(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<!\w)@[\w-]+|(?:https?://|www\.)\S+|`[^`\n]+`|"
    r"(?<![\w.])\+?\(?\d[\d()]*(?:[ /-]\d+)+(?!\w)|(?=[\w./-]*[A-Za-z])(?=[\w./-]*\d)[\w-]+(?:[./-][\w-]+)*"
)
_CODE_HINT = lazy_re(r"[@`\d]|://|www\.", re.IGNORECASE)
"""What each code has."""
_TOKEN = lazy_re(r"[a-z]+|\d")
_LETTERS = lazy_re(r"[A-Za-z]+")
_ADJECTIVES = STATES | COLOURS
_WEEKDAYS = lazy_re(rf"\b({WEEKDAY})s\b", re.IGNORECASE)
_ON_WEEKDAYS = frozenset(f"{day}s" for day in WEEKDAYS)
_FIGURE = lazy_re(r"\d+(?:[.,]\d+)*[a-z%]{1,5}|q\d", re.IGNORECASE)
_NAME = lazy_re(r"(?<![\w'@-])[A-ZÀ-ÖØ-Þ][\w'-]*(?: [A-ZÀ-ÖØ-Þ][\w'-]*)*")
_ACRONYM = 5
"""Letters from which on a word in capitals is a name."""
_VERB_AFTER = lazy_re(
    r" (?:has|have|had|will|\w+(?:s|ed)|took)(?![\w-])(?<! is)(?<! was)|'s |"
    r" (?:is|are) (?:the|my|our|in|off|out|not|no|a)\b",
    re.IGNORECASE,
)
_PREDICATE = lazy_re(
    r"(?:\b(?:is|are|was|be|been|stays|remains|now|again|currently|went)|'s|'re|:|=|->|→)\s+"
    r"(?:now |currently |again |still )?\Z",
    re.IGNORECASE,
)
_CLOSED = lazy_re(r"\W*\Z|[,.;!?)]|\s+(?:for|since|until|till|again|now|and|but|because|due|at|today)\b", re.IGNORECASE)
_NOUN_BEFORE = lazy_re(r"([A-Za-z]+)\s+\Z")
_PERIOD = lazy_re(
    r"(?<!as of )(?<!since )(?<!from )(?<!until )(?<!till )(?<!note )(?<!last )(?<!this )(?<!over the )(?<!\d )"
    rf"\b(?:{CLEAR_MONTH}|(?-i:May)|Q[1-4]|H[12]|spring|summer|autumn|winter|morning|afternoon|evening|night|(?:19|20)\d\d)"
    r"(?=s?\b)(?! \d\d?\b)",
    re.IGNORECASE,
)
_VERSION = lazy_re(r"\b(?:\w+/)?v?\d+\.(?:x|\d+)(?:[.-][\w.]+)?\b|\bv\d+\b", re.IGNORECASE)
_POSSESSOR = lazy_re(r"\b([A-ZÀ-ÖØ-Þ]\w+)(?='s\b)")


def _unsaid(match: re.Match[str]) -> str:
    """Return spaces for what somebody else said; a name in quotation marks stays."""
    return match[0] if len(match[0].split()) < QUOTED else " " * len(match[0])


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _without(text: str, found: Sequence[Value], kept: Collection[str]) -> str:
    """Return a text with spaces for its values, but for those of some kinds."""
    for value in found:
        text = text if value.kind in kept else _blank(text, value.start, value.end)
    return text


def _in_past_year(text: str, at: datetime) -> bool:
    return any(int(year) < at.year for year in _YEAR.findall(text))


def _clauses(text: str, rest: str) -> Iterator[Clause]:
    start = 0
    for end in [*(match.end() for match in _CLAUSE.finditer(rest)), len(text) + 1]:
        yield Clause(text[start:end], rest[start:end], end)
        start = end


def _over(text: str) -> Iterator[Over]:
    if not OVER_HINT.search(text):
        return
    ends = [0, *(match.end() for match in _CLAUSE.finditer(text)), len(text)]
    for pattern in OVER:
        for match in pattern.finditer(text):
            start = max(end for end in ends if end <= match.start())
            end = min(end for end in ends if end >= match.end())
            said = {name: (phrase or "").strip(" .'") for name, phrase in match.groupdict().items()}
            if _REFUSED.search(text, start, match.start()):
                continue
            cue = re.sub(re.escape(match["old"]), "", match[0]).strip(" .,'")
            yield Over(said["old"], said.get("new", ""), cue, content(text[start:end]))


def _values(text: str, tokens: frozenset[str]) -> Iterator[Value]:
    left = text
    for match in _CODE.finditer(text) if _CODE_HINT.search(text) else ():
        said = match[0].strip("`")
        lettered = any(map(str.isalpha, said))
        if _FIGURE.fullmatch(said) or (not lettered and sum(map(str.isdigit, said)) < PHONE):
            continue
        kind = "email" if "@" in said.lstrip("@") else "code" if lettered else "phone"
        says = said.casefold() if lettered else re.sub(r"\D", "", said)
        shape = re.sub(r"\d+", "0", re.sub(r"[^\W\d]+", "a", said)) if kind == "code" else ""
        yield Value(kind, said, *match.span(), says, unit=shape)
        left = _blank(left, *match.span())
    for found in figures(left):
        says = ",".join(f"{name}={part}" for name, part in sorted(found.parts.items()) if name != "year")
        before = _NOUN_BEFORE.search(text[: found.start]) if found.kind == "number" else None
        if found.kind == "number" and _YEAR_ALONE.fullmatch(found.text):
            continue
        label = stem(before[1].casefold()) if before and before[1].casefold() not in STOP_WORDS else ""
        yield Value(found.kind, found.text, found.start, found.end, says or found.text, label, found.unit)
        left = _blank(left, found.start, found.end)
    for match in _WEEKDAYS.finditer(left) if not text.isascii() or not tokens.isdisjoint(_ON_WEEKDAYS) else ():
        yield Value("date", match[0], *match.span(), f"weekday={match[1].casefold()}")
        left = _blank(left, *match.span())
    for match in _NAME.finditer(left):
        yield from _name(text, match)
    for match in _LETTERS.finditer(left) if not tokens.isdisjoint(_ADJECTIVES) else ():
        word = match[0].casefold()
        if word in STATES and (
            word.endswith("ed") or (_PREDICATE.search(text, 0, match.start()) and _CLOSED.match(text, match.end()))
        ):
            yield Value("state", match[0], *match.span(), word)
        elif word in COLOURS:
            yield Value("colour", match[0], *match.span(), word.replace("gray", "grey"))


def _name(text: str, match: re.Match[str]) -> Iterator[Value]:
    """Yield a name. A capitalised word that begins a sentence is one if a verb follows."""
    words, start = match[0].split(), match.start()
    leads = not text[:start].strip(" \"'“‘(*-•#")
    while words and (
        words[0].casefold().partition("'")[0] in STOP_WORDS
        or (leads and len(words) > 1 and LEADING_VERB.fullmatch(words[0]))
    ):
        start += len(words[0]) + 1
        words, leads = words[1:], False
    said = " ".join(words).removesuffix("'s").rstrip("'")
    first = said.casefold().split(" ")[0].rstrip("s")
    if not said or first in (*WEEKDAYS, *MONTHS) or (said.isupper() and 1 < len(said) < _ACRONYM):
        return
    after = text[start + len(said) :]
    if leads and len(words) == 1 and after.strip(" .!") and (not _VERB_AFTER.match(after) or is_past_form(first)):
        return
    yield Value("name", said, start, start + len(said), said.casefold())


def _parts(text: str) -> Mapping[str, frozenset[str]]:
    """Return, by noun, the stems of the words that tell which one it is: those right before it, those behind «of»,
    «for» and «with», and, by the first part of a compound, the second."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for clause in _CLAUSE.split(text.replace(":", ",")):
        said = [word.casefold().removesuffix("'s") for word in re.findall(r"[^\W\d_][\w']*", clause)]
        for place, word in enumerate(said):
            if word in STOP_WORDS or CHANGE_VERB.fullmatch(word):
                continue
            before, after = said[place - 1] if place else "", said[place + 1 :]
            found[stem(word)].add(_noun(before))
            if after and after[0] in ("of", "for", "with"):
                found[stem(word)].add(_noun(next((one for one in after[1:] if one not in _DETERMINERS), "")))
            if len(after) > 1 and _noun(word) and _is_verb(after[1]):
                found[f"{stem(word)}-"].add(_noun(after[0]))
    return {noun: frozenset(words - {""}) for noun, words in found.items() if words - {""}}


_DETERMINERS = frozenset("the a an my our your his her their its this that".split())


def _is_verb(word: str) -> bool:
    return word in _BE or word in _WAS or word == "will" or is_past_form(word) or bool(CHANGE_VERB.fullmatch(word))


def _noun(word: str) -> str:
    """Return the stem of a word that says which one of a kind something is, or an empty text."""
    dull = (
        len(word) < 2
        or word in STOP_WORDS
        or word in (*WEEKDAYS, *MONTHS, *SHORT_MONTHS)
        or CHANGE_VERB.fullmatch(word)
    )
    return "" if dull or stem(word) in VAGUE or word in ATTRIBUTES else stem(word)


def _numbers_subject(text: str, value: Value) -> bool:
    """Return whether a number or a code says which one the subject is: «Invoice 1041 is for 300 euros»."""
    numbering = value.kind == "code" or (value.kind == "number" and bool(value.label) and not value.unit)
    return numbering and _SUBJECT_END.match(text, value.end) is not None


def _qualifiers(text: str, found: Sequence[Value]) -> Iterator[tuple[str, frozenset[str]]]:
    words = re.findall(r"[a-z]+", text.casefold())
    kinds = {
        "environment": {ENVIRONMENTS[word] for word in words if word in ENVIRONMENTS},
        "period": {match[0].casefold() for match in _PERIOD.finditer(text)},
        "version": {match[0].casefold() for match in _VERSION.finditer(text)},
        "owner": {OWNERS[word] for word in words if word in OWNERS}
        | {name.casefold() for name in _POSSESSOR.findall(text)},
        "numbered": {f"{value.label} {value.says}" for value in found if value.label in NUMBERED}
        | {value.says for value in found if _numbers_subject(text, value)}
        | {match[0].casefold() for match in LETTERED.finditer(text)},
        "person": {word for word in words if word in KIN},
    }
    yield from ((name, frozenset(named)) for name, named in kinds.items() if named)
