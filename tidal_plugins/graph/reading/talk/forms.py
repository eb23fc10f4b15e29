"""A form of what people say: a kind of subject, a verb, and the kind of words that follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

from tidal_plugins.graph.reading.talk.subjects import ALL
from tidal_plugins.patterns import lazy_re

ADV = (
    r"(?:(?:really|also|just|still|always|usually|now|currently|absolutely|totally|definitely|actually|recently"
    r"|finally|"
    r"already|even|both|all|so|mostly|truly|especially|only|often|mainly|personally|kinda|kind of|sort of|super|pretty|"
    r"very|too|generally|much|probably not|originally|officially|lately|secretly|fully|completely)\s+){0,3}"
)
NOT = r"(?P<not>(?:(?:do|does|did)(?:n['’]t|\s+not)|no\s+longer|never)\s+)?"
USED = r"(?P<ended>used\s+to\s+)?"
IS = r"(?:\s+(?:is|are|am)|['’](?:s|m|re))(?P<not>n['’]t|\s+not|\s+no\s+longer)?"
HAVE = r"(?:(?:\s+(?:have|has)|['’](?:ve|s))\s+)"
HAVING = rf"(?:{HAVE}|\s+)"


@dataclass(frozen=True, slots=True)
class Form:
    """One form. ``verb`` ends where the object begins, unless it has the object as its group ``o``.

    ``object`` names how to read the object, ``type`` is the type of its entity. ``subjects`` are the kinds of subjects
    that it has. What it says is over if ``ended``.
    """

    predicate: str
    subjects: frozenset[str]
    verb: re.Pattern[str]
    object: str
    type: str = "concept"
    confidence: float = 0.8
    ended: bool = False


def form(
    predicate: str,
    subjects: frozenset[str],
    verb: str,
    object: str,
    type: str = "concept",
    *,
    confidence: float = 0.8,
    ended: bool = False,
) -> Form:
    """Return a form whose verb is written as a pattern that begins right after the subject."""
    return Form(predicate, subjects, lazy_re(_numbered(verb), re.IGNORECASE), object, type, confidence, ended)


def _numbered(verb: str) -> str:
    """Return a pattern whose groups ``not`` and ``ended`` are told apart: alternatives may have one each."""
    numbers = count(1)
    return re.sub(r"\(\?P<(not|ended)>", lambda match: f"(?P<{match[1]}{next(numbers)}>", verb)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A form without a verb of its own, found anywhere in a sentence: «my sister Noor».

    The groups ``s`` and ``o`` of its pattern are its subject and object. ``kin``, if it has that group, gives the
    predicate.
    """

    predicate: str
    pattern: re.Pattern[str]
    type: str = "concept"
    confidence: float = 0.8
    ended: bool = False


def anywhere(
    predicate: str, pattern: str, type: str = "concept", *, confidence: float = 0.8, ended: bool = False
) -> Phrase:
    """Return a form that is found anywhere in a sentence."""
    return Phrase(predicate, lazy_re(pattern, re.IGNORECASE), type, confidence, ended)


__all__ = ["ADV", "ALL", "HAVE", "HAVING", "IS", "NOT", "USED", "Form", "Phrase", "anywhere", "form"]
