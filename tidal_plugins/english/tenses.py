"""Tell whether a day that a sentence names is behind or ahead, by the tense of the verb that it belongs to.

«I was told the parcel comes Friday» speaks of the next Friday, and «I heard that it came Friday» of the last one: the
verb that stands nearest before the day decides. Where none stands before it, the first one after it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.verbs import is_past
from tidal_plugins.patterns import lazy_re

_WORD = lazy_re(r"n't\b|'[a-z]+|[a-z]+?(?=n't\b)|[a-z]+")
_CLAUSE_END = lazy_re(r"[,.;!?\n]")
_IRREGULAR = frozenset(
    "met saw knew got had was were thought came did heard ate said left felt lost became began been forgot understood "
    "fell broke rang flew won spent stood sat slept swam threw woke grew rode rose sang sank stole tore wore drank fed "
    "hung led lay lit shot shook slid struck stuck swore swept fought caught bit hid beat".split()
)
_UNCHANGED = frozenset("put set cut let hit read shut quit hurt cost".split())
"""Verbs whose past is like their infinitive."""
_AHEAD = frozenset(
    "will wo 'll shall gonna must can ca may might should would could is are am 's 're 'm has have 've need needs want "
    "wants plan plans hope hopes expect expects".split()
)
"""Words of what is and of what will be. «Has» and «have» become past by the participle after them."""
_SCHEDULED = frozenset(
    word
    for verb in (
        "come go leave arrive depart return land fly start begin open close end finish stop expire run play meet "
        "happen ship launch move sail"
    ).split()
    for word in (verb, f"{verb}s", f"{verb}es")
)
"""Verbs whose present tells of what is on a timetable: «the train leaves on Friday»."""
_BE = frozenset("is are am 's 're 'm be being get gets getting".split())
"""A past form after one of these is a participle: «it is delivered on Friday»."""
_DETERMINERS = frozenset("the a an my our your his her its their this that these those no some any".split())
"""A past form after one of these is an adjective, and a verb a noun: «the updated plan», «a start»."""
_BARE = frozenset(("to", "n't", "not", "never", "did"))
"""Words before an infinitive, whose tense is that of the verb before."""
_HAVE = frozenset("have has 've 's".split())
_INTENDED = frozenset(
    "decided agreed promised planned offered wanted intended arranged scheduled asked told needed hoped expected "
    "reminded invited".split()
)
"""What was meant to be: the infinitive after it is ahead."""
_ARRANGED = frozenset("booked scheduled planned arranged reserved".split())
"""What was done for a day ahead: «I booked the dentist on Friday»."""
_IS = lazy_re(r"\s+(?:is|are|will|would|should|can|works?|suits?|fits?)\b", re.IGNORECASE)
"""What is said of a day that is the subject: «he said Friday works»."""
_NEXT = lazy_re(r"\s+([a-z]+)\b(?!['’])", re.IGNORECASE)


def is_behind(before: str, after: str = "") -> bool:
    """Return whether a day is behind, by the text before and after it."""
    if _IS.match(after):
        return False
    following = _NEXT.match(after)
    if following and _is_past(following[1].lower(), "on"):  # «Friday was a mess», «the talk on Friday went well»
        return True
    said = list(_tenses(_CLAUSE_END.split(before)[-1]))
    if said:
        return said[-1]
    return next(_tenses(_CLAUSE_END.split(after, maxsplit=1)[0]), False)


def _tenses(clause: str) -> Iterator[bool]:
    """Yield for each verb of a clause whether it is past."""
    words = _WORD.findall(clause.lower().replace("’", "'"))
    last = ""
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if before in _DETERMINERS:
            continue
        scheduled = word in _SCHEDULED and before not in _BARE
        if word in _AHEAD or scheduled or (word == "to" and last in _INTENDED):
            yield False
        elif _is_past(word, before):
            last = word
            yield not (word in _ARRANGED and place + 1 < len(words))


def _is_past(word: str, before: str) -> bool:
    if word in _UNCHANGED:
        return before not in _BARE and before not in ("", "please") and before not in _AHEAD
    if word == "got" and before in _HAVE:
        return False
    return before not in _BE and (word in _IRREGULAR or is_past(word))
