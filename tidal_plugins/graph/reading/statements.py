"""The statements of a text: each form of statement that stands in a plain sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tidal_plugins.english.hedges import CONDITION, DOUBT, MODAL, UNSURE
from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reading.arguments import Sentence, fits, object_of, sentence_at, subject_of
from tidal_plugins.graph.reading.clauses import CLAUSES, Clause
from tidal_plugins.graph.reading.objects import spans
from tidal_plugins.graph.reading.times import validity
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

LONGEST = 400
"""Characters of a sentence that is read. A longer one is a list, a log or code."""
SHORTEST = 6
"""Characters of the shortest statement: «I use x»."""
PINNED = 0.85
"""Confidence of a version or a value that stands beside its name, such as ``requests==2.31.0``."""

_WORDS = lazy_re(r"[\w'’]+")
_BY_WORD = {
    word: [number for number, clause in enumerate(CLAUSES) if word in clause.words]
    for word in frozenset[str]().union(*(clause.words for clause in CLAUSES))
}
_SINGULAR = lazy_re(r"\b(?!always)\w+s\b|\bdoes", re.IGNORECASE)
_VERSION = lazy_re(r"\s+v?(?P<version>\d+(?:\.\d+)*)(?![\w.]*\w)(?=\s|[.,;!)]|$)")
_ORDER = lazy_re(  # an order to whoever reads it: the rule itself is all that there is to know
    r"(?:\A|[.;:!,\n–—])[\s*\-•]*+(?:please[, ]+)?(?P<rule>(?:always|never)\s+(?:ever\s+)?"
    r"(?:force-push|(?:run|use|commit|push|answer|write|format|check|test|ask|call|log|store|save|keep|put|add|remove|"
    r"delete|drop|merge|squash|rebase|deploy|review|validate|sanitise|sanitize|escape|quote|encrypt|rotate|back|make|ensure|prefer|return|raise|catch|import|avoid|"
    r"name|document|include|pin|read|reply|respond|speak|start|stop|close|open|lock|share|send|mention|cite|hard-?code|"
    r"expose|trust|skip|ignore|bypass|edit|touch|change|modify|mutate|disable|enable|set|give|show|explain|assume|"
    r"translate|wrap|print|publish|round|cache|retry)\s[^.;!?\n]+))",
    re.IGNORECASE,
)


def statements(text: str, names: list[Mention]) -> Iterator[Assertion | Mention]:
    """Yield what the sentences of a text state, given the names in it, and the rules that have no subject."""
    position = 0
    for start, end in sentences(text):
        while position < len(names) and names[position].start < start:
            position += 1
        last = position
        while last < len(names) and names[last].start < end:
            last += 1
        if SHORTEST <= end - start <= LONGEST and not ends_asking(text[start:end]):
            yield from _read(sentence_at(text, start, end, names[position:last]))
        position = last


def pinned(text: str, names: list[Mention]) -> Iterator[Assertion]:
    """Yield the versions and values that stand beside their names."""
    for one, two in pairwise(names):
        between = text[one.end : two.start]
        if two.type == "version" and one.type == "package" and between.rstrip("^~") in ("==", "@"):
            yield Assertion(one, "has_version", two, one.start, two.end, PINNED)
        elif two.type == "value" and between == "=":
            yield Assertion(one, "configured_as", two, one.start, two.end, PINNED)


def _read(sentence: Sentence) -> Iterator[Assertion | Mention]:
    masked = sentence.masked
    likely = _likely(masked)
    if not (likely or len(sentence.names) > 1) or UNSURE.search(masked):
        return
    doubt = DOUBT.search(masked)
    if not doubt:
        yield from pinned(sentence.text, list(sentence.names.values()))
        yield from _orders(sentence)
    said: set[tuple[str, int]] = set()
    for clause in likely:
        if doubt and not (clause.conditional and _only_condition(masked, doubt)):
            continue
        for match in clause.pattern.finditer(masked):
            if doubt and doubt.start() < match.end():
                continue
            for assertion in _said(sentence, clause, match):
                key = (assertion.predicate, assertion.object.start)
                if key not in said:
                    said.add(key)
                    yield assertion


def _likely(masked: str) -> list[Clause]:
    """Return the forms that share a word with the sentence, in their order."""
    words = _BY_WORD.keys() & _WORDS.findall(masked.lower())
    return [CLAUSES[number] for number in sorted({number for word in words for number in _BY_WORD[word]})]


def _orders(sentence: Sentence) -> Iterator[Mention]:
    for match in _ORDER.finditer(sentence.masked):
        end = match.start("rule") + len(match["rule"].rstrip("\"'”»)*_ \t"))
        if not MODAL.search(sentence.masked, 0, match.start("rule")):
            yield sentence.mention("rule", match.start("rule"), end)


def _only_condition(masked: str, doubt: re.Match[str]) -> bool:
    """Return whether the only doubt is a condition: a function that raises an error if … does raise it."""
    return bool(CONDITION.fullmatch(doubt[0])) and not DOUBT.search(CONDITION.sub(" ", masked))


def _said(sentence: Sentence, clause: Clause, match: re.Match[str]) -> Iterator[Assertion]:
    subject = subject_of(sentence, clause, match)
    if subject is None or MODAL.search(sentence.masked, 0, _start(match)):
        return
    if match.groupdict().get("person") and not _SINGULAR.search(match[0], match.end("person") - match.start()):
        return
    yield from _objects(sentence, clause, subject, match)


def _objects(sentence: Sentence, clause: Clause, subject: Mention, match: re.Match[str]) -> Iterator[Assertion]:
    found, against = spans(clause.object, sentence.masked, match.end())
    negated = clause.negative or bool(match.groupdict().get("not"))
    end = max((end for _, end in [*found, *against]), default=0)
    valid_from, valid_until = validity(sentence, _start(match), end)
    for span, ruled_out in [*((span, False) for span in found), *((span, True) for span in against)]:
        object = object_of(sentence, clause, *span)
        if object is None or not fits(clause, subject, object):
            continue
        one, two = (object, subject) if clause.reverse else (subject, object)
        first, last = sorted((one, two), key=lambda side: side.start)
        assertion = Assertion(
            one,
            clause.predicate,
            two,
            first.start,
            max(first.end, last.end),
            clause.confidence,
            negated != ruled_out,
            valid_from,
            valid_until,
        )
        yield assertion
        if clause.predicate == "uses" and not assertion.negated:
            yield from _its_version(sentence, object, span[1])
    if found and "us" in match.groupdict():
        yield from _further(sentence, subject, end)


def _further(sentence: Sentence, subject: Mention, end: int) -> Iterator[Assertion]:
    for clause in CLAUSES:
        match = clause.further and clause.further.match(sentence.masked, end)
        if match:
            yield from _objects(sentence, clause, subject, match)


def _its_version(sentence: Sentence, object: Mention, end: int) -> Iterator[Assertion]:
    version = _VERSION.match(sentence.masked, end)
    if version and object.type in ("tool", "package", "symbol") and "." in version["version"]:
        number = sentence.mention("version", *version.span("version"))
        yield Assertion(object, "has_version", number, object.start, number.end, PINNED)


def _start(match: re.Match[str]) -> int:
    starts = [match.start(name) for name, said in match.groupdict().items() if said and name != "not"]
    return min(starts, default=match.start())
