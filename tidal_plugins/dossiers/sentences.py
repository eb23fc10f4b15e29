"""The sentences of entries, each with what the tagger reads of it.

What people paste (code, logs, mails) is left out, lists come item by item, and a sentence that only asks, thanks or
orders something states nothing. Of an exchange the person's words come first; the agent's stand beside them where they
say something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache

from tidal_plugins.cached import cached_property
from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.english.pasted import SPEECH, without_pasted
from tidal_plugins.english.sentences import plain, sentences, shortened
from tidal_plugins.english.words import NEGATED, TIME_WORDS, stem
from tidal_plugins.language.emphasis import is_shouted, only_shouts, shouts
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import Part
from tidal_plugins.model.entry import CONVERSATION, FACT, OWN, SYNTHESIS, Entry, Scope
from tidal_plugins.model.sentence import SentenceTags, Tag
from tidal_plugins.patterns import lazy_re
from tidal_plugins.reading.sentences import Readings
from tidal_plugins.scoring.text import stems, terms
from tidal_plugins.storage.base import Storage

AGENT, AGENT_NAME = "assistant", "Agent"
LONGEST = 240
"""Characters of a sentence that is quoted. A longer one is cut at a word."""

_LONG = 1_000
"""Characters of a sentence beyond which it is a list, a log or code. It is left out of what people said, and of a
document only its beginning is read."""
_READ = 20_000
_PASTED, _ENDS = 1_500, 400
"""Characters beyond which what a person said holds pasted matter, and of which then only each end is theirs."""
_SURE = 0.5
"""Chance of an act from which on a sentence is taken for a question or a request."""
_IDLE = 0.6
"""Chance of a mere phrase from which on a sentence is left out: nothing is silenced by a guess."""
_FRAGMENT = 2
"""Words with a content below which a sentence says nothing by itself, unless one of its tags is in ``_CLEAR``."""
_CLEAR: tuple[Tag, ...] = ("vital", "identity", "preference", "rule", "lasting")
_WHOLE = 3
"""Words with a content below which a sentence does not stand alone: it is shown after the one before it."""
_REFERS = frozenset("he she it they his her its their him them this that these those there then so".split())
"""Words that, first in a sentence, refer to the one before it."""
_PRONOUNS = frozenset("he she it they him them".split())
"""Words that refer to one before them wherever they stand, unless the sentence itself names something."""
_ANSWERS = 3
"""Sentences of an agent's answer that are taken, those that tell most."""
_SAID = 0.6
"""Share of the words of an agent's sentence from which on the person has said it already."""
_LABEL = 30
"""Characters of the words that lead a list."""
_OTHER_SCRIPT = 0.5
"""Share of the letters of a sentence beyond ``ÿ`` from which on the tagger, which was fitted on Latin letters, silences
nothing."""
_TOLD: tuple[Tag, ...] = ("vital", "identity", "done", "plan", "change")
"""Tags of a greeting, or thanks, that also states something."""
_KEPT: tuple[Tag, ...] = ("rule", "preference", "identity", "vital")
_KEPT_OPEN: tuple[Tag, ...] = (*_KEPT, "lasting", "plan", "change")
"""Tags of a person's request that also states something, «always answer in French», and those of one that the agent has
not met at once."""

