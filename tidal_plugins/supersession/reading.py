"""Sentences with their values, as the detector compares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from tidal_plugins.english.calendar import TIME_WORDS, WEEKDAYS
from tidal_plugins.english.changes import CHANGE_VERB, changes
from tidal_plugins.english.questions import stated
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.stems import stem
from tidal_plugins.english.tags import DULL
from tidal_plugins.english.values import Value, values
from tidal_plugins.model.supersession import Utterance
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

VAGUE = frozenset(
    stem(word)
    for word in DULL
    | TIME_WORDS
    | frozenset(
        "change switch new noted updated good done great still ok yes no week day date please utc am pm".split()
    )
)
"""Stems of words that two statements may share without being about the same thing."""

_CODE = lazy_re(r"`[^`\n]*`")
_SEGMENT_END = lazy_re(r"[,;:()\n–—!?]|\.(?=\s|$)|\s(?:and|but|so|because|while)\s")
_NAME = lazy_re(r"(?<!\w)[A-ZÀ-ÖØ-Þ][\w-]+")


class Placed(NamedTuple):
    """A value, the stems of the words around it, which say what it is a value of, the names among them, and the clause
    in which they stand, without its values."""

    value: Value
    near: frozenset[str]
    names: frozenset[str] = frozenset()
    clause: str = ""


class Sentence(NamedTuple):
    """A sentence, its values, the stems of its words that are about something, and its names."""

    text: str
    placed: Sequence[Placed]
    words: frozenset[str]
    names: frozenset[str] = frozenset()

    def alone(self, kind: str) -> bool:
        """Return whether the sentence has one value of a kind."""
        return sum(item.value.kind == kind for item in self.placed) == 1


@lru_cache(maxsize=1024)
def topic(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are about something. Code is left out."""
    return frozenset(map(stem, terms(_CODE.sub(" ", text)))) - VAGUE


@lru_cache(maxsize=1024)
def read_sentence(text: str, at: datetime) -> Sentence:
    """Return a sentence that was said at some time, with its values. A weekday alone is the next one from then."""
    found = values(text)
    plain = text
    for value in found:
        if value.kind != "version":  # a version is what a sentence is about
            plain = plain[: value.start] + " " * (value.end - value.start) + plain[value.end :]
    ends = list(_SEGMENT_END.finditer(plain))
    bounds = zip([0, *(end.end() for end in ends)], [*(end.start() for end in ends), len(plain)], strict=True)
    segments = [(end, topic(plain[start:end]), names(plain, start, end), plain[start:end]) for start, end in bounds]
    placed = [Placed(_resolved(value, at), *_clause_of(segments, value)) for value in found]
    return Sentence(text, placed, topic(plain), names(plain, 0, len(plain)))


def names(text: str, start: int, end: int) -> frozenset[str]:
    """Return the stems of the capitalised words of a part of a sentence, but for the word that begins the sentence."""
    found = (match[0] for match in _NAME.finditer(text, start, end) if text[: match.start()].strip(" \"'“‘(*-•"))
    return frozenset(word for name in found for word in topic(name))


@lru_cache(maxsize=1024)
def read_utterance(statement: Utterance) -> Sequence[Sentence]:
    """Return the sentences that state something, without the values that they themselves replace."""
    read = []
    for start, end in sentences(statement.text):
        text = stated(statement.text[start:end]) if end - start <= LONGEST else ""
        if text:
            read.append(_current(read_sentence(text, statement.at)))
    return read


def _current(sentence: Sentence) -> Sentence:
    """Leave out the values that a sentence says are over, and its verb of change, which says nothing of the topic."""
    made = changes(sentence.text)
    placed = [
        item
        for item in sentence.placed
        if not any(change.old and change.covers(item.value) and item.value.text in change.old for change in made)
    ]
    verbs = {stem(word.lower()) for change in made for word in CHANGE_VERB.findall(change.cue) if word[-1:] in "sdg"}
    return Sentence(
        sentence.text,
        [item._replace(near=item.near - verbs) for item in placed],
        sentence.words - verbs,
        sentence.names,
    )


def _clause_of(
    segments: Sequence[tuple[int, frozenset[str], frozenset[str], str]], value: Value
) -> tuple[frozenset[str], frozenset[str], str]:
    """Return topic, names and text of the segment in which a value stands, or of the last before it with a topic."""
    around: tuple[frozenset[str], frozenset[str], str] = (frozenset(), frozenset(), "")
    for end, words, named, clause in segments:
        around = (words, named, clause) if words else around
        if value.start <= end:
            break
    return around


def _resolved(value: Value, at: datetime) -> Value:
    if value.kind != "date" or value.parts.keys() != {"weekday"}:
        return value
    ahead = (WEEKDAYS.index(str(value.parts["weekday"])) - at.weekday() - 1) % 7 + 1
    day = at + timedelta(days=ahead)
    return replace(value, parts={**value.parts, "day": day.day, "month": day.month})
