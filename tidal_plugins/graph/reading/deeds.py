"""Deeds: what somebody says was done to code, such as «I created `total` in `till/sums.py`»."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.moods import DOUBT, MODAL, UNSURE, ends_asking
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reading.mentions import CUES, EXTENSIONS, mention
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

SURE = 0.85
"""Confidence of what somebody says was done: as that of other plain statements about code."""
LONGEST = 400
"""Characters of a sentence that is read. A longer one is a list, a log or code."""


def _code(group: str) -> str:
    """Return the pattern of a name: in backticks, or with an underscore or brackets."""
    word = r"[A-Za-z_]\w*"
    bare = rf"(?P<{group}_bare>{word}_\w+|{word}(?=\(\)))(?:\(\))?"
    return rf"(?:`(?P<{group}>[A-Za-z_][\w.]{{0,100}})(?:\([^`\n]{{0,100}}\))?`|{bare})"


def _path(group: str) -> str:
    """Return the pattern of a file."""
    return (
        rf"(?:the\s+|a\s+|new\s+|(?:file|module)\s+){{0,3}}"
        rf"`?(?P<{group}>[\w./@-]{{0,200}}\w\.{EXTENSIONS})(?![\w/])`?"
    )


_KIND = (
    rf"(?:(?:an?|the|its|our|new|small|helper|private|async|unit|tests?|fixture|route|endpoint|component|"
    rf"(?P<kind>{'|'.join(sorted(CUES, key=len, reverse=True))}))\s+){{0,5}}"
)
_WHO = (
    r"(?:\b(?:I|we)(?:['’]ve|\s+have)?(?:\s+(?:now|also|just|then))?\s+"
    r"|(?:\A|[;.:]\s+|\b(?:and|then|also)\s+)[-*•\s]*)"
)
_PUT = r"(?:created|added|wrote|written|implemented|introduced|defined|put|placed|extracted)"
_PLACED = lazy_re(rf"{_WHO}{_PUT}\s+{_KIND}{_code('name')}\s+(?:in|into|to|inside)\s+{_path('file')}", re.IGNORECASE)
_MOVED = lazy_re(
    rf"{_WHO}moved\s+{_KIND}{_code('name')}(?:\s+(?:out\s+)?(?:from|of)\s+{_path('old')})?"
    rf"\s+(?:in|into|to)\s+{_path('file')}",
    re.IGNORECASE,
)
_REMOVED = lazy_re(
    rf"{_WHO}(?:removed|deleted|dropped)\s+{_KIND}{_code('name')}\s+(?:from|in)\s+{_path('old')}",
    re.IGNORECASE,
)
_PASSIVE = lazy_re(
    rf"{_code('object')}\s+is\s+(?:now\s+|only\s+|also\s+)?(?P<verb>called|imported|tested|covered|extended)\s+"
    rf"(?:in|by|from)\s+{_KIND}(?:{_code('name')}|{_path('file')})",
    re.IGNORECASE,
)
_ACTIVE = lazy_re(
    rf"{_code('name')}\s+(?:now\s+)?(?P<verb>extends|inherits\s+from|subclasses|tests|covers)\s+"
    rf"{_KIND}{_code('object')}",
    re.IGNORECASE,
)
_PREDICATES = {
    "called": "calls",
    "imported": "imports",
    "tested": "tests",
    "covered": "tests",
    "extended": "extends",
    "extends": "extends",
    "inherits": "extends",
    "subclasses": "extends",
    "tests": "tests",
    "covers": "tests",
}
_LIKELY = lazy_re(
    rf"\b(?:{_PUT[3:-1]}|moved|removed|deleted|dropped|called|imported|tested|covered|{'|'.join(_PREDICATES)})\b",
    re.IGNORECASE,
)


def deeds(text: str) -> Iterator[Assertion]:
    """Yield where code was put, and from where it was taken, as plain sentences say."""
    if not _LIKELY.search(text):
        return
    for start, end in sentences(text):
        sentence = text[start:end]
        if len(sentence) > LONGEST or ends_asking(sentence) or not _LIKELY.search(sentence):
            continue
        if not UNSURE.search(sentence) and not DOUBT.search(sentence):
            yield from _read(text, start, sentence)


def _read(text: str, start: int, sentence: str) -> Iterator[Assertion]:
    for pattern in (_PLACED, _MOVED, _REMOVED, _PASSIVE, _ACTIVE):
        for found in pattern.finditer(sentence):
            if not MODAL.search(sentence, 0, found.end()):
                yield from _said(text, start, found)


def _said(text: str, start: int, found: re.Match[str]) -> Iterator[Assertion]:
    groups = found.groupdict()
    file, old = (_file(text, start, found, group) for group in ("file", "old"))
    kind = CUES.get((groups.get("kind") or "").lower(), "symbol")
    name = _name(text, start, found, "name", kind) or file
    if name is None:
        return
    if verb := groups.get("verb"):
        object_ = _name(text, start, found, "object", "symbol")
        if object_ is not None:
            yield _assertion(name, _PREDICATES[verb.split()[0].lower()], object_)
        return
    if file is not None:
        yield _assertion(name, "defined_in", file)
    if old is not None:
        yield _assertion(name, "defined_in", old, negated=True)


def _name(text: str, start: int, found: re.Match[str], group: str, kind: str) -> Mention | None:
    groups = found.groupdict()
    at = next((each for each in (group, f"{group}_bare") if groups.get(each)), None)
    if at is None:
        return None
    if kind == "symbol" and found[at][:1].isupper() and "." not in found[at] and not found[at].isupper():
        kind = "class"
    return mention(text, kind, start + found.start(at), start + found.end(at))


def _file(text: str, start: int, found: re.Match[str], group: str) -> Mention | None:
    if not found.groupdict().get(group):
        return None
    return mention(text, "file", start + found.start(group), start + found.end(group))


def _assertion(subject: Mention, predicate: str, object_: Mention, *, negated: bool = False) -> Assertion:
    first, last = sorted((subject, object_), key=lambda side: side.start)
    return Assertion(subject, predicate, object_, first.start, last.end, SURE, negated)