_ARTICLES = frozenset(("a", "an", "the"))
_ITEM = lazy_re(r"(?:(?<=\s)|\A)(?:\(?\d{1,2}[).]|[-*•])\s+")
_BULLET = lazy_re(r"\A\s*(?:#{1,6}\s+|[-*+•>]\s+|\d{1,2}[.)]\s+)+")
_WORD = lazy_re(r"[^\W_]+(?:['’][^\W_]+)?")
_HIDDEN = lazy_re(r"\W*(?:\[[\w ·]+\]\W*)+")
"""Nothing but what stands in place of secrets."""
_NAME = lazy_re(r"(?<=[\w,;] )[A-ZÀ-ÖØ-Þ][\w’'-]+")
_MARKS = (("“", "”"), ("«", "»"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """What one sentence of an entry states. ``part`` is where it belongs in a document, and ``was`` what it
    replaces."""

    raw: str
    entry: Entry
    tags: SentenceTags
    part: Part = "now"
    was: str = ""
    before: str = ""
    """What its entry says right before it, if it needs that to be understood."""

    @property
    def text(self) -> str:
        """Return the sentence on one line, with dates for the days that it names, so that nothing in it can act."""
        said = self.raw if self.entry.kind != CONVERSATION else with_dates(self.raw, self.entry.occurred_at)
        return shortened(inert(said), LONGEST)

    @property
    def stems(self) -> frozenset[str]:
        return _stems(self.raw)

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of all words but articles."""
        return _words(self.raw)

    @property
    def about(self) -> frozenset[str]:
        """Return the stems of what it is about, without words of time and bare numbers."""
        return _about(self.raw)

    @property
    def marks(self) -> frozenset[str]:
        """Return the values that it names: numbers, days and months, names."""
        return _marks(self.raw)

    @property
    def denies(self) -> bool:
        return _denies(self.raw)

    @property
    def by_agent(self) -> bool:
        return self.entry.role == AGENT

    @property
    def turn(self) -> str:
        return self.entry.episode or self.entry.id

    @property
    def place(self) -> str:
        """Return the thread or the source, or the entry where it has neither."""
        return self.entry.thread or self.entry.source or self.entry.id

    @property
    def is_set(self) -> bool:
        """Return whether it is a fact that somebody set, not one that memory made of what was said."""
        return self.entry.kind == FACT and self.entry.channel != SYNTHESIS

    @property
    def is_quoted(self) -> bool:
        """Return whether it is, or holds nothing but, what somebody quotes: a text to translate, a mail."""
        raw = self.raw
        if raw.count('"') % 2 or any(raw.count(opening) != raw.count(closing) for opening, closing in _MARKS):
            return True
        if any(raw in said for said in _speech(self.entry.text)):
            return True
        return SPEECH.search(raw) is not None and len(terms(SPEECH.sub(" ", raw))) <= 1

    @property
    def is_loud(self) -> bool:
        """Return whether it, or most of what its entry says, is shouted."""
        return shouts(self.raw) or is_shouted(self.entry.text)

    @property
    def leans(self) -> bool:
        """Return whether it says little without the sentence before it."""
        return len(self.about) < _WHOLE or self.refers

    @property
    def refers(self) -> bool:
        """Return whether it refers to something that it does not name."""
        return _refers(self.raw)

    @property
    def days(self) -> tuple[date, ...]:
        """Return the days that it names."""
        return _days(self.raw, self.entry.occurred_at)

    def has(self, *tags: Tag) -> bool:
        return not self.tags.tags.isdisjoint(tags)

    def chance(self, of: str) -> float:
        """Return the chance of an act or a tag, in [0, 1]."""
        return self.tags.scores[of]


def is_own(entry: Entry) -> bool:
    """Return whether an entry is a person's own words, not a document's, an agent's or a tool's."""
    by_person = entry.role not in (AGENT, "tool") and entry.source is None
    return entry.kind == CONVERSATION and by_person and entry.trust >= OWN


def turns(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return entries by the turns in which they were said, in order; of one time in the order in which they came."""
    grouped: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.occurred_at, entry.position or 0)):
        grouped.setdefault(entry.episode or entry.id, []).append(entry)
    return list(grouped.values())


@dataclass(frozen=True)
class Reader:
    """Reads the sentences of the entries of one scope, each entry once."""

    storage: Storage
    scope: Scope
    _read: dict[tuple[str, str], list[tuple[str, SentenceTags]]] = field(default_factory=dict)

    @cached_property
    def _tags(self) -> Readings:
        return Readings(self.storage, self.scope)

    def load(self, entries: Iterable[Entry]) -> None:
        """Read what is kept with entries, all at once."""
        self._tags.load(entry.id for entry in entries)

    def all_of(self, entry: Entry) -> list[Sentence]:
        """Return every sentence of an entry, questions and thanks too."""
        key = entry.id, entry.text
        if key not in self._read:
            said = _pieces(entry.text, entry.role or "", entry.kind == CONVERSATION)
            self._read[key] = list(zip(map(_bare, said), self._tags.of(entry, said), strict=True))
        return [Sentence(raw, entry, tags) for raw, tags in self._read[key]]

    def stated_by(self, entry: Entry) -> list[Sentence]:
        """Return the sentences of an entry that state something, a fragment before the next whole one."""
        found = [said for said in self.all_of(entry) if _states(said)]
        if entry.kind != CONVERSATION:
            return found
        whole: list[Sentence] = []
        waiting = ""
        for said in found:
            if len(said.about) >= _FRAGMENT or said.has(*_CLEAR):
                whole.append(replace(said, raw=f"{waiting} {said.raw}") if waiting else said)
                waiting = ""
            elif not said.marks:
                waiting = f"{waiting} {said.raw}".strip()
        return whole or found

    def stated(self, entries: Iterable[Entry]) -> list[Sentence]:
        """Return what some entries state, in the order in which it was said."""
        return [said for turn in turns(entries) for said in self._of_turn(turn)]

    def _of_turn(self, turn: Sequence[Entry]) -> Iterator[Sentence]:
        persons = [said for entry in turn if entry.role not in (AGENT, "tool") for said in self.stated_by(entry)]
        if any(said.has("done") for entry in turn if entry.role == AGENT for said in self.all_of(entry)):
            persons = [said for said in persons if said.chance("request") < _SURE or said.has(*_KEPT)]
        yield from persons
        known = frozenset[str]().union(*(said.stems for said in persons))
        agents = [said for entry in turn if entry.role == AGENT for said in self.stated_by(entry)]
        fresh = [said for said in agents if len(said.stems & known) < _SAID * len(said.stems)]
        best = sorted(fresh, key=lambda said: said.chance("social") + said.chance("advice") - said.chance("done"))
        yield from (said for said in fresh if any(said is one for one in best[:_ANSWERS]))


def _states(said: Sentence) -> bool:
    raw, entry = said.raw, said.entry
    if not said.stems or only_shouts(raw) or _HIDDEN.fullmatch(raw):
        return False
    if entry.kind != CONVERSATION:
        return True
    asks = raw.endswith(("?", "？", "؟"))
    if raw.rstrip("*_ ").endswith(":") or (asks and (said.by_agent or said.chance("request") < _SURE)):
        return False
    letters = [character for character in raw if character.isalpha()]
    if sum(character > "ÿ" for character in letters) >= _OTHER_SCRIPT * len(letters):
        return True
    if said.chance("question") >= _SURE or (said.chance("social") >= _IDLE and not said.has(*_TOLD)):
        return False
    if said.by_agent and said.chance("social") >= _IDLE:
        return False
    if said.by_agent:
        return said.chance("request") < _SURE and not (said.has("advice") and not said.has("done", "plan", "change"))
    return said.chance("request") < _SURE or said.has(*_KEPT_OPEN)


@lru_cache(maxsize=1 << 12)
def _pieces(text: str, role: str, spoken: bool) -> tuple[str, ...]:
    """Return the sentences of a text that are read."""
    if spoken:
        text = without_pasted(text)
        if role == "user" and len(text) > _PASTED:
            lines = [line for line in text.splitlines() if line.strip()]
            text = f"{lines[0][:_ENDS]}\n\n{lines[-1][:_ENDS]}"
    found = list(_items(text[:_READ]))
    return tuple(raw for raw in found if len(raw) <= _LONG) if spoken else tuple(raw[:_LONG] for raw in found)


def _bare(raw: str) -> str:
    return _BULLET.sub("", raw).replace("**", "")


def _items(text: str) -> Iterator[str]:
    """Yield sentences, and the items of a list one by one, each after the words that lead it: «actions: 1) …»."""
    label = ""
    for start, end in sentences(text):
        said = text[start:end]
        items = [item.strip() for item in _ITEM.split(said)]
        if any(item.count("(") > item.count(")") for item in items):
            items = [said]  # «in May (May 11) and later»: the number closes a bracket
        label = label if _ITEM.match(said) else ""
        if len(items) > 1 and items[0].endswith(":"):
            label = items[0] if len(items[0]) <= _LABEL else ""
            items = items[1:]
        yield from (f"{label} {item}".lstrip() for item in items if item)


_days = lru_cache(maxsize=1 << 13)(lambda raw, at: tuple(named_days(raw, at)))


@lru_cache(maxsize=1 << 11)
def _speech(text: str) -> tuple[str, ...]:
    return tuple(match[0] for match in SPEECH.finditer(text))


@lru_cache(maxsize=1 << 13)
def _refers(raw: str) -> bool:
    words = [word.lower() for word in _WORD.findall(plain(raw))]
    return bool(words) and (words[0] in _REFERS or (not _PRONOUNS.isdisjoint(words) and not _NAME.search(raw)))


@lru_cache(maxsize=1 << 13)
def _denies(raw: str) -> bool:
    return NEGATED.search(plain(raw)) is not None


@lru_cache(maxsize=1 << 13)
def _stems(raw: str) -> frozenset[str]:
    return frozenset(stems(raw))


@lru_cache(maxsize=1 << 13)
def _words(raw: str) -> frozenset[str]:
    return frozenset(map(stem, terms(raw, stop=_ARTICLES)))


@lru_cache(maxsize=1 << 13)
def _about(raw: str) -> frozenset[str]:
    words = (word for part in _WORD.findall(raw) for word in terms(part))
    return frozenset(stem(word) for word in words if word not in TIME_WORDS and not word.isdigit())


@lru_cache(maxsize=1 << 13)
def _marks(raw: str) -> frozenset[str]:
    words = terms(raw)
    figures = (word for word in words if word in TIME_WORDS or any(map(str.isdigit, word)))
    return frozenset(figures) | frozenset(name.lower() for name in _NAME.findall(raw))
